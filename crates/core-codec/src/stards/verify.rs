//! What is wrong with a file, and what is merely odd about it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::{ops::Range, slice};

use super::array::{Array, Block, Content, DATA, INDEX_ENTRY, merge};
use super::cursor::Cursor;
use super::dataset::{Dataset, Layer};
use super::hash::hash;
use super::metadata::METADATA_BLOCK;
use super::name::{counted, label};
use super::storage::{MAX_BLOCKS, MAX_DIMENSIONS};
use super::tensor::Tensor;
use super::types::{Compression, DataType};
use crate::error::{Error, ErrorKind, Severity};
use crate::source::{Poll, Source, Stop};

/// Readers ignore them.
const AFTER_STREAM: ErrorKind = ErrorKind::Invalid("bytes left over after the compressed stream");

/// Something that a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, and where.
    pub error: Error,
}

impl Finding {
    pub(super) fn warning(error: Error) -> Self {
        Self { severity: Severity::Warning, error }
    }

    pub(super) fn error(error: Error) -> Self {
        Self { severity: Severity::Error, error }
    }
}

impl Dataset {
    /// Reads everything and tells all that is wrong or odd, in the order of the file. A file without a finding
    /// keeps every rule of the specification, and the reference implementation reads all of it.
    ///
    /// Of an array in numbers one block at a time is in memory.
    ///
    /// # Errors
    /// [`Stop::Need`] of the source only: what else goes wrong is a finding.
    pub fn verify<S: Source + ?Sized>(&self, source: &S) -> Poll<Vec<Finding>> {
        let mut findings = Vec::new();
        for check in self.checks(0) {
            findings.extend(self.check(source, &check)?);
        }
        Ok(findings)
    }

    /// What [`verify`](Self::verify) does, step by step, in its order: for sources that have to fetch what a step
    /// needs. A step over blocks takes at most `most` stored bytes, or one block.
    pub fn checks(&self, most: u64) -> impl Iterator<Item = Check> + '_ {
        core::iter::once(Check::Structure)
            .chain((0..self.layers.len()).map(Check::Metadata))
            .chain(self.arrays.iter().enumerate().flat_map(move |(array, info)| of_array(array, info, most)))
            .chain(core::iter::once(Check::Coverage))
    }

    /// Does one of the [`checks`](Self::checks).
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn check<S: Source + ?Sized>(&self, source: &S, check: &Check) -> Poll<Vec<Finding>> {
        let mut report = Report { dataset: self, findings: Vec::new() };
        match check {
            Check::Structure => {
                report.findings.clone_from(&self.noticed);
                report.registry();
                report.layers();
                report.bitmaps();
            }
            Check::Metadata(layer) => {
                self.layers.get(*layer).map_or(Ok(()), |layer| report.metadata(layer, source))?;
            }
            Check::Entry(array) => {
                if let Some(info) = self.arrays.get(*array) {
                    report.entry(*array, info);
                    report.places(info);
                }
            }
            Check::Data { array, blocks } => {
                if let Some(Ok(content)) = self.arrays.get(*array).map(Array::content) {
                    report.data(content, blocks.clone(), source)?;
                }
            }
            Check::Plain(range) => source.request(slice::from_ref(range))?,
            Check::Coverage => report.coverage(source.len()),
        }
        Ok(report.findings)
    }
}

/// A step of a verification; see [`Dataset::checks`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Keys, names and bitmaps.
    Structure,
    /// The metadata of the layer of this number.
    Metadata(usize),
    /// The index entry of the array of this number.
    Entry(usize),
    /// Bytes of an array of numbers that is not compressed: whether they can be had.
    Plain(Range<u64>),
    /// Blocks of another array; of strings, all of them.
    Data {
        /// Its number.
        array: usize,
        /// Numbers of the blocks.
        blocks: Range<usize>,
    },
    /// The bytes that nothing or more than one thing uses.
    Coverage,
}

/// Bytes that are not compressed and are looked at together, at least.
const PLAIN: u64 = 1 << 20;

/// The checks of an array.
fn of_array(array: usize, info: &Array, most: u64) -> impl Iterator<Item = Check> + '_ {
    let (plain, content) = match info.content() {
        Ok(content) if is_plain(content) => (content.stored_ranges(), None),
        content => (Vec::new(), content.ok()),
    };
    let step = most.max(PLAIN);
    let plain = plain.into_iter().flat_map(move |range| {
        let end = range.end;
        let starts = range.step_by(usize::try_from(step).unwrap_or(usize::MAX));
        starts.map(move |start| Check::Plain(start..end.min(start.saturating_add(step))))
    });
    let mut next = 0;
    let batches = core::iter::from_fn(move || {
        let blocks = next..content.map_or(0, |content| batch(content, next, most));
        next = blocks.end;
        (!blocks.is_empty()).then_some(Check::Data { array, blocks })
    });
    // An array of strings without blocks is one, too.
    let empty = content.filter(|content| content.blocks().is_empty());
    let empty = empty.map(|_| Check::Data { array, blocks: 0..0 });
    core::iter::once(Check::Entry(array)).chain(plain).chain(empty).chain(batches)
}

/// Whether there is nothing to decode.
fn is_plain(content: &Content) -> bool {
    content.compression() == Compression::None && content.dtype() != DataType::String
}

/// Up to which block those from `start` on are checked together.
fn batch(content: &Content, start: usize, most: u64) -> usize {
    let all = content.blocks();
    if content.dtype() == DataType::String {
        return all.len();
    }
    let mut total = 0u64;
    let fits = |block: &&Block| {
        total = total.saturating_add(block.stored.end - block.stored.start);
        total <= most
    };
    let count = all[start..].iter().take_while(fits).count();
    all.len().min(start + count.max(1))
}

struct Report<'a> {
    dataset: &'a Dataset,
    findings: Vec<Finding>,
}

/// What a check reads, or nothing when the failure has become a finding.
fn caught<T>(findings: &mut Vec<Finding>, poll: Poll<T>) -> Poll<Option<T>> {
    match poll {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Error(error)) => {
            findings.push(Finding::error(error));
            Ok(None)
        }
        Err(need) => Err(need),
    }
}

impl Report<'_> {
    fn warn(&mut self, error: Error) {
        self.findings.push(Finding::warning(error));
    }

    fn registry(&mut self) {
        const STRUCTURE: &str = "key registry";
        let dataset = self.dataset;
        // By the first key of each text.
        let mut used = vec![false; dataset.keys.len()];
        for key in &dataset.keys {
            let Some(array) = key.array.and_then(|index| dataset.arrays.get(index)) else { continue };
            used[key.first] = true;
            if let Some(&inside) = dataset.by_text.get(array.key()) {
                used[inside] = true;
            }
        }
        for &key in dataset.layers.iter().flat_map(|layer| &layer.keys) {
            used[dataset.keys[usize::from(key)].first] = true;
        }
        let mut other_hashes = 0;
        for (index, key) in dataset.keys.iter().enumerate() {
            let error = |reason| Error::new(STRUCTURE, ErrorKind::Invalid(reason)).item(label(&key.text));
            if !used[key.first] {
                self.warn(error("no array and no metadata uses the key"));
            }
            if key.first != index {
                self.warn(error("the key is there twice"));
            }
            other_hashes += u64::from(key.hash != hash(key.text.as_bytes()));
        }
        if other_hashes > 0 {
            let kind = ErrorKind::Invalid("hashes of keys that are not those of GCC's standard library");
            let of_all = alloc::format!("{other_hashes} of {}", dataset.keys.len());
            self.warn(Error::new(STRUCTURE, kind).detail(of_all));
        }
    }

    fn layers(&mut self) {
        let dataset = self.dataset;
        let mut names = BTreeSet::new();
        for (index, layer) in dataset.layers.iter().enumerate() {
            let error = |reason| {
                let error = Error::new("layer metadata registry", ErrorKind::Invalid(reason));
                error.at(layer.at).item(layer.label())
            };
            if !names.insert(layer.name()) {
                self.warn(error("an earlier layer has the same name and hides it"));
            }
            if index == 0 && dataset.base != 0 {
                self.warn(error("the base layer does not come first"));
            }
        }
    }

    fn bitmaps(&mut self) {
        let dataset = self.dataset;
        // Of each layer, the index entries that its bitmap does not mark, and all.
        let mut entries = vec![(0u64, 0u64); dataset.layers.len()];
        for (entry, array) in dataset.arrays.iter().enumerate() {
            let word = dataset.layers[array.layer()].bitmap.get(entry / 64).copied().unwrap_or_default();
            let (unmarked, all) = &mut entries[array.layer()];
            *unmarked += u64::from(word >> (entry % 64) & 1 == 0);
            *all += 1;
        }
        for (layer, (unmarked, all)) in
            dataset.layers.iter().zip(entries).filter(|(_, (count, _))| *count > 0)
        {
            let kind = ErrorKind::Invalid("index entries of the layer that its bitmap does not mark");
            let error = Error::new("layer presence bitmap", kind).at(layer.at).item(layer.label());
            self.warn(error.detail(alloc::format!("{unmarked} of {all}")));
        }
    }

    fn metadata<S: Source + ?Sized>(&mut self, layer: &Layer, source: &S) -> Poll<()> {
        let dataset = self.dataset;
        let decoded = caught(&mut self.findings, dataset.decode_metadata(source, layer))?;
        let Some(decoded) = decoded.flatten() else { return Ok(()) };
        let error = |kind| Error::new(METADATA_BLOCK, kind).at(layer.position()).item(layer.label());
        if *decoded.layer_name != *layer.name().as_bytes() {
            self.warn(error(ErrorKind::Invalid("the block names another layer")));
        }
        if decoded.left_over > 0 {
            let kind = ErrorKind::Invalid("bytes left over after the last entry");
            self.warn(error(kind).detail(counted(decoded.left_over as u64, "byte")));
        }
        if decoded.rest > 0 {
            self.warn(error(AFTER_STREAM).detail(counted(decoded.rest as u64, "byte")));
        }
        if layer.position() < dataset.header.header_size {
            self.findings.push(Finding::error(error(ErrorKind::Invalid("the block lies inside the header"))));
        }
        let mut listed: BTreeSet<u16> = layer.keys.iter().copied().collect();
        let mut seen = BTreeMap::new();
        for (key, value) in &decoded.entries {
            let name = label(dataset.key(*key));
            let times = seen.entry(*key).or_insert(0u32);
            *times += 1;
            if *times > 1 {
                // Told once of each key.
                if *times == 2 {
                    let twice = ErrorKind::Invalid("a key is there twice: the last value counts");
                    self.warn(error(twice).detail(name.as_str()));
                }
            } else if !listed.remove(key) {
                self.warn(
                    error(ErrorKind::Invalid("a key that the registry does not list")).detail(name.as_str()),
                );
            }
            match value {
                Ok(value) if !is_utf8(value) => {
                    self.findings.push(Finding::error(error(ErrorKind::Invalid("not UTF-8")).detail(name)));
                }
                Ok(_) => {}
                Err(error) => self.findings.push(Finding::error(error.clone())),
            }
        }
        for key in listed {
            let kind = ErrorKind::Invalid("the registry lists a key that the block does not hold");
            self.findings.push(Finding::error(error(kind).detail(label(dataset.key(key)))));
        }
        Ok(())
    }

    fn entry(&mut self, index: usize, array: &Array) {
        let entry = array.entry();
        let error = |kind| Error::new(INDEX_ENTRY, kind).at(array.entry_offset()).item(array.name().label());
        let invalid = |reason| error(ErrorKind::Invalid(reason));
        if !self.dataset.is_visible(index) {
            self.warn(invalid("a later array has the same key and hides it"));
        }
        if array.layer() == self.dataset.base && array.key().starts_with("__layer_") {
            self.warn(invalid("the key has the prefix of a layer that does not exist"));
        }
        let (ndim, blocks) = (entry.shape.len() as u64, entry.blocks.len() as u64);
        for (what, limit, found) in [("dimensions", MAX_DIMENSIONS, ndim), ("blocks", MAX_BLOCKS, blocks)] {
            if found > limit {
                let error = error(ErrorKind::Limit { what, limit, found });
                self.warn(error.detail("the reference cannot open the file"));
            }
        }
        let stored = array.stored_len();
        if entry.total_bytes != stored {
            let kind =
                ErrorKind::Mismatch { what: "total bytes", expected: stored, found: entry.total_bytes };
            self.warn(error(kind));
        }
        if let [first, _, ..] = entry.blocks[..]
            && first.decoded != entry.block_size
        {
            let (what, expected) = ("block size", first.decoded);
            self.warn(error(ErrorKind::Mismatch { what, expected, found: entry.block_size }));
        }
        let mut next = 0;
        if entry.blocks.iter().any(|block| {
            block.offset != core::mem::replace(&mut next, block.offset.saturating_add(block.stored))
        }) {
            self.warn(invalid("the blocks do not follow each other"));
        }
        if array.compression() == Some(Compression::Zstd) {
            self.warn(invalid("the codec is an extension: the reference does not read ZSTD"));
        }
    }

    /// Whether there is data that can be read, and where it lies.
    fn places(&mut self, array: &Array) {
        let content = match array.content() {
            Ok(content) => content,
            Err(error) => return self.findings.push(Finding::error(error)),
        };
        let inside_header =
            |range: &Range<u64>| range.start < self.dataset.header.header_size && !range.is_empty();
        if content.blocks().iter().any(|block| inside_header(&block.stored)) {
            let kind = ErrorKind::Invalid("a block lies inside the header");
            self.findings.push(Finding::error(content.error(kind)));
        }
    }

    fn data<S: Source + ?Sized>(&mut self, content: &Content, blocks: Range<usize>, source: &S) -> Poll<()> {
        let Some(batch) = content.blocks().get(blocks.clone()) else { return Ok(()) };
        // All at once, so that no block is decoded twice for want of another.
        source.request(&merge(batch.iter().map(|block| block.stored.clone())))?;
        if blocks.start == 0 {
            self.framing(content, source)?;
        }
        if content.dtype() == DataType::String {
            return self.strings(content, source);
        }
        let mut cursor = Cursor::new(Vec::new());
        for (index, block) in blocks.zip(batch) {
            let stored = source.bytes(block.stored.clone());
            let decoded = stored.and_then(|stored| Ok(cursor.check(content, index, stored)?));
            let rest = caught(&mut self.findings, decoded)?;
            self.after_stream(content, index, block, rest.unwrap_or_default());
        }
        Ok(())
    }

    /// Tells of stored bytes that follow the stream of a block.
    fn after_stream(&mut self, content: &Content, index: usize, block: &Block, rest: usize) {
        if rest > 0 {
            let error = content.error(AFTER_STREAM).at(block.stored.end.saturating_sub(rest as u64));
            self.warn(error.detail(alloc::format!("{}, block {index}", counted(rest as u64, "byte"))));
        }
    }

    fn framing<S: Source + ?Sized>(&mut self, content: &Content, source: &S) -> Poll<()> {
        let Some(block) = content.blocks().first().filter(|_| gzip(content)) else { return Ok(()) };
        if source.bytes(block.stored.clone())?.starts_with(&[0x1f, 0x8b]) {
            let kind = ErrorKind::Invalid("gzip framing: the reference reads zlib framing only");
            self.warn(content.error(kind));
        }
        Ok(())
    }

    /// The decoded blocks of strings; none where one does not decode, which is told.
    fn payload<S: Source + ?Sized>(&mut self, content: &Content, source: &S) -> Poll<Option<Vec<u8>>> {
        // As large as the limits allow.
        let payload = content.zeroed(content.payload_len() as usize).map_err(Stop::from);
        let Some(mut payload) = caught(&mut self.findings, payload)? else { return Ok(None) };
        for (index, block) in content.blocks().iter().enumerate() {
            let out = &mut payload[block.payload.start as usize..block.payload.end as usize];
            let stored = source.bytes(block.stored.clone());
            let decoded = stored.and_then(|stored| Ok(content.decode_block_and_rest(index, stored, out)?));
            let Some(rest) = caught(&mut self.findings, decoded)? else { return Ok(None) };
            self.after_stream(content, index, block, rest);
        }
        Ok(Some(payload))
    }

    fn strings<S: Source + ?Sized>(&mut self, content: &Content, source: &S) -> Poll<()> {
        let Some(payload) = self.payload(content, source)? else { return Ok(()) };
        let stated = payload.first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)));
        let expected = (payload.len() as u64).saturating_sub(4);
        let checked = content.check_strings(payload).map_err(Stop::from);
        let Some(bytes) = caught(&mut self.findings, checked)? else { return Ok(()) };
        if stated != expected {
            let kind = ErrorKind::Mismatch { what: "length of all strings", expected, found: stated };
            self.warn(content.error(kind));
        }
        if !is_utf8(&Tensor::checked(DataType::String, &content.shape, bytes)) {
            let error = Error::new(DATA, ErrorKind::Invalid("a string is not UTF-8"));
            let at = content.blocks().first().map_or(0, |block| block.stored.start);
            self.findings.push(Finding::error(error.at(at).item(content.name().label())));
        }
        Ok(())
    }

    /// Bytes after the header that nothing or more than one thing uses.
    fn coverage(&mut self, file_len: u64) {
        let contents = self.dataset.arrays.iter().filter_map(|array| array.content().ok());
        let mut used: Vec<Range<u64>> = contents.flat_map(Content::stored_ranges).collect();
        used.extend(self.dataset.metadata_ranges(file_len));
        used.sort_by_key(|range| (range.start, range.end));
        let mut end = self.dataset.header.header_size;
        let mut unused = 0;
        for range in used {
            if range.start < end {
                let kind = ErrorKind::Invalid("bytes that two arrays or metadata blocks share");
                self.warn(Error::new("data section", kind).at(range.start));
            }
            unused += range.start.saturating_sub(end);
            end = end.max(range.end);
        }
        unused += file_len.saturating_sub(end);
        // Seven bytes before an array align it.
        if unused > 7 * self.dataset.arrays.len() as u64 {
            let kind = ErrorKind::Invalid("bytes that nothing uses");
            self.warn(Error::new("data section", kind).detail(counted(unused, "byte")));
        }
    }
}

fn gzip(content: &Content) -> bool {
    matches!(content.compression(), Compression::Gzip | Compression::GzipShuffle)
}

fn is_utf8(value: &Tensor) -> bool {
    value.iter_strings().all(|text| core::str::from_utf8(text).is_ok())
}
