//! Crate `iguazu` 0.0.1, the released implementation of `.izs`, and ours read the same from the same file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_executor::Executor;
use futures_lite::future;
use iguazu::import::{Importer, IzsImporter};
use iguazu::io::FsFile;
use iguazu::schema::EntityStream;
use iguazu::storage::Pool;
use iguazu::stream::ArcStream;
use std_io::IzsFile;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs/v001")
}

/// What the reference reads: the element bytes of the data streams, parents first.
fn by_reference(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let executor = Arc::new(Executor::new());
    let pool = Arc::new(Pool::new(executor.clone(), 64 << 20));
    let read = async {
        let file = FsFile::open(path.to_owned()).await.map_err(|error| error.to_string())?;
        let imported = IzsImporter::new().import(Arc::new(file), None, pool).await;
        let (entity, rest) = imported.map_err(|error| error.to_string())?;
        rest.await.map_err(|error| error.to_string())?;
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
        EntityStream::Data { data, .. } => streams.push(data.clone()),
    }
}

async fn read_all(stream: ArcStream) -> Result<Vec<u8>, String> {
    let end = usize::try_from(stream.state().end).unwrap();
    let mut elements = stream.iter().await.map_err(|error| error.to_string())?;
    elements.read_to_vec(end).await
}

/// What we read of the same streams.
fn by_us(path: &Path) -> Vec<Vec<u8>> {
    let file = IzsFile::open(path).unwrap();
    let schema = file.schema();
    let data = schema.entities().filter_map(|entity| schema[entity].data());
    data.map(|id| {
        let stream = file.stream(id).unwrap();
        stream.read_bytes(0..stream.len()).unwrap()
    })
    .collect()
}

fn agree(path: &Path) {
    let (theirs, ours) = (by_reference(path).unwrap(), by_us(path));
    assert!(!ours.is_empty(), "{}", path.display());
    assert_eq!(theirs.len(), ours.len(), "{}", path.display());
    for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert!(theirs == ours, "{}: stream {number} differs", path.display());
    }
}

#[test]
fn both_read_the_same_of_its_own_files() {
    let mut count = 0;
    for entry in std::fs::read_dir(testdata()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "izs") {
            agree(&path);
            count += 1;
        }
    }
    assert!(count >= 10);
}

/// Otherwise nobody would need dialect V.
#[test]
fn it_refuses_the_keys_of_the_specification() {
    assert!(by_reference(&testdata().join("../enum3_u8.izs")).is_err());
}
