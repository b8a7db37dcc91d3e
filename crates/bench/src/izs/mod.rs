//! What the benchmark of `.izs` needs: files in memory, for us and for crate `iguazu`.

pub mod reference;
pub mod table;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use std_io::Fetch;

/// A file in memory.
#[derive(Clone, Debug)]
pub struct Memory(pub Arc<Vec<u8>>);

impl Fetch for Memory {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        Ok(self.0[range.start as usize..range.end as usize].to_vec())
    }
}
