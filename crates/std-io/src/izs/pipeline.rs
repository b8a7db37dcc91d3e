//! Compresses blocks on several threads while more of them are made, and writes them in their order.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use core_codec::codec::zstd::Encoder;
use core_codec::error::ErrorKind;
use core_codec::izs::writer::{Encoding, Job, Ticket, Writer};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::error::Error;

/// Bytes of blocks that are under way at once.
const MOST_BYTES: usize = 16 << 20;

/// Blocks that are under way at once, for each thread.
const MOST_BLOCKS: usize = 16;

/// Encoders that nobody uses now.
#[derive(Debug, Default)]
pub(crate) struct Encoders(Mutex<Vec<Encoder>>);

impl Encoders {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Encoder) -> T) -> T {
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut encoder = idle().pop().unwrap_or_default();
        let result = work(&mut encoder);
        idle().push(encoder);
        result
    }
}

/// What a thread has made of a block.
#[derive(Debug)]
struct Packed {
    number: u64,
    frame: Result<Vec<u8>, ErrorKind>,
    /// The block in memory of its own, to use again.
    raw: Option<Vec<u8>>,
}

/// A block whose turn to be written has not come.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    /// How long it is before it is compressed.
    len: usize,
    state: State,
    /// Its memory, once nobody works on it.
    raw: Option<Vec<u8>>,
}

#[derive(Debug)]
enum State {
    /// A thread works on it, or will.
    UnderWay,
    /// It is stored as a frame.
    Packed(Vec<u8>),
    /// It is stored as it is.
    Plain,
}

impl Waiting {
    /// What is stored, once it is there.
    fn stored(&self) -> Option<&[u8]> {
        match &self.state {
            State::UnderWay => None,
            State::Packed(frame) => Some(frame),
            State::Plain => self.raw.as_deref(),
        }
    }
}

/// The blocks that are under way.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pool: Arc<ThreadPool>,
    encoders: Arc<Encoders>,
    sender: Sender<Packed>,
    packed: Receiver<Packed>,
    /// In the order of the file.
    waiting: VecDeque<Waiting>,
    /// Number of the first of them.
    first: u64,
    /// How long all of them are.
    bytes: usize,
}

impl Pipeline {
    pub(crate) fn new(threads: usize, encoders: Arc<Encoders>) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(std::io::Error::other)?;
        let (sender, packed) = mpsc::channel();
        Ok(Self {
            pool: Arc::new(pool),
            encoders,
            sender,
            packed,
            waiting: VecDeque::new(),
            first: 0,
            bytes: 0,
        })
    }

    /// The threads that compress.
    pub(crate) fn pool(&self) -> Arc<ThreadPool> {
        self.pool.clone()
    }

    /// Takes the next block. One in memory of the caller's is read within `scope`, or copied where there is none.
    pub(crate) fn submit<'scope>(&mut self, job: Job<'scope>, scope: Option<&Scope<'scope>>) {
        let Job { ticket, raw, encoding } = job;
        let len = raw.len();
        let number = self.first + self.waiting.len() as u64;
        let mut waiting = Waiting { ticket, len, state: State::UnderWay, raw: None };
        match (encoding, raw, scope) {
            (Encoding::None, raw, _) => (waiting.state, waiting.raw) = (State::Plain, Some(raw.into_owned())),
            (Encoding::Zstd { level }, Cow::Borrowed(raw), Some(scope)) => {
                let (encoders, sender) = (self.encoders.clone(), self.sender.clone());
                scope.spawn(move |_| {
                    let frame = encoders.with(|encoder| encoder.encode(level, raw).map(<[u8]>::to_vec));
                    // The receiver is gone only when the writer is.
                    let _ = sender.send(Packed { number, frame, raw: None });
                });
            }
            (Encoding::Zstd { level }, raw, _) => {
                let (encoders, sender) = (self.encoders.clone(), self.sender.clone());
                let raw = raw.into_owned();
                self.pool.spawn(move || {
                    let frame = encoders.with(|encoder| encoder.encode(level, &raw).map(<[u8]>::to_vec));
                    let _ = sender.send(Packed { number, frame, raw: Some(raw) });
                });
            }
        }
        self.waiting.push_back(waiting);
        self.bytes += len;
    }

    /// Whether nothing is under way, so that a block that needs no compressing can be written at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes the blocks that are ready, and waits for others only when too much is under way.
    pub(crate) fn write_some(&mut self, writer: &mut Writer, out: &mut impl Write) -> Result<(), Error> {
        while let Ok(packed) = self.packed.try_recv() {
            self.take(packed)?;
        }
        loop {
            self.write_ready(writer, out)?;
            let most = MOST_BLOCKS * self.pool.current_num_threads();
            if self.bytes < MOST_BYTES && self.waiting.len() < most {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Waits for all blocks and writes them.
    pub(crate) fn write_all(&mut self, writer: &mut Writer, out: &mut impl Write) -> Result<(), Error> {
        loop {
            self.write_ready(writer, out)?;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.wait()?;
        }
    }

    fn write_ready(&mut self, writer: &mut Writer, out: &mut impl Write) -> Result<(), Error> {
        while let Some(stored) = self.waiting.front().and_then(Waiting::stored) {
            out.write_all(stored)?;
            let len = stored.len();
            let Some(written) = self.waiting.pop_front() else { break };
            self.first += 1;
            self.bytes -= written.len;
            writer.stored(written.ticket, len)?;
            if let Some(raw) = written.raw {
                writer.recycle(Cow::Owned(raw));
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Error> {
        let packed = self.packed.recv().map_err(std::io::Error::other)?;
        self.take(packed)
    }

    fn take(&mut self, packed: Packed) -> Result<(), Error> {
        let Packed { number, frame, raw } = packed;
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(waiting) = place.and_then(|place| self.waiting.get_mut(place)) {
            (waiting.state, waiting.raw) = (State::Packed(frame.map_err(block_error)?), raw);
        }
        Ok(())
    }
}

/// What is wrong with a block that cannot be compressed.
pub(crate) fn block_error(kind: ErrorKind) -> Error {
    core_codec::Error::new("block", kind).into()
}
