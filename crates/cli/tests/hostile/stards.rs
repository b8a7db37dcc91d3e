//! What small StarDS files can cost that promise much.

use crate::support::{run_on, said, zeros};
use core_codec::Limits;
use core_codec::source::complete;
use core_codec::stards::{BASE_LAYER, Compression, DataType, Dataset, Draft};

/// A file with one array of one ZSTD block, which decodes to zeros.
fn file_of_zeros(dtype: DataType, elements: u64, decoded: u64) -> Vec<u8> {
    file_of(&zeros(decoded as usize), Compression::Zstd, dtype, elements, decoded)
}

/// A file with one array of one block.
fn file_of(block: &[u8], codec: Compression, dtype: DataType, elements: u64, decoded: u64) -> Vec<u8> {
    let mut draft = Draft::new();
    draft
        .put_bytes(BASE_LAYER, "a", DataType::Uint8, &[block.len() as u64], block, Compression::None)
        .unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    let dataset = complete(Dataset::open(&file[..], &Limits::default())).unwrap();
    // Behind key, position and total bytes; type, dimensions, shape, codec, block size, blocks, offset, stored, decoded.
    let entry = dataset.arrays()[0].entry_offset() as usize + 2 + 8 + 8;
    let mut put = |at: usize, bytes: &[u8]| file[entry + at..][..bytes.len()].copy_from_slice(bytes);
    put(0, &[dtype.code()]);
    put(9, &elements.to_le_bytes());
    put(17, &[codec.code()]);
    put(50, &decoded.to_le_bytes());
    file
}

#[test]
fn blocks_and_strings_are_bounded() {
    let gib = 1 << 30;
    let small = file_of_zeros(DataType::Uint8, 1 << 20, 1 << 20);
    let block = file_of_zeros(DataType::Uint8, gib, gib);
    let strings = file_of_zeros(DataType::String, gib / 4 - 1, gib);
    assert!(strings.len() < 40_000);
    for command in [&["digest"][..], &["verify"], &["cat", "FILE", "a", "--range", "0..2"]] {
        let (text, code) = said(run_on(&small, command));
        assert_eq!(code, Some(0), "{command:?}: {text}");
        for file in [&block, &strings] {
            let (text, code) = said(run_on(file, command));
            assert_eq!(code, Some(1), "{command:?}: {text}");
            assert!(
                text.contains("decoded bytes of a block: 1073741824 is over the limit of 67108864"),
                "{text}"
            );
        }
    }
}

/// The bytes of all strings fit, the places of them do not.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_there_is_an_error() {
    let strings = file_of_zeros(DataType::String, (10 << 20) - 1, 40 << 20);
    let (text, code) = said(run_on(&strings, &["digest"]));
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = said(run_on(&strings, &["cat", "FILE", "a", "--range", "0..2"]));
    assert_eq!((&*text, code), ("index,value\n0,\n1,\n", Some(0)));
    let (text, code) = said(run_on(&strings, &["cat", "FILE", "a", "--slice", "::-1"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("bytes of memory, more than the system gives"), "{text}");
}

/// An LZ4 block of so many zeros: one, a match that repeats it, and the five literals at the end.
fn lz4_zeros(len: usize) -> Vec<u8> {
    let more = len - 1 - 5 - 4 - 15;
    let mut block = vec![0x1f, 0, 1, 0];
    block.extend(std::iter::repeat_n(0xff, more / 255));
    block.extend([(more % 255) as u8, 0x50, 0, 0, 0, 0, 0]);
    block
}

/// A block of the largest size is never there twice, nor in parts a thread.
#[test]
fn the_largest_blocks_are_read_in_little_memory() {
    let len = 64 << 20;
    let gzip =
        core_codec::codec::deflate::encode(&vec![0; len], 1, core_codec::codec::deflate::Framing::Zlib);
    let lz4 = lz4_zeros(len);
    for (block, codec) in [
        (&gzip, Compression::Gzip),
        (&lz4, Compression::Lz4),
        (&gzip, Compression::GzipShuffle),
        (&lz4, Compression::Lz4Shuffle),
    ] {
        let file = file_of(block, codec, DataType::Uint16, len as u64 / 2, len as u64);
        for command in [&["digest"][..], &["verify"], &["cat", "FILE", "a", "--slice", "::-16777216"]] {
            let (text, code) = said(run_on(&file, command));
            assert_eq!(code, Some(0), "{codec:?} {command:?}: {text}");
        }
    }
}

#[test]
fn a_long_string_is_held_once() {
    let len = 30 << 20;
    let mut payload = (len as u32 + 4).to_le_bytes().to_vec();
    payload.extend((len as u32).to_le_bytes());
    payload.extend(std::iter::repeat_n(b'x', len));
    let block = core_codec::codec::deflate::encode(&payload, 1, core_codec::codec::deflate::Framing::Zlib);
    let array = file_of(&block, Compression::Gzip, DataType::String, 1, payload.len() as u64);
    let mut draft = Draft::new();
    draft.set_metadata_compression(Compression::None).unwrap();
    draft.set_metadata(BASE_LAYER, "a", str::from_utf8(&payload[8..]).unwrap()).unwrap();
    let metadata = draft.to_bytes(&[][..]).unwrap();
    for file in [&array, &metadata] {
        for command in [
            &["digest"][..],
            &["info"],
            &["info", "--json"],
            &["verify"],
            &["cat", "FILE", "a"],
            &["cat", "FILE", "a", "--format", "json"],
        ] {
            let output = run_on(file, command);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{command:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// The layers have one metadata key of 60,000 bytes: 60 MB of names in all.
#[test]
fn names_are_printed_and_forgotten() {
    let key = "k".repeat(60_000);
    let mut draft = Draft::new();
    for layer in 0..1000 {
        let layer = format!("{layer}");
        draft.add_layer(&layer).unwrap();
        draft.set_metadata(&layer, &key, 1u8).unwrap();
    }
    let file = draft.to_bytes(&[][..]).unwrap();
    for command in [&["ls"][..], &["info"], &["info", "--json"], &["ls", "--json"], &["digest"]] {
        let output = run_on(&file, command);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert!(output.stdout.len() > 60_000_000);
    }
}
