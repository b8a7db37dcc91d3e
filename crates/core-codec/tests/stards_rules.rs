//! The bytes that are written, and each rule that a valid file keeps ("Validation"): a file that breaks it alone is
//! found out. Then each oddity that `verify` warns of.

use core_codec::source::complete;
use core_codec::stards::{BASE_LAYER, Compression, Dataset, Draft, Finding, Storage, Tensor, hash};
use core_codec::{Error, ErrorKind, Limits, Severity};

/// Two arrays, one of them in a layer, and one metadata key.
fn sample() -> Vec<u8> {
    let mut draft = Draft::new();
    draft.add_layer("L").unwrap();
    draft.set_metadata_compression(Compression::None).unwrap();
    draft.put(BASE_LAYER, "a", &[1i16, -2][..], Compression::None).unwrap();
    draft.put("L", "b", 7u8, Compression::None).unwrap();
    draft.set_metadata(BASE_LAYER, "u", "m").unwrap();
    draft.to_bytes(&[][..]).unwrap()
}

// Offsets in the sample.
const KEYS: usize = 31;
const LAYERS: usize = KEYS + (2 + 1 + 8) + (2 + 13 + 8) + (2 + 1 + 8) * 2;
const BITMAPS: usize = LAYERS + (2 + 8 + 17) + (2 + 1 + 15);
const ENTRY_A: usize = BITMAPS + 2 * 8;
const ENTRY_B: usize = ENTRY_A + 44 + 8 + 24 + 1;
const HEADER: usize = ENTRY_B + 44 + 24 + 1;
/// Behind the position, total bytes and type: the number of dimensions.
const NDIM: usize = 2 + 8 + 8 + 1;

#[test]
fn a_file_byte_by_byte() {
    let le16 = |value: u16| value.to_le_bytes().to_vec();
    let le32 = |value: u32| value.to_le_bytes().to_vec();
    let le64 = |value: u64| value.to_le_bytes().to_vec();
    let name = |text: &str| [le16(text.len() as u16), text.as_bytes().to_vec()].concat();
    let key = |text: &str| [name(text), le64(hash(text.as_bytes()))].concat();
    let header = HEADER as u64;
    // The first array is aligned for its elements.
    let a = header.next_multiple_of(2);
    let expected = [
        b"STARDS\x01".to_vec(),
        le64(header),
        le64(2),
        le32(1),
        le32(4),
        // The storage keys in index order, the key in its layer, the metadata key.
        key("a"),
        key("__layer_L__:b"),
        key("b"),
        key("u"),
        // Layers: position, size, codec, keys.
        name("__base__"),
        le64(a + 5),
        le32(34),
        vec![0],
        le16(1),
        le16(3),
        name("L"),
        le64(0),
        le32(0),
        vec![0],
        le16(0),
        // Entry 0 is in the base layer; entry 1 in L, and so is the key "b", 2.
        le64(0b001),
        le64(0b110),
        // Index: key, position, bytes, type, shape, codec, block size, blocks, flag.
        le16(0),
        le64(a),
        le64(4),
        vec![1],
        le64(1),
        le64(2),
        vec![0],
        le64(1 << 20),
        le64(1),
        [le64(0), le64(4), le64(4)].concat(),
        vec![0],
        le16(1),
        le64(a + 4),
        le64(1),
        vec![4],
        le64(0),
        vec![0],
        le64(1 << 20),
        le64(1),
        [le64(0), le64(1), le64(1)].concat(),
        vec![0],
        vec![0; (a - header) as usize],
        vec![1, 0, 0xfe, 0xff],
        vec![7],
        // Metadata: magic, version, layer, count; key, type, dimensions, all strings, the string.
        b"STARMETA\x01".to_vec(),
        name("__base__"),
        le16(1),
        le16(3),
        vec![10, 0],
        le32(5),
        le32(1),
        b"m".to_vec(),
    ]
    .concat();
    assert_eq!(sample(), expected);
}

fn open(file: &[u8]) -> Result<Dataset, Error> {
    complete(Dataset::open(file, &Limits::default()))
}

fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = sample();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// The file cannot be opened.
fn refused(at: usize, bytes: &[u8]) -> Error {
    open(&changed(at, bytes)).unwrap_err()
}

fn findings(file: &[u8]) -> Vec<Finding> {
    complete(open(file).unwrap().verify(file)).unwrap()
}

/// The array "a" cannot be read, the rest can, and a verification says so.
fn unreadable(at: usize, bytes: &[u8]) -> Error {
    let file = changed(at, bytes);
    let dataset = open(&file).unwrap();
    assert_eq!(complete(dataset.array("L", "b").unwrap().read_vec::<u8, _>(&file[..])).unwrap(), [7]);
    assert_eq!(complete(dataset.metadata(&file[..], BASE_LAYER)).unwrap().len(), 1);
    let error = complete(dataset.array(BASE_LAYER, "a").unwrap().read(&file[..])).unwrap_err();
    let found = findings(&file);
    assert!(
        found.iter().any(|finding| finding.severity == Severity::Error && finding.error == error),
        "{found:?}"
    );
    error
}

#[test]
fn the_sample_is_valid() {
    assert_eq!(findings(&sample()), []);
}

#[test]
fn rule_1_magic() {
    let error = refused(5, b"X");
    assert!(matches!(error.kind(), ErrorKind::Magic { .. }));
    assert_eq!((error.structure(), error.offset()), ("file header", Some(0)));
}

#[test]
fn rule_2_version() {
    for version in [0, 2, 255] {
        let error = refused(6, &[version]);
        assert!(matches!(error.kind(), ErrorKind::Mismatch { what: "format version", expected: 1, .. }));
        assert_eq!(error.offset(), Some(6));
    }
}

#[test]
fn rule_3_header_size() {
    let size = |size: u64| size.to_le_bytes();
    assert!(matches!(refused(7, &size(30)).kind(), ErrorKind::OutOfRange { what: "header size", .. }));
    assert!(matches!(refused(7, &size(u64::MAX)).kind(), ErrorKind::Truncated { .. }));
    // Shorter than its content.
    assert!(matches!(refused(7, &size(HEADER as u64 - 1)).kind(), ErrorKind::Truncated { .. }));
    // Longer, by bytes that are not zero.
    let found = findings(&changed(7, &size(HEADER as u64 + 2)));
    assert!(found.iter().any(|finding| finding.severity == Severity::Error
        && finding.error.structure() == "header section"
        && finding.error.offset() == Some(HEADER as u64)));
}

#[test]
fn a_header_may_be_padded_with_zeros() {
    let mut file = sample();
    file.splice(HEADER..HEADER, [0; 8]);
    file[7..15].copy_from_slice(&(HEADER as u64 + 8).to_le_bytes());
    for position in [LAYERS + 10, ENTRY_A + 2, ENTRY_B + 2] {
        let moved = u64::from_le_bytes(file[position..position + 8].try_into().unwrap()) + 8;
        file[position..position + 8].copy_from_slice(&moved.to_le_bytes());
    }
    assert_eq!(findings(&file), []);
}

#[test]
fn rule_4_entry_count() {
    // One more than there are; so many that each takes a bitmap word more; more than any file has.
    for count in [3, 65, u64::MAX] {
        refused(15, &u64::to_le_bytes(count));
    }
    // One less: its bytes are left over.
    assert!(findings(&changed(15, &[1])).iter().any(|finding| finding.severity == Severity::Error));
}

/// The other counts of the file header.
#[test]
fn counts_of_layers_and_keys() {
    for (at, count) in [(23, 0), (23, 2), (23, u32::MAX), (27, 0), (27, 3), (27, 5), (27, u32::MAX)] {
        let error = refused(at, &u32::to_le_bytes(count));
        assert!(error.offset().is_some(), "{count}: {error}");
    }
}

#[test]
fn rule_5_positions() {
    let far = u64::MAX.to_le_bytes();
    let error = unreadable(ENTRY_A + 2, &far);
    assert!(matches!(error.kind(), ErrorKind::Truncated { .. }) && error.structure() == "block");
    // Offset, stored size and decoded size of its block.
    let block = ENTRY_A + NDIM + 8 + 8 + 1 + 8 + 8;
    for at in [block, block + 8] {
        assert!(matches!(unreadable(at, &far).kind(), ErrorKind::Truncated { .. }));
    }
    assert!(matches!(unreadable(block + 16, &far).kind(), ErrorKind::Mismatch { .. }));
    // The metadata block: position and size.
    for (at, bytes) in [(LAYERS + 10, &far[..]), (LAYERS + 18, &far[..4])] {
        let file = changed(at, bytes);
        let dataset = open(&file).unwrap();
        let error = complete(dataset.metadata(&file[..], BASE_LAYER)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { .. }));
        assert!(findings(&file).iter().any(|finding| finding.error == error));
    }
    // Inside the file, but inside the header.
    let file = changed(ENTRY_A + 2, &[0; 8]);
    assert!(findings(&file).iter().any(|finding| finding.severity == Severity::Error));
}

#[test]
fn rule_6_key_indices() {
    for at in [ENTRY_A, ENTRY_B, LAYERS + 25] {
        let error = refused(at, &[4, 0]);
        assert!(matches!(
            error.kind(),
            ErrorKind::OutOfRange { what: "key index", min: 0, max: 3, found: 4 }
        ));
    }
    // In the metadata block itself.
    let mut file = sample();
    let entry = file.len() - 13;
    file[entry] = 4;
    let error = complete(open(&file).unwrap().metadata(&file[..], BASE_LAYER)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfRange { what: "key index", .. }));
}

#[test]
fn rule_7_enumerations() {
    for (at, codes) in [(ENTRY_A + NDIM - 1, 11..=255u8), (ENTRY_A + NDIM + 16, 6..=255)] {
        for code in codes {
            assert!(matches!(unreadable(at, &[code]).kind(), ErrorKind::Unsupported(_)));
        }
    }
    // Of metadata: the codec of the block (ZSTD and shuffles are none), the type of a value.
    for code in [2, 4, 5, 6, 255] {
        let file = changed(LAYERS + 22, &[code]);
        let error = complete(open(&file).unwrap().metadata(&file[..], BASE_LAYER)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
    }
    let mut file = sample();
    let dtype = file.len() - 11;
    file[dtype] = 11;
    let entries = complete(open(&file).unwrap().metadata(&file[..], BASE_LAYER)).unwrap();
    assert!(matches!(entries[0].value.as_ref().unwrap_err().kind(), ErrorKind::Unsupported("data type")));
}

/// The one warning about a file that differs from the sample in a few bytes.
fn warning(at: usize, bytes: &[u8]) -> String {
    let found = findings(&changed(at, bytes));
    assert!(found.iter().all(|finding| finding.severity == Severity::Warning), "{found:#?}");
    found.iter().map(|finding| finding.error.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn oddities_are_warned_of() {
    assert!(
        warning(KEYS + 3, &[0; 8])
            .contains("hashes of keys that are not those of GCC's standard library: 1 of 4")
    );
    assert!(warning(BITMAPS, &[0]).contains("that its bitmap does not mark: 1 of "));
    assert!(warning(ENTRY_A + 10, &[9]).contains("total bytes: expected 4, found 9"));
    // "b" in place of "a": two arrays of no layer and a layer, and "a" unused.
    assert!(warning(ENTRY_A, &[2]).contains("no array and no metadata uses the key"));
    let hidden = warning(ENTRY_A, &[1]);
    assert!(hidden.contains("a later array has the same key and hides it"), "{hidden}");
    let renamed = warning(LAYERS + 29, b"K");
    assert!(renamed.contains("the prefix of a layer that does not exist"), "{renamed}");
    let mut longer = sample();
    longer.extend([0; 100]);
    assert!(findings(&longer)[0].error.to_string().contains("bytes that nothing uses: 100 bytes"));
    // The length of all strings, which the reference does not look at.
    let mut strings = sample();
    let total = strings.len() - 9;
    strings[total] = 200;
    assert_eq!(findings(&strings), []);
}

#[test]
fn an_array_that_is_flagged_as_metadata_says_so() {
    let error = unreadable(ENTRY_B - 1, &[1]);
    assert!(error.to_string().contains("its flag is not 0"), "{error}");
}

/// No string takes no bytes, or those of the length of all.
#[test]
fn strings_that_the_shape_does_not_have_are_an_error() {
    let mut draft = Draft::new();
    let none = Tensor::strings(&[0], []).unwrap();
    draft.put(BASE_LAYER, "s", none, Compression::None).unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    assert_eq!(findings(&file), []);
    file.extend([0; 4]);
    let block = open(&file).unwrap().arrays()[0].entry_offset() as usize + NDIM + 8 + 8 + 1 + 8 + 8;
    for (len, is_error) in [(0u64, false), (1, true), (3, true), (4, false), (8, true)] {
        for at in [block + 8, block + 16] {
            file[at..at + 8].copy_from_slice(&len.to_le_bytes());
        }
        let dataset = open(&file).unwrap();
        let array = &dataset.arrays()[0];
        assert_eq!(complete(array.read(&file[..])).is_err(), is_error, "{len}");
        assert_eq!(complete(array.read_slice(&file[..], &[])).is_err(), is_error, "{len}");
        let found = findings(&file);
        assert_eq!(found.iter().any(|finding| finding.severity == Severity::Error), is_error, "{len}");
    }
    // One string, and nothing that it could be made of.
    file[block - 8 - 8 - 1 - 8..][..8].copy_from_slice(&1u64.to_le_bytes());
    for len in [0u64, 4] {
        for at in [block + 8, block + 16] {
            file[at..at + 8].copy_from_slice(&len.to_le_bytes());
        }
        let error = open(&file).unwrap().arrays()[0].content().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfRange { .. }), "{error}");
    }
}

/// The label says NONE, the block is a zlib stream: what the reference leaves behind when it saves a copy.
#[test]
fn a_wrong_codec_label_is_no_silent_garbage() {
    let mut draft = Draft::new();
    draft.put(BASE_LAYER, "x", &[0u32; 1000][..], Compression::Gzip).unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    let dataset = open(&file).unwrap();
    let at = dataset.array(BASE_LAYER, "x").unwrap().entry_offset() as usize + NDIM + 16;
    assert_eq!(file[at], Compression::Gzip.code());
    for code in [Compression::None, Compression::Lz4].map(Compression::code) {
        file[at] = code;
        let dataset = open(&file).unwrap();
        assert!(complete(dataset.array(BASE_LAYER, "x").unwrap().read(&file[..])).is_err());
    }
}

#[test]
fn gzip_members_are_read_and_warned_of() {
    use core_codec::codec::deflate::{Framing, encode};
    let mut draft = Draft::new();
    draft.put(BASE_LAYER, "x", &[5u8; 100][..], Compression::Gzip).unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    let content = open(&file).unwrap();
    let array = content.array(BASE_LAYER, "x").unwrap();
    let stored = array.content().unwrap().blocks()[0].stored.clone();
    let member = encode(&[5; 100], 6, Framing::Gzip);
    file.truncate(stored.start as usize);
    file.extend(&member);
    let block = array.entry_offset() as usize + NDIM + 8 + 8 + 1 + 8 + 8;
    for at in [array.entry_offset() as usize + 10, block + 8] {
        file[at..at + 8].copy_from_slice(&(member.len() as u64).to_le_bytes());
    }
    let dataset = open(&file).unwrap();
    let read = complete(dataset.array(BASE_LAYER, "x").unwrap().read_vec::<u8, _>(&file[..])).unwrap();
    assert_eq!(read, [5; 100]);
    let found = findings(&file);
    assert!(found.len() == 1 && found[0].error.to_string().contains("gzip framing"), "{found:?}");
}

/// Of blocks that are decoded whole and in pieces, of numbers and strings, and of metadata.
#[cfg(feature = "deflate")]
#[test]
fn bytes_after_a_compressed_stream_are_warned_of() {
    let large = vec![5u8; 5 << 20];
    let arrays: [fn(&mut Draft<'_>, &[u8]); 3] = [
        |draft, _| draft.put(BASE_LAYER, "x", &[5u8; 100][..], Compression::Gzip).unwrap(),
        |draft, large| {
            let storage = Storage { block_size: Some(8 << 20), ..Compression::Gzip.into() };
            draft.put(BASE_LAYER, "x", large, storage).unwrap();
        },
        |draft, _| draft.put(BASE_LAYER, "x", "text", Compression::Gzip).unwrap(),
    ];
    for put in arrays {
        let mut draft = Draft::new();
        put(&mut draft, &large);
        let mut file = draft.to_bytes(&[][..]).unwrap();
        assert_eq!(findings(&file), []);
        file.extend(b"junk");
        let dataset = open(&file).unwrap();
        let array = dataset.array(BASE_LAYER, "x").unwrap();
        let longer = (array.stored_len() + 4).to_le_bytes();
        let total = array.entry_offset() as usize + 10;
        // Behind the number of dimensions: the sizes, codec, block size, blocks, offset.
        let stored = array.entry_offset() as usize + NDIM + 8 + 8 * array.shape().len() + 1 + 8 + 8 + 8;
        for at in [total, stored] {
            file[at..at + 8].copy_from_slice(&longer);
        }
        let found = findings(&file);
        assert!(found.len() == 1 && found[0].severity == Severity::Warning, "{found:?}");
        assert!(found[0].error.to_string().contains("after the compressed stream: 4 bytes"), "{found:?}");
        assert_eq!(found[0].error.offset(), Some(file.len() as u64 - 4));
    }
    let mut draft = Draft::new();
    draft.set_metadata_compression(Compression::Gzip).unwrap();
    draft.set_metadata(BASE_LAYER, "m", 7u8).unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    assert_eq!(findings(&file), []);
    file.extend(b"junk");
    // The stored size of the block: behind the key, the name of the layer and the position.
    file[KEYS + (2 + 1 + 8) + (2 + 8) + 8] += 4;
    let found = findings(&file);
    assert!(found.len() == 1 && found[0].severity == Severity::Warning, "{found:?}");
    assert!(found[0].error.to_string().contains("after the compressed stream: 4 bytes"), "{found:?}");
}
