//! Crate `iguazu` 0.0.1, the released implementation of `.izs`, and ours read the same from the same file.

use std::path::{Path, PathBuf};

use core_codec::izs::{Attribute, Dialect, Entity, Memory, Recorder, Schema, Stream as RecordStream};
use micro_zstd::Rle;

mod reference;

use reference::{agree, by_reference, by_us};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/izs/v001")
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
