//! Crate `iguazu` 0.0.1, writing and reading in memory and in files.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_executor::Executor;
use futures_lite::{AsyncBufRead, AsyncWrite, future};
use iguazu::ElementSize;
use iguazu::import::{Importer, IzsImporter};
use iguazu::io::{FsFile, FsWritableFile, ReadableFile, RelativePath, WritableFile};
use iguazu::schema::{EntityStream, FieldKind};
use iguazu::storage::{MemoryStorage, MemoryStream, Pool, Storage};
use iguazu::stream::{ArcStream, IterState};
use url::Url;

/// Samples in its own memory.
pub struct Samples {
    stream: ArcStream,
    kind: FieldKind,
}

impl Samples {
    /// Copies bytes into its memory: logic of 8 bits, or a 12-bit converter.
    #[must_use]
    pub fn new(bytes: &[u8], adc: bool) -> Self {
        let (element, kind) = if adc {
            (ElementSize::U16, FieldKind::Int { bits: 12 })
        } else {
            (ElementSize::U8, FieldKind::Bits { bits: 8 })
        };
        Self { stream: MemoryStream::raw(element, bytes), kind }
    }

    fn entity(&self, executor: &Arc<Executor<'static>>, summaries: bool) -> EntityStream {
        let mut entity = EntityStream::field_data(self.kind.clone(), self.stream.clone());
        if summaries {
            let storage = Arc::new(MemoryStorage) as Arc<dyn Storage>;
            let tasks = entity.build_summaries(executor, &storage);
            future::block_on(executor.run(tasks)).expect("the reference builds summaries");
        }
        entity
    }

    /// Writes a file into memory.
    #[must_use]
    pub fn write(&self, summaries: bool) -> Vec<u8> {
        let file = Sink::default();
        self.export(Box::new(file.clone()), summaries);
        let mut bytes = file.0.lock().expect("nobody panics");
        std::mem::take(&mut *bytes)
    }

    /// Writes a file to the disk.
    pub fn write_to(&self, path: &Path) {
        self.export(Box::new(FsWritableFile::new(path).expect("a path")), false);
    }

    fn export(&self, file: Box<dyn WritableFile>, summaries: bool) {
        let executor = Arc::new(Executor::new());
        let entity = self.entity(&executor, summaries);
        let export = iguazu::export::IZS.export(file, executor.clone(), entity);
        future::block_on(executor.run(export)).expect("the reference writes");
    }
}

/// Reads all elements of the one stream of a file, block by block; returns how many bytes there were.
pub fn read(file: Arc<dyn ReadableFile>) -> usize {
    let executor = Arc::new(Executor::new());
    let run = executor.clone();
    future::block_on(run.run(async move {
        let mut elements = open(file, executor).await.iter().await.expect("an iterator");
        let size = elements.desc().element_size.bytes();
        let mut total = 0;
        loop {
            let len = poll_fn(|cx| match elements.poll_next(cx) {
                IterState::Partial(_) => Poll::Pending,
                IterState::Complete(bytes) => Poll::Ready(std::hint::black_box(bytes).len()),
                IterState::Error(error) => panic!("{error}"),
            })
            .await;
            if len == 0 {
                return total;
            }
            total += len;
            elements.consume(len / size);
        }
    }))
}

/// A stream of which single blocks are read.
pub struct Blocks {
    executor: Arc<Executor<'static>>,
    stream: ArcStream,
}

impl Blocks {
    /// Opens a file.
    #[must_use]
    pub fn open(file: Arc<dyn ReadableFile>) -> Self {
        let executor = Arc::new(Executor::new());
        let stream = future::block_on(executor.clone().run(open(file, executor.clone())));
        Self { executor, stream }
    }

    /// Decodes a block; returns its bytes.
    #[must_use]
    pub fn read(&self, block: u64) -> usize {
        let mut access = self.stream.clone().access();
        future::block_on(self.executor.run(poll_fn(|cx| {
            access.begin(cx.waker());
            let len = std::hint::black_box(access.get_block(block)).len();
            access.end();
            if len == 0 { Poll::Pending } else { Poll::Ready(len) }
        })))
    }
}

async fn open(file: Arc<dyn ReadableFile>, executor: Arc<Executor<'static>>) -> ArcStream {
    // No cache: each block is decoded when it is asked for.
    let pool = Arc::new(Pool::new(executor, 0));
    let (entity, rest) = IzsImporter::new().import(file, None, pool).await.expect("the reference reads");
    rest.await.expect("the reference reads");
    match entity {
        EntityStream::Data { data, .. } => data,
        _ => panic!("expected one stream"),
    }
}

/// A file on the disk, for the reference.
#[must_use]
pub fn on_disk(path: &Path) -> Arc<dyn ReadableFile> {
    Arc::new(future::block_on(FsFile::open(path.to_owned())).expect("the file opens"))
}

/// A file in memory, for the reference.
#[derive(Clone)]
pub struct InMemory(pub Arc<Vec<u8>>);

#[async_trait::async_trait]
impl ReadableFile for InMemory {
    fn filename(&self) -> Option<&str> {
        Some("memory.izs")
    }

    fn url(&self) -> Option<Url> {
        None
    }

    async fn relative(&self, _: &RelativePath) -> io::Result<Arc<dyn ReadableFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn get_len(self: Arc<Self>) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    async fn read_at(self: Arc<Self>, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        // As of a file, there may be less.
        let end = self.0.len().min(offset as usize + len);
        Ok(self.0[offset as usize..end].to_vec())
    }

    async fn stream(
        self: Arc<Self>,
        _: u64,
        _: Option<u64>,
    ) -> io::Result<Pin<Box<dyn AsyncBufRead + Send + Sync>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file in memory that the reference writes.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

#[async_trait::async_trait]
impl WritableFile for Sink {
    fn url(&self) -> Option<Url> {
        None
    }

    fn relative(&self, _: &RelativePath) -> Arc<dyn WritableFile> {
        Arc::new(self.clone())
    }

    async fn writer(&self) -> io::Result<Pin<Box<dyn AsyncWrite + Send>>> {
        Ok(Box::pin(self.clone()))
    }
}

impl AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
