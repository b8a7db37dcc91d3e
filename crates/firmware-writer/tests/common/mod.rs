//! A sink in memory, and a reader of what went into it.

use core_codec::izs::reader;
use core_codec::{Limits, source};

/// The sink's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SinkFull;

impl std::fmt::Display for SinkFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the sink is full")
    }
}

impl std::error::Error for SinkFull {}

impl embedded_io::Error for SinkFull {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::OutOfMemory
    }
}

/// A file in memory that may be full, and whose writes may have to wait.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) bytes: Vec<u8>,
    room: Option<usize>,
    pending_every: usize,
    writes: usize,
}

#[allow(dead_code, reason = "each test takes what it needs")]
impl Sink {
    pub(crate) fn with_room(room: usize) -> Self {
        Self { room: Some(room), ..Self::default() }
    }

    pub(crate) fn pending_every(mut self, writes: usize) -> Self {
        self.pending_every = writes;
        self
    }
}

impl embedded_io::ErrorType for Sink {
    type Error = SinkFull;
}

impl embedded_io::Write for Sink {
    /// Takes at most 1000 bytes, as sinks do.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SinkFull> {
        let room = self.room.map_or(usize::MAX, |room| room - self.bytes.len());
        let taken = bytes.len().min(room).min(1000);
        if taken == 0 && !bytes.is_empty() {
            return Err(SinkFull);
        }
        self.bytes.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), SinkFull> {
        Ok(())
    }
}

impl embedded_io_async::Write for Sink {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, SinkFull> {
        self.writes += 1;
        if self.pending_every != 0 && self.writes.is_multiple_of(self.pending_every) {
            let mut waited = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut waited, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
        }
        embedded_io::Write::write(self, bytes)
    }

    async fn flush(&mut self) -> Result<(), SinkFull> {
        Ok(())
    }
}

/// All bytes of the stream with the descriptor at `pointer`.
#[allow(dead_code, reason = "each test takes what it needs")]
pub(crate) fn read(file: &[u8], pointer: &str) -> Vec<u8> {
    let limits = Limits::default();
    let izs = source::complete(reader::open(file, &limits)).unwrap();
    let schema = izs.schema();
    let id = schema.streams().find(|id| schema.stream_pointer(*id).to_string() == pointer).unwrap();
    let stream = izs.stream(id, &limits).unwrap();
    let mut bytes = vec![0; stream.byte_len().unwrap() as usize];
    source::complete(stream.read(file, 0..stream.descriptor().end, &mut bytes)).unwrap();
    bytes
}
