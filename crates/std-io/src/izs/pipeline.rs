//! Compresses blocks on several threads while more of them are made, and writes them in their order.
//!
//! The thread that makes blocks is one of them: it compresses, too, when enough are under way, so that no thread more
//! than was asked for takes a processor from the others.

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

/// Bytes of memory that blocks under way hold at once, unless there are no more blocks than other threads. So much that
/// these find some while the caller's compresses one, too, and so little that it stays near the processor.
const MOST_BYTES: usize = 8 << 20;

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

/// A block to compress.
#[derive(Debug)]
struct Task<'a> {
    number: u64,
    level: u8,
    raw: Cow<'a, [u8]>,
}

/// Blocks that no thread works on yet.
type Queue<'a> = Arc<Mutex<VecDeque<Task<'a>>>>;

fn next<'a>(queue: &Queue<'a>) -> Option<Task<'a>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// What a thread has made of a block.
#[derive(Debug)]
struct Packed {
    number: u64,
    frame: Result<Vec<u8>, ErrorKind>,
    /// The block in memory of its own, to use again.
    raw: Option<Vec<u8>>,
}

impl Task<'_> {
    fn pack(self, encoders: &Encoders) -> Packed {
        let Self { number, level, raw } = self;
        let frame = encoders.with(|encoder| encoder.encode(level, &raw).map(<[u8]>::to_vec));
        let raw = match raw {
            Cow::Owned(raw) => Some(raw),
            Cow::Borrowed(_) => None,
        };
        Packed { number, frame, raw }
    }
}

/// A block whose turn to be written has not come.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    /// Bytes of memory that it holds: elements, then the frame.
    held: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// A thread works on it, or will.
    UnderWay,
    /// It is stored as a frame.
    Packed(Vec<u8>),
    /// It is stored as it is.
    Plain(Vec<u8>),
}

impl Waiting {
    /// What is stored, once it is there.
    fn stored(&self) -> Option<&[u8]> {
        match &self.state {
            State::UnderWay => None,
            State::Packed(stored) | State::Plain(stored) => Some(stored),
        }
    }
}

/// Where blocks in the memory of the caller of a push are compressed: all of them before it returns.
pub(crate) struct Lent<'a, 'scope> {
    scope: &'a Scope<'scope>,
    queue: Queue<'scope>,
}

/// The blocks that are under way.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// The threads beside the caller's.
    pool: Arc<ThreadPool>,
    encoders: Arc<Encoders>,
    /// Those in memory of their own.
    queue: Queue<'static>,
    sender: Sender<Packed>,
    packed: Receiver<Packed>,
    /// In the order of the file.
    waiting: VecDeque<Waiting>,
    /// Number of the first of them.
    first: u64,
    /// Bytes of memory that all of them hold.
    held: usize,
}

impl<'a, 'scope> Lent<'a, 'scope> {
    pub(crate) fn new(scope: &'a Scope<'scope>) -> Self {
        Self { scope, queue: Queue::default() }
    }
}

impl Pipeline {
    /// Compresses on so many threads, of which the caller's is one.
    pub(crate) fn new(threads: usize, encoders: Arc<Encoders>) -> Result<Self, Error> {
        let others = threads.saturating_sub(1).max(1);
        let pool = ThreadPoolBuilder::new().num_threads(others).build().map_err(std::io::Error::other)?;
        let (sender, packed) = mpsc::channel();
        Ok(Self {
            pool: Arc::new(pool),
            encoders,
            queue: Queue::default(),
            sender,
            packed,
            waiting: VecDeque::new(),
            first: 0,
            held: 0,
        })
    }

    /// The threads that compress beside the caller's.
    pub(crate) fn pool(&self) -> Arc<ThreadPool> {
        self.pool.clone()
    }

    /// Takes the next block; without a scope, one in the caller's memory is copied.
    pub(crate) fn submit<'scope>(&mut self, job: Job<'scope>, lent: Option<&Lent<'_, 'scope>>) {
        let Job { ticket, raw, encoding } = job;
        let held = raw.len();
        let number = self.first + self.waiting.len() as u64;
        let mut waiting = Waiting { ticket, held, state: State::UnderWay };
        match (encoding, lent) {
            (Encoding::None, _) => waiting.state = State::Plain(raw.into_owned()),
            (Encoding::Zstd { level }, Some(Lent { scope, queue })) => {
                let work = self.enqueue(queue, Task { number, level, raw });
                scope.spawn(move |_| work());
            }
            (Encoding::Zstd { level }, None) => {
                let raw = Cow::Owned(raw.into_owned());
                let work = self.enqueue(&self.queue, Task { number, level, raw });
                self.pool.spawn(work);
            }
        }
        self.waiting.push_back(waiting);
        self.held += held;
    }

    /// What a thread does for a task in the queue: the first that is left, if any is.
    fn enqueue<'scope>(
        &self,
        queue: &Queue<'scope>,
        task: Task<'scope>,
    ) -> impl FnOnce() + Send + use<'scope> {
        queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
        let (queue, encoders, sender) = (queue.clone(), self.encoders.clone(), self.sender.clone());
        move || {
            if let Some(task) = next(&queue) {
                // The receiver is gone only when the writer is.
                let _ = sender.send(task.pack(&encoders));
            }
        }
    }

    /// Whether nothing is under way, so that a block that needs no compressing can be written at once.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes the blocks that are ready; compresses itself, or waits, only when too much is under way.
    pub(crate) fn write_some(
        &mut self,
        writer: &mut Writer,
        out: &mut impl Write,
        lent: Option<&Lent>,
    ) -> Result<(), Error> {
        while let Ok(packed) = self.packed.try_recv() {
            self.take(packed, writer)?;
        }
        loop {
            self.write_ready(writer, out)?;
            if self.held < MOST_BYTES || self.waiting.len() <= self.pool.current_num_threads() {
                return Ok(());
            }
            self.work_or_wait(writer, lent)?;
        }
    }

    /// Compresses what is left of the caller's memory, together with the other threads.
    pub(crate) fn use_up(&mut self, writer: &mut Writer, lent: &Lent) -> Result<(), Error> {
        while let Some(task) = next(&lent.queue) {
            self.take(task.pack(&self.encoders), writer)?;
        }
        Ok(())
    }

    /// Compresses and writes all blocks.
    pub(crate) fn write_all(&mut self, writer: &mut Writer, out: &mut impl Write) -> Result<(), Error> {
        loop {
            self.write_ready(writer, out)?;
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.work_or_wait(writer, None)?;
        }
    }

    fn write_ready(&mut self, writer: &mut Writer, out: &mut impl Write) -> Result<(), Error> {
        while let Some(stored) = self.waiting.front().and_then(Waiting::stored) {
            out.write_all(stored)?;
            let len = stored.len();
            let Some(written) = self.waiting.pop_front() else { break };
            self.first += 1;
            self.held -= written.held;
            writer.stored(written.ticket, len)?;
            if let State::Plain(raw) = written.state {
                writer.recycle(Cow::Owned(raw));
            }
        }
        Ok(())
    }

    /// Takes what another thread has made of a block, or compresses one itself, or waits for the other threads.
    fn work_or_wait(&mut self, writer: &mut Writer, lent: Option<&Lent>) -> Result<(), Error> {
        if let Ok(packed) = self.packed.try_recv() {
            return self.take(packed, writer);
        }
        let packed = match next(&self.queue).or_else(|| lent.and_then(|lent| next(&lent.queue))) {
            Some(task) => task.pack(&self.encoders),
            None => self.packed.recv().map_err(std::io::Error::other)?,
        };
        self.take(packed, writer)
    }

    fn take(&mut self, packed: Packed, writer: &mut Writer) -> Result<(), Error> {
        let Packed { number, frame, raw } = packed;
        if let Some(raw) = raw {
            writer.recycle(Cow::Owned(raw));
        }
        let frame = frame.map_err(block_error)?;
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(waiting) = place.and_then(|place| self.waiting.get_mut(place)) {
            self.held = self.held - waiting.held + frame.len();
            waiting.held = frame.len();
            waiting.state = State::Packed(frame);
        }
        Ok(())
    }
}

/// What is wrong with a block that cannot be compressed.
pub(crate) fn block_error(kind: ErrorKind) -> Error {
    core_codec::Error::new("block", kind).into()
}
