//! How much one pass over a file may decode.

use core_codec::error::ErrorKind;
use core_codec::izs::raw::INDEX_ENTRY_LEN;

use super::{IzsFile, IzsStream};
use crate::error::Error;

/// What a pass over all streams may still decode: [`Limits::expansion`](core_codec::Limits::expansion) times the
/// bytes of the file, in which every block and every index entry stands once. Only a file whose streams share
/// them passes it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
    all: u64,
    /// What a byte of the file stands for.
    expansion: u64,
}

impl IzsFile {
    /// The budget of a pass that reads every stream once.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let expansion = self.limits.expansion;
        let all = self.input.len().saturating_mul(expansion);
        Budget { left: all, all, expansion }
    }
}

impl Budget {
    /// The budget of so many passes.
    #[must_use]
    pub fn times(self, passes: u64) -> Self {
        let all = self.all.saturating_mul(passes);
        Self { left: all, all, ..self }
    }

    /// Charges the decoded bytes and the index of a whole stream, before it is read.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] when there is less left, or the stream alone passes it; nothing is charged then.
    pub fn charge(&mut self, stream: &IzsStream) -> Result<(), Error> {
        self.charge_times(stream, 1)
    }

    /// Charges a stream that is gone through so many times.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub(super) fn charge_times(&mut self, stream: &IzsStream, passes: u64) -> Result<(), Error> {
        let descriptor = stream.descriptor();
        stream.reader.check_expansion(descriptor.end)?;
        let decoded = descriptor.end.saturating_mul(descriptor.element.size().into());
        let index = descriptor.index_entries().saturating_mul(INDEX_ENTRY_LEN);
        let cost = decoded.saturating_add(index.saturating_mul(self.expansion)).saturating_mul(passes);
        match self.left.checked_sub(cost) {
            Some(left) => self.left = left,
            None => {
                let what = "decoded bytes of all streams for the length of the file";
                let found = (self.all - self.left).saturating_add(cost);
                let pointer = stream.file.schema().stream_pointer(stream.reader.id()).to_string();
                let kind = ErrorKind::Limit { what, limit: self.all, found };
                return Err(core_codec::Error::new("stream", kind).item(pointer).into());
            }
        }
        Ok(())
    }
}
