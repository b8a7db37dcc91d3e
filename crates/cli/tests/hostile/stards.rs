//! What small StarDS files can cost that promise much.

use crate::support::{run_on, said, zeros};
use core_codec::Limits;
use core_codec::source::complete;
use core_codec::stards::{BASE_LAYER, Compression, DataType, Dataset, Draft};

/// A file with one array of one ZSTD block, which decodes to zeros.
fn file_of_zeros(dtype: DataType, elements: u64, decoded: u64) -> Vec<u8> {
    let block = zeros(decoded as usize);
    let mut draft = Draft::new();
    draft
        .put_bytes(BASE_LAYER, "a", DataType::Uint8, &[block.len() as u64], &block, Compression::None)
        .unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    let dataset = complete(Dataset::open(&file[..], &Limits::default())).unwrap();
    // Behind key, position and total bytes; type, dimensions, shape, codec, block size, blocks, offset, stored, decoded.
    let entry = dataset.arrays()[0].entry_offset() as usize + 2 + 8 + 8;
    let mut put = |at: usize, bytes: &[u8]| file[entry + at..][..bytes.len()].copy_from_slice(bytes);
    put(0, &[dtype.code()]);
    put(9, &elements.to_le_bytes());
    put(17, &[Compression::Zstd.code()]);
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
