//! The metadata index: a tree of devices, and below each device a tree of measurements.
//!
//! Node: `UVarInt n`, n times key and `int64` offset, `int64` end, `u8` type. The child of entry i reaches from
//! its offset to the offset of entry i + 1, that of the last one to the end. Children stand before their parents,
//! and nodes of one level in order; both are checked, so that a walk can neither go in circles nor visit
//! anything twice.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::device::{DeviceId, DeviceKey};
use crate::tsfile::metadata::{Metadata, Version};
use crate::tsfile::wire::{byte, int64, uvarint, var_string};
use crate::wire::{Parsed, parse_all};

/// What the keys of a node are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Devices,
    Measurements,
}

/// An entry of a node: its key as it stands in the file and where the child is.
struct Entry<'a> {
    key: &'a [u8],
    child: Range<u64>,
}

struct Node<'a> {
    leaf: bool,
    entries: Vec<Entry<'a>>,
}

fn skip_key(version: Version, keys: Keys, input: &[u8]) -> Parsed<'_, ()> {
    match keys {
        Keys::Devices => DeviceKey::parse(version, input).map(|(rest, _)| (rest, ())),
        Keys::Measurements => var_string(input).map(|(rest, _)| (rest, ())),
    }
}

/// Skips a root node in the metadata.
pub(crate) fn skip_root(version: Version, input: &[u8]) -> Parsed<'_, ()> {
    let (mut rest, count) = uvarint(input)?;
    for _ in 0..count {
        (rest, ()) = skip_key(version, Keys::Devices, rest)?;
        (rest, _) = int64(rest)?;
    }
    let (rest, _) = int64(rest)?;
    byte(rest).map(|(rest, _)| (rest, ()))
}

type RawNode<'a> = (Vec<(&'a [u8], i64)>, i64, u8);

fn raw_node(version: Version, keys: Keys, input: &[u8]) -> Parsed<'_, RawNode<'_>> {
    let (mut rest, count) = uvarint(input)?;
    let mut entries = Vec::with_capacity((count as usize).min(input.len() / 9));
    for _ in 0..count {
        let (after, ()) = skip_key(version, keys, rest)?;
        let key = &rest[..rest.len() - after.len()];
        let offset;
        (rest, offset) = int64(after)?;
        entries.push((key, offset));
    }
    let (rest, end) = int64(rest)?;
    let (rest, kind) = byte(rest)?;
    Ok((rest, (entries, end, kind)))
}

/// What a reader of the index needs to know of the file.
#[derive(Clone, Debug)]
struct Bounds {
    version: Version,
    /// Everything in the index stands at or after this.
    start: u64,
    metadata_bytes: u64,
    depth: u64,
}

impl Bounds {
    fn new(metadata: &Metadata, limits: &Limits) -> Self {
        Self {
            version: metadata.version,
            start: metadata.meta_offset + 1,
            metadata_bytes: limits.metadata_bytes,
            depth: limits.depth,
        }
    }

    fn load<'a, S: Source + ?Sized>(&self, source: &'a S, keys: Keys, range: &Range<u64>) -> Poll<Node<'a>> {
        let fail = |kind| Error::new("index node", kind).at(range.start);
        check("bytes", range.end - range.start, self.metadata_bytes).map_err(fail)?;
        let bytes = source.bytes(range.clone())?;
        let (raw, end, kind) =
            parse_all("index node", range.start, bytes, |input| raw_node(self.version, keys, input))?;
        let leaf = match (keys, kind) {
            (Keys::Devices, 0) | (Keys::Measurements, 2) => false,
            (Keys::Devices, 1) | (Keys::Measurements, 3) => true,
            _ if raw.is_empty() => true,
            _ => {
                let min = if keys == Keys::Devices { 0 } else { 2 };
                let found = kind.into();
                let kind = ErrorKind::OutOfRange { what: "type of the node", min, max: min + 1, found };
                return Err(fail(kind).into());
            }
        };
        let ends = raw.iter().skip(1).map(|&(_, offset)| offset).chain([end]);
        let mut entries = Vec::with_capacity(raw.len());
        let mut floor = self.start;
        for (&(key, offset), end) in raw.iter().zip(ends) {
            let child = u64::try_from(offset)
                .ok()
                .zip(u64::try_from(end).ok())
                .filter(|&(from, to)| floor <= from && from < to && to <= range.start);
            let Some((from, to)) = child else {
                let what = "offset of a child";
                let found = if floor <= offset as u64 && offset < end { end } else { offset } as u64;
                return Err(fail(ErrorKind::OutOfRange { what, min: floor, max: range.start, found }).into());
            };
            floor = to;
            entries.push(Entry { key, child: from..to });
        }
        Ok(Node { leaf, entries })
    }
}

/// A leaf entry of a walk.
struct Leaf {
    key: Box<[u8]>,
    child: Range<u64>,
}

struct Level {
    entries: alloc::vec::IntoIter<Leaf>,
    leaf: bool,
}

/// Walks a tree of nodes in order, with one node a level in memory.
struct Walk {
    bounds: Bounds,
    keys: Keys,
    /// The node to read next.
    next: Option<Range<u64>>,
    levels: Vec<Level>,
    /// End of the last node that was read, by level.
    floors: Vec<u64>,
}

impl Walk {
    fn new(bounds: Bounds, keys: Keys, root: Range<u64>) -> Self {
        Self { bounds, keys, next: Some(root), levels: Vec::new(), floors: Vec::new() }
    }

    fn enter<S: Source + ?Sized>(&mut self, source: &S, range: &Range<u64>) -> Poll<()> {
        let depth = self.levels.len();
        let fail = |kind| Error::new("index node", kind).at(range.start);
        check("levels of the index", depth as u64 + 1, self.bounds.depth).map_err(fail)?;
        match self.floors.get(depth) {
            Some(&floor) if range.start < floor => {
                return Err(fail(ErrorKind::Invalid("nodes of one level out of order")).into());
            }
            _ => {}
        }
        let node = self.bounds.load(source, self.keys, range);
        if !matches!(node, Err(Stop::Need(_))) {
            self.leave_behind(depth, range.end);
        }
        let node = node?;
        let own = |entry: Entry<'_>| Leaf { key: entry.key.into(), child: entry.child };
        let entries: Vec<Leaf> = node.entries.into_iter().map(own).collect();
        self.levels.push(Level { entries: entries.into_iter(), leaf: node.leaf });
        Ok(())
    }

    /// Nothing before `end` is visited on this level again, be it that it could not be read.
    fn leave_behind(&mut self, depth: usize, end: u64) {
        self.floors.truncate(depth + 1);
        match self.floors.get_mut(depth) {
            Some(floor) => *floor = end,
            None => self.floors.push(end),
        }
    }

    /// The next leaf entry. After an error it goes on behind the node that cannot be read.
    fn next<S: Source + ?Sized>(&mut self, source: &S) -> Poll<Option<Leaf>> {
        loop {
            if let Some(range) = self.next.clone() {
                let entered = self.enter(source, &range);
                if !matches!(entered, Err(Stop::Need(_))) {
                    self.next = None;
                }
                entered?;
            }
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            match level.entries.next() {
                Some(leaf) if level.leaf => return Ok(Some(leaf)),
                Some(inner) => self.next = Some(inner.child),
                None => {
                    self.levels.pop();
                }
            }
        }
    }
}

/// A device of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEntry {
    /// Its id.
    pub id: DeviceId,
    /// Root node of its measurements. A file that was scanned has none: here it is the number of the device.
    pub node: Range<u64>,
}

/// Goes through the devices of a file, or of one table, in the order of the index.
///
/// It holds one node a level, whatever the number of devices.
pub struct DeviceCursor {
    /// Those of a file that was scanned.
    listed: alloc::vec::IntoIter<DeviceEntry>,
    bounds: Bounds,
    roots: alloc::vec::IntoIter<Range<u64>>,
    walk: Option<Walk>,
}

impl DeviceCursor {
    /// All devices; or those of `table`, which is segment 0 of their ids.
    #[must_use]
    pub fn new(metadata: &Metadata, limits: &Limits, table: Option<&str>) -> Self {
        let roots: Vec<_> = metadata
            .roots
            .iter()
            .filter(|root| table.is_none() || root.table.is_none() || root.table.as_deref() == table)
            .map(|root| root.node.clone())
            .collect();
        let listed = Vec::new().into_iter();
        Self { listed, bounds: Bounds::new(metadata, limits), roots: roots.into_iter(), walk: None }
    }

    /// These devices, before those of the index.
    pub(crate) fn listed(self, devices: Vec<DeviceEntry>) -> Self {
        Self { listed: devices.into_iter(), ..self }
    }

    /// The next device. After an error it goes on behind what cannot be read.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn next<S: Source + ?Sized>(&mut self, source: &S) -> Poll<Option<DeviceEntry>> {
        if let Some(device) = self.listed.next() {
            return Ok(Some(device));
        }
        loop {
            if let Some(walk) = &mut self.walk
                && let Some(leaf) = walk.next(source)?
            {
                let version = self.bounds.version;
                let key = parse_all("device id", leaf.child.start, &leaf.key, |input| {
                    DeviceKey::parse(version, input)
                })?;
                return Ok(Some(DeviceEntry { id: key.to_id(), node: leaf.child }));
            }
            match self.roots.next() {
                Some(root) => self.walk = Some(Walk::new(self.bounds.clone(), Keys::Devices, root)),
                None => return Ok(None),
            }
        }
    }
}

/// Goes through the byte ranges that hold the `TimeseriesMetadata` of a device.
pub(crate) struct RecordCursor {
    walk: Walk,
}

impl RecordCursor {
    pub(crate) fn new(metadata: &Metadata, limits: &Limits, device: &DeviceEntry) -> Self {
        let bounds = Bounds::new(metadata, limits);
        Self { walk: Walk::new(bounds, Keys::Measurements, device.node.clone()) }
    }

    /// The next range: up to 256 records one after another.
    pub(crate) fn next<S: Source + ?Sized>(&mut self, source: &S) -> Poll<Option<Range<u64>>> {
        Ok(self.walk.next(source)?.map(|leaf| leaf.child))
    }
}

/// Goes down from `root` to the leaf entry that `order` says; `order` compares what is sought with a key.
///
/// With `exact` the entry must be equal, else the last one that is not greater is taken: an entry of
/// `LEAF_MEASUREMENT` stands for all names from its key on.
fn descend<S: Source + ?Sized>(
    source: &S,
    bounds: &Bounds,
    keys: Keys,
    root: Range<u64>,
    exact: bool,
    order: impl Fn(&[u8]) -> Ordering,
) -> Poll<Option<Range<u64>>> {
    let mut range = root;
    for _ in 0..bounds.depth {
        let node = bounds.load(source, keys, &range)?;
        let found = if node.leaf && exact {
            node.entries.into_iter().find(|entry| order(entry.key) == Ordering::Equal)
        } else {
            node.entries.into_iter().rfind(|entry| order(entry.key) != Ordering::Less)
        };
        match found {
            None => return Ok(None),
            Some(entry) if node.leaf => return Ok(Some(entry.child)),
            Some(entry) => range = entry.child,
        }
    }
    let kind = ErrorKind::Limit { what: "levels of the index", limit: bounds.depth, found: bounds.depth + 1 };
    Err(Error::new("index node", kind).at(range.start).into())
}

/// Finds one device. Where the order of the keys is not ours (Java orders by UTF-16), all leaves are looked at.
///
/// # Errors
/// What is wrong with the index.
pub fn find_device<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    id: &DeviceId,
) -> Poll<Option<DeviceEntry>> {
    let bounds = Bounds::new(metadata, limits);
    let order = |key: &[u8]| match DeviceKey::parse(bounds.version, key) {
        Ok((_, key)) => id.compare_encoded(key),
        Err(_) => Ordering::Less,
    };
    for root in &metadata.roots {
        if root.table.as_deref().is_some_and(|table| table != id.table()) {
            continue;
        }
        if let Some(node) = descend(source, &bounds, Keys::Devices, root.node.clone(), true, order)? {
            return Ok(Some(DeviceEntry { id: id.clone(), node }));
        }
    }
    let mut all = DeviceCursor::new(metadata, limits, Some(id.table()));
    while let Some(entry) = all.next(source)? {
        if entry.id == *id {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Where the record of a measurement should be, by the order of the index.
pub(crate) fn find_records<S: Source + ?Sized>(
    source: &S,
    metadata: &Metadata,
    limits: &Limits,
    device: &DeviceEntry,
    name: &str,
) -> Poll<Option<Range<u64>>> {
    let bounds = Bounds::new(metadata, limits);
    descend(source, &bounds, Keys::Measurements, device.node.clone(), false, |key| match var_string(key) {
        Ok((_, key)) => name.as_bytes().cmp(key.unwrap_or("").as_bytes()),
        Err(_) => Ordering::Less,
    })
}
