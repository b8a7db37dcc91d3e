//! Crate `iguazu` 0.0.1, the released implementation of `.izs`, and ours read the same from the same file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_executor::Executor;
use core_codec::izs::{Attribute, Dialect, Entity, Memory, Recorder, Schema, Stream as RecordStream};
use futures_lite::future;
use iguazu::import::{Importer, IzsImporter};
use iguazu::io::FsFile;
use iguazu::schema::EntityStream;
use iguazu::storage::Pool;
use iguazu::stream::ArcStream;
use micro_zstd::Rle;
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

/// A recording with our one-pass writer: a direct logic stream, a staged uncompressed one, and the 64-bit
/// words of a third.
fn recorded(dialect: Dialect) -> Vec<u8> {
    const LOGIC: RecordStream<u8> = RecordStream::new(0).block(4096);
    const LEVEL: RecordStream<u16> = RecordStream::new(1).block(4096).uncompressed().staged(8192);
    const WORDS: RecordStream<u64> = RecordStream::new(2).block(4096).staged(8192);
    let lines = [("sda", Entity::bits(1)), ("scl", Entity::bits(1).at(1))];
    let offset = [("number:offset", Attribute::real(-5))];
    let children = [
        ("logic", Entity::bit_struct(&lines).data(LOGIC.def())),
        ("level", Entity::int(12).attributes(&offset).data(LEVEL.def())),
        ("words", Entity::bits(64).data(WORDS.def())),
    ];
    let schema = Schema::try_new(Entity::group(&children), dialect).unwrap();
    let mut memory = Memory::<Rle<256>, 3, 1024, { 8192 * (2 + 8) }>::new(Rle::new());
    let mut recorder = Recorder::new(&mut memory, &schema).unwrap();
    let mut file = Recorder::HEADER.to_vec();
    for round in 0..50u32 {
        let logic: Vec<u8> = (0..3000u32).map(|i| ((i / (round + 1)) & 3) as u8).collect();
        let level: Vec<u16> = (0..700u32).map(|i| (i * round % 4096) as u16).collect();
        let words: Vec<u64> = (0..300u64).map(|i| (i / 100) << round).collect();
        let mut pieces = recorder.push(LOGIC, &logic).unwrap();
        while let Some(piece) = pieces.next() {
            file.extend(piece);
        }
        let mut pieces = recorder.push(LEVEL, &level).unwrap();
        while let Some(piece) = pieces.next() {
            file.extend(piece);
        }
        let mut pieces = recorder.push(WORDS, &words).unwrap();
        while let Some(piece) = pieces.next() {
            file.extend(piece);
        }
    }
    let mut pieces = recorder.finish().unwrap();
    while let Some(piece) = pieces.next() {
        file.extend(piece);
    }
    file
}

#[test]
fn it_reads_what_we_record_in_its_dialect() {
    let path = tempfile::Builder::new().suffix(".izs").tempfile().unwrap().into_temp_path();
    std::fs::write(&path, recorded(Dialect::V001)).unwrap();
    agree(&path);
    let (theirs, ours) = (by_reference(&path).unwrap(), by_us(&path));
    assert_eq!(ours.iter().map(Vec::len).collect::<Vec<_>>(), [150_000, 70_000, 120_000]);
    assert_eq!(theirs, ours);
    // Samples of round 3, as they were pushed.
    assert_eq!(ours[0][9000..9012], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(ours[1][2 * 2101..][..2], 3u16.to_le_bytes());

    // In the dialect of the specification the samples are the same, but only we read them.
    let spec = tempfile::Builder::new().suffix(".izs").tempfile().unwrap().into_temp_path();
    std::fs::write(&spec, recorded(Dialect::Spec)).unwrap();
    assert_eq!(by_us(&spec), ours);
    assert!(by_reference(&spec).is_err());
}
