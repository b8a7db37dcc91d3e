//! An open file: its metadata, and what it takes to read the rest.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, check};
use crate::source::{Poll, Source, Stop};
use crate::tsfile::chunk::Chunk;
use crate::tsfile::device::DeviceId;
#[cfg(feature = "aes")]
use crate::tsfile::encryption::PageKey;
use crate::tsfile::index::{DeviceCursor, DeviceEntry, find_device};
use crate::tsfile::metadata::Metadata;
use crate::tsfile::page::{Access, PageDecoder};
use crate::tsfile::scan::ScannedDevice;
use crate::tsfile::series::{ChunkMetadata, Series, SeriesCursor, find_series};

/// An open file.
///
/// It holds the metadata of the footer, and nothing that grows with the number of devices and series; unless it was
/// [scanned](crate::tsfile::scan), when it holds what the index would say.
#[derive(Clone, Debug)]
pub struct TsFile {
    /// The footer.
    pub metadata: Metadata,
    limits: Limits,
    access: Access,
    /// What a scan found, in place of the index.
    scanned: Option<Vec<ScannedDevice>>,
}

impl TsFile {
    /// Reads both ends of a file.
    ///
    /// # Errors
    /// As [`Metadata::read`].
    pub fn open<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Self> {
        let metadata = Metadata::read(source, limits)?;
        Ok(Self::new(metadata, limits))
    }

    /// A file of this metadata, which may have been put together by a scan.
    #[must_use]
    pub fn new(metadata: Metadata, limits: &Limits) -> Self {
        let access = Access::new(&metadata);
        Self { metadata, limits: limits.clone(), access, scanned: None }
    }

    /// Takes what a scan found for the index; the data ends at `end`.
    pub(crate) fn set_scanned(&mut self, devices: Vec<ScannedDevice>, end: u64) {
        self.scanned = Some(devices);
        self.metadata.meta_offset = end;
    }

    /// The devices that a scan found, in the order in which they appear; `None` in a file that is read by its index.
    #[must_use]
    pub fn scanned(&self) -> Option<&[ScannedDevice]> {
        self.scanned.as_deref()
    }

    /// Gives the master key of an encrypted file; nothing happens to one that is not encrypted.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a key that is not the file's, [`ErrorKind::Unsupported`] for another cipher.
    #[cfg(feature = "aes")]
    pub fn unlock(&mut self, master: &[u8]) -> Result<(), Error> {
        if let Some(encryption) = self.metadata.encryption() {
            self.access = Access::Unlocked(encryption.unlock(master)?);
        }
        Ok(())
    }

    /// Takes the pages to be encrypted with this key, whatever the metadata says.
    #[cfg(feature = "aes")]
    pub(crate) fn set_key(&mut self, key: PageKey) {
        self.access = Access::Unlocked(key);
    }

    /// The bounds that it was opened with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A decoder of its pages.
    #[must_use]
    pub fn decoder(&self) -> PageDecoder {
        PageDecoder::new(self.limits.clone(), self.access.clone())
    }

    /// All devices, or those of one table.
    #[must_use]
    pub fn devices(&self, table: Option<&str>) -> DeviceCursor {
        let index = DeviceCursor::new(&self.metadata, &self.limits, table);
        let Some(scanned) = &self.scanned else { return index };
        let all = entries(scanned);
        index.listed(match table {
            Some(table) => all.filter(|device| device.id.table() == table).collect(),
            None => all.collect(),
        })
    }

    /// Finds a device.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn device<S: Source + ?Sized>(&self, source: &S, id: &DeviceId) -> Poll<Option<DeviceEntry>> {
        match &self.scanned {
            Some(scanned) => Ok(entries(scanned).find(|device| device.id == *id)),
            None => find_device(source, &self.metadata, &self.limits, id),
        }
    }

    /// What the bloom filter says: `false` is certain.
    ///
    /// # Errors
    /// Those of the source.
    pub fn may_hold<S: Source + ?Sized>(&self, source: &S, id: &DeviceId, measurement: &str) -> Poll<bool> {
        let Some(bloom) = &self.metadata.bloom else { return Ok(true) };
        let tags = self.metadata.table(id.table()).map_or(0, |table| table.tags().count());
        bloom.may_contain(source, id, measurement, tags)
    }

    /// Finds a series of a device. Asks the bloom filter first.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn find<S: Source + ?Sized>(
        &self,
        source: &S,
        id: &DeviceId,
        measurement: &str,
    ) -> Poll<Option<Series>> {
        if !self.may_hold(source, id, measurement)? {
            return Ok(None);
        }
        match self.device(source, id)? {
            Some(device) => self.series(source, &device, measurement),
            None => Ok(None),
        }
    }

    /// Finds a series of a device; the empty name is the time column of aligned measurements.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn series<S: Source + ?Sized>(
        &self,
        source: &S,
        device: &DeviceEntry,
        measurement: &str,
    ) -> Poll<Option<Series>> {
        if self.scanned.is_some() {
            let mut all = self.series_of(device);
            return all.next_wanted(source, &self.metadata, &self.limits, |name| name == measurement);
        }
        find_series(source, &self.metadata, &self.limits, device, measurement)
    }

    /// The series of a device, the time column of aligned measurements included.
    #[must_use]
    pub fn series_of(&self, device: &DeviceEntry) -> SeriesCursor {
        match &self.scanned {
            Some(scanned) => {
                let found = usize::try_from(device.node.start).ok().and_then(|number| scanned.get(number));
                SeriesCursor::listed(found.map(|device| device.series.clone()).unwrap_or_default())
            }
            None => SeriesCursor::new(&self.metadata, &self.limits, device),
        }
    }

    /// All series of a device, the time column of aligned measurements included.
    ///
    /// # Errors
    /// What is wrong with the index.
    pub fn all_series<S: Source + ?Sized>(&self, source: &S, device: &DeviceEntry) -> Poll<Vec<Series>> {
        let (all, damage) = self.readable_series(source, device)?;
        damage.into_iter().next().map_or(Ok(all), |error| Err(error.into()))
    }

    /// As [`all_series`](Self::all_series), of what can be read, and why the others cannot.
    ///
    /// # Errors
    /// Those of the source, and [`ErrorKind::Limit`].
    pub fn readable_series<S: Source + ?Sized>(
        &self,
        source: &S,
        device: &DeviceEntry,
    ) -> Poll<(Vec<Series>, Vec<Error>)> {
        let mut cursor = self.series_of(device);
        let (mut all, mut damage) = (Vec::new(), Vec::new());
        loop {
            match cursor.next(source, &self.metadata, &self.limits) {
                Ok(Some(series)) => all.push(series),
                Ok(None) => return Ok((all, damage)),
                Err(Stop::Error(error)) => damage.push(error),
                Err(need) => return Err(need),
            }
            check("series of a device", all.len() as u64, self.limits.entries)
                .map_err(|kind| Error::new("index", kind).at(device.node.start))?;
        }
    }

    /// Reads the header of a chunk.
    ///
    /// # Errors
    /// What is wrong with it; [`ErrorKind::Invalid`] when it belongs to another series.
    pub fn chunk<S: Source + ?Sized>(&self, source: &S, series: &str, chunk: &ChunkMetadata) -> Poll<Chunk> {
        let found = Chunk::read(source, chunk.offset, self.metadata.meta_offset, &self.limits)?;
        if *found.name == *series {
            return Ok(found);
        }
        let expected: Box<str> = series.into();
        Err(Error::new("chunk header", ErrorKind::Invalid("the chunk belongs to another series"))
            .at(chunk.offset)
            .item(expected)
            .detail(found.name)
            .into())
    }
}

fn entries(scanned: &[ScannedDevice]) -> impl Iterator<Item = DeviceEntry> {
    scanned
        .iter()
        .zip(0..)
        .map(|(device, number)| DeviceEntry { id: device.id.clone(), node: number..number })
}
