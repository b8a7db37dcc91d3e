//! Reading `.izs`: sans-IO over a [`Source`].
//!
//! [`open`] reads the footer and the schema; a [`StreamReader`] finds the blocks of one stream and decodes
//! them. Nothing is believed before it is checked: a stream decodes to exactly the elements that its descriptor
//! promises, or to an error that names the stream, the block and the byte.
//!
//! ```
//! # fn file() -> Vec<u8> {
//! #     let mut file = vec![0x00, 0x21, 0x4a, 0xd9, 0xff, 0x90, 0xba, 0xed];
//! #     file.extend(b"\x2a\x00\x2b\x00");
//! #     file.extend(8u64.to_le_bytes());
//! #     file.extend(4u32.to_le_bytes());
//! #     let schema = br#"{"entity":{"type":"int","bits":16,"data":{"element":"u16","end":2,"block":4096,"compress":"none","i_offset":12,"i_size":12,"i_compress":"none"}}}"#;
//! #     let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, schema.len() as u8];
//! #     frame.extend(&((schema.len() as u32) << 3 | 1).to_le_bytes()[..3]);
//! #     frame.extend(schema);
//! #     file.extend(&frame);
//! #     file.extend((frame.len() as u32).to_le_bytes());
//! #     file.extend([0, 0, 0, 0, 0x01, 0x21, 0x4a, 0xd9, 0x01, 0x90, 0xba, 0xed]);
//! #     file
//! # }
//! use core_codec::izs::reader;
//! use core_codec::{Limits, source};
//!
//! let file: &[u8] = &file();
//! let limits = Limits::default();
//! let izs = source::complete(reader::open(file, &limits))?;
//! let id = izs.schema().streams().next().unwrap();
//! let stream = izs.stream(id, &limits)?;
//! let mut samples = [0; 4];
//! source::complete(stream.read(file, 0..2, &mut samples))?;
//! assert_eq!(samples, [42, 0, 43, 0]);
//! # Ok::<(), core_codec::Error>(())
//! ```

mod footers;
mod stream;

pub use footers::Footers;
pub use stream::{Block, BlockDecoder, StreamReader};

use core::ops::Range;

use super::model::{Schema, StreamId};
use super::raw::Footer;
use crate::codec::zstd;
use crate::error::{Error, ErrorKind};
use crate::limits::{self, Limits};
use crate::source::{Poll, Source};
use crate::wire;

/// Bytes from the end of the file that [`open`] asks for at first: enough for the footer, the schema and, where
/// the writer put them together, all block indexes.
pub const TAIL_LEN: u64 = 1 << 20;

/// An opened file: what stands in its footer and schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Izs {
    schema: Schema,
    schema_bytes: Range<u64>,
    file_len: u64,
}

impl Izs {
    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Where the compressed schema stands in the file.
    #[must_use]
    pub fn schema_bytes(&self) -> Range<u64> {
        self.schema_bytes.clone()
    }

    /// Length of the file in bytes.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// A reader of one stream.
    ///
    /// # Errors
    /// When there is no such stream, its descriptor is not understood, its index lies outside the file, or the index does not have as
    /// many entries as the stream has blocks (one more, for an empty last block, is allowed).
    pub fn stream<'a>(&'a self, id: StreamId, limits: &'a Limits) -> Result<StreamReader<'a>, Error> {
        StreamReader::new(self, id, limits)
    }
}

/// Opens a file. Asks for the last [`TAIL_LEN`] bytes, and for more only when the schema is longer.
///
/// # Errors
/// When the footer or the schema is damaged.
pub fn open<S: Source + ?Sized>(source: &S, limits: &Limits) -> Poll<Izs> {
    let file_len = source.len();
    let Some(footer_start) = file_len.checked_sub(Footer::LEN as u64) else {
        let kind = ErrorKind::Truncated { needed: Footer::LEN as u64, available: file_len };
        return Err(Error::new("footer", kind).at(0).into());
    };
    let tail_start = file_len.saturating_sub(TAIL_LEN);
    let tail = source.bytes(tail_start..file_len)?;
    // `tail` ends with the file and has at least the footer's 16 bytes.
    let schema_bytes = place_of_schema(&tail[tail.len() - Footer::LEN..], footer_start, limits)?;
    let start = schema_bytes.start;
    let stored = match start.checked_sub(tail_start) {
        // Inside the tail, where it was asked for as part of it.
        Some(at) => &tail[at as usize..tail.len() - Footer::LEN],
        None => source.bytes(schema_bytes.clone())?,
    };
    let text = zstd::decode_bounded(stored, limits.metadata_bytes)
        .map_err(|kind| Error::new("schema", kind).at(start))?;
    let schema = Schema::parse(&text, limits).map_err(|error| error.at(start))?;
    Ok(Izs { schema, schema_bytes, file_len })
}

/// Where the schema stands, by the footer, which starts at `at`.
fn place_of_schema(footer: &[u8], at: u64, limits: &Limits) -> Result<Range<u64>, Error> {
    let footer = wire::parse_all("footer", at, footer, Footer::parse)
        .map_err(|error| error.detail("the file is no .izs file, or cut off, or was never finished"))?;
    if footer.reserved != 0 {
        let found = footer.reserved.into();
        let kind = ErrorKind::Mismatch { what: "reserved bytes 4..8 of the footer", expected: 0, found };
        return Err(Error::new("footer", kind).at(at + 4));
    }
    let found = footer.schema_len.into();
    let Some(start) = at.checked_sub(found) else {
        let kind = ErrorKind::OutOfRange { what: "schema length", min: 0, max: at, found };
        return Err(Error::new("footer", kind).at(at));
    };
    limits::check("compressed schema bytes", found, limits.metadata_bytes)
        .map_err(|kind| Error::new("schema", kind).at(start))?;
    Ok(start..at)
}
