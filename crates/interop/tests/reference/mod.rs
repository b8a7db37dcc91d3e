//! What crate `iguazu` 0.0.1 and we read of the same file.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::Path;
use std::sync::Arc;

use async_executor::Executor;
use futures_lite::future;
use iguazu::export::IZS;
use iguazu::import::{Importer, IzsImporter};
use iguazu::io::{FsFile, FsWritableFile};
use iguazu::schema::EntityStream;
use iguazu::storage::Pool;
use iguazu::stream::ArcStream;
use std_io::IzsFile;

/// What the reference reads: the element bytes of the streams, each entity's data and levels before its children.
pub(crate) fn by_reference(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let executor = Arc::new(Executor::new());
    let read = async {
        let entity = open(path, &executor).await?;
        let mut streams = Vec::new();
        collect(&entity, &mut streams);
        let mut all = Vec::new();
        for stream in streams {
            all.push(read_all(stream).await?);
        }
        Ok(all)
    };
    future::block_on(executor.run(read))
}

/// Has the reference read a file and write it again.
pub(crate) fn rewrite(path: &Path, to: &Path) -> Result<(), String> {
    let executor = Arc::new(Executor::new());
    let write = async {
        let entity = open(path, &executor).await?;
        let file = FsWritableFile::new(to).map_err(|error| error.to_string())?;
        IZS.export(Box::new(file), executor.clone(), entity).await.map_err(|error| error.to_string())
    };
    future::block_on(executor.run(write))
}

/// What the reference takes a file for.
pub(crate) async fn open(path: &Path, executor: &Arc<Executor<'static>>) -> Result<EntityStream, String> {
    let pool = Arc::new(Pool::new(executor.clone(), 64 << 20));
    let file = FsFile::open(path.to_owned()).await.map_err(|error| error.to_string())?;
    let imported = IzsImporter::new().import(Arc::new(file), None, pool).await;
    let (entity, rest) = imported.map_err(|error| error.to_string())?;
    rest.await.map_err(|error| error.to_string())?;
    Ok(entity)
}

fn collect(entity: &EntityStream, streams: &mut Vec<ArcStream>) {
    match entity {
        EntityStream::Group { children, .. } | EntityStream::Record { children, .. } => {
            children.values().for_each(|child| collect(child, streams));
        }
        EntityStream::FixedArray { child, .. } | EntityStream::Tuple { child, .. } => collect(child, streams),
        EntityStream::VariableArray { data, child, .. } => {
            streams.push(data.clone());
            collect(child, streams);
        }
        EntityStream::Union { data, variants, .. } => {
            streams.push(data.clone());
            variants.values().for_each(|child| collect(child, streams));
        }
        EntityStream::Data { data, summaries, .. } => {
            streams.push(data.clone());
            for key in ["bit_and_or", "range", "skip"] {
                streams.extend(summaries.get(key).levels.iter().cloned());
            }
        }
    }
}

async fn read_all(stream: ArcStream) -> Result<Vec<u8>, String> {
    let end = usize::try_from(stream.state().end).unwrap();
    let mut elements = stream.iter().await.map_err(|error| error.to_string())?;
    elements.read_to_vec(end).await
}

/// What we read of the same streams.
pub(crate) fn by_us(path: &Path) -> Vec<Vec<u8>> {
    let file = IzsFile::open(path).unwrap();
    let schema = file.schema();
    let streams = schema.streams();
    streams
        .map(|id| {
            let stream = file.stream(id).unwrap();
            stream.read_bytes(0..stream.len()).unwrap()
        })
        .collect()
}

/// Checks that both read the same.
pub(crate) fn agree(path: &Path) {
    let (theirs, ours) = (by_reference(path).unwrap(), by_us(path));
    assert!(!ours.is_empty(), "{}", path.display());
    assert_eq!(theirs.len(), ours.len(), "{}", path.display());
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert!(theirs == ours, "{}: stream {number} differs", path.display());
    }
}
