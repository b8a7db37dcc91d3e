//! Hostile files end in an error that names structure and offset, at once and within little memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use core_codec::source::complete;
use core_codec::stards::{Dataset, Slice};
use core_codec::{Error, Limits};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test at a time: the allocator counts for the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Everything that can be read is; the errors are returned.
fn read_all(file: &[u8]) -> Vec<Error> {
    let dataset = match complete(Dataset::open(file, &Limits::default())) {
        Ok(dataset) => dataset,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    for array in dataset.arrays() {
        let whole = complete(array.read(file));
        let backwards = vec![Slice::range(None, None, -1); array.shape().len()];
        let sliced = complete(array.read_slice(file, &backwards));
        // A slice does not look at blocks that hold nothing, which may be damaged.
        assert!(whole.is_err() || sliced.is_ok(), "{:?}", (whole, sliced));
        errors.extend(whole.err());
    }
    for layer in dataset.layers() {
        match complete(dataset.metadata(file, layer.name())) {
            Ok(entries) => errors.extend(entries.into_iter().filter_map(|entry| entry.value.err())),
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// As `read_all`, within a second and 64 MiB. A machine that is busy with something else gets more than one try.
fn read_within_bounds(file: &[u8], name: &str) -> Vec<Error> {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let timed = || {
        let start = Instant::now();
        (read_all(file), start.elapsed())
    };
    let (mut errors, mut took) = timed();
    for _ in 0..4 {
        if took >= Duration::from_secs(1) {
            (errors, took) = timed();
        }
    }
    assert!(took < Duration::from_secs(1), "{name} took {took:?}");
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(peak < 64 << 20, "{name} allocated {peak} bytes");
    errors
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stards-bad")
}

#[test]
fn each_hostile_file_is_refused_for_what_is_wrong_with_it() {
    let expected = [
        ("00_control_valid", ""),
        ("01_bad_magic", "file header at byte 0: expected the bytes"),
        ("02_wrong_version", "file header at byte 6: format version: expected 1, found 2"),
        ("03_truncated_header", "file header at byte 7: needs 165 bytes, only 90 are there"),
        ("04_truncated_big_header", "file header at byte 7: needs 4231 bytes, only 2200 are there"),
        ("06_header_size_huge", "file header at byte 7: needs 4611686018427387904 bytes, only 195 are there"),
        ("07_entry_count_huge", "file header at byte 15: entry count: 1152921504606846976 is over the limit"),
        ("09_layer_count_wrap", "file header at byte 23: layer count: 4294967296 is over the limit"),
        ("10_key_index_oob", "index entry at byte 86: key index: expected 0 to 1, found 999"),
        (
            "11_meta_key_index_oob",
            "layer metadata registry at byte 53: key index: expected 0 to 1, found 40000",
        ),
        ("12_position_past_eof", "block of a at byte 1099511627776: needs 32 bytes, only 0 are there"),
        ("13_block_offset_oob", "block of a at byte 8589934755: needs 23 bytes, only 0 are there"),
        ("14_corrupt_gzip_block", "array data of a at byte 163: deflate:"),
        ("15_corrupt_lz4_block", "array data of a at byte 163: lz4: a match starts before the first byte"),
        ("19_unknown_dtype", "index entry of a at byte 86: unsupported data type: code 77"),
        (
            "22_shape_huge",
            "index entry of a at byte 86: bytes of all blocks, against the shape: expected 35184372088832, found 32",
        ),
        ("23_string_len_oob", "array data of"),
        ("25_meta_bad_magic", "metadata block of __base__ at byte 197: expected the bytes"),
        ("26_no_base_layer", "layer metadata registry at byte 53: no such layer: __base__"),
        ("27_nblocks_ndim_limits", "index entry at byte"),
        ("30_duplicate_key", ""),
        ("32_empty_file", "file header at byte 0: needs 6 bytes, only 0 are there"),
    ];
    let mut wrong = Vec::new();
    for (name, message) in expected {
        let file = fs::read(folder().join(name).with_extension("stards")).unwrap();
        let errors = read_within_bounds(&file, name);
        let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let matches = match message {
            "" => found.is_empty(),
            _ => found.iter().any(|error| error.starts_with(message)),
        };
        if !matches {
            wrong.push(format!("{name}: expected {message:?}, found {found:#?}"));
        }
        assert!(errors.iter().all(|error| error.offset().is_some()), "{name}: {found:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fs::read_dir(folder()).unwrap().count(), expected.len() + 1, "a file has no expectation");
}

/// Every byte damaged, every length cut.
#[test]
fn no_damage_passes_the_bounds() {
    let files = [
        "stards-bad/00_control_valid",
        "stards/scalars_NONE",
        "stards/dtypes_GZIP_SHUFFLE",
        "stards/meta_LZ4",
    ];
    for name in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
        let file = fs::read(path.with_extension("stards")).unwrap();
        for at in 0..file.len() {
            read_within_bounds(&file[..at], name);
            // All bits of a small file; of a larger one each byte in one way.
            let masks: &[u8] = match at % 2 {
                _ if file.len() < 300 => &[1, 2, 4, 8, 16, 32, 64, 128, 255],
                0 => &[1],
                _ => &[255],
            };
            for mask in masks {
                let mut damaged = file.clone();
                damaged[at] ^= mask;
                read_within_bounds(&damaged, name);
            }
        }
    }
}

/// A thousand arrays that all name the same few bytes, which decode to much more.
#[test]
fn shared_bytes_do_not_multiply() {
    use core_codec::stards::{BASE_LAYER, Compression, Draft};
    let mut draft = Draft::new();
    let zeros = vec![0u8; 1 << 20];
    for index in 0..1000 {
        let name = format!("{index:04}");
        draft.put(BASE_LAYER, &name, 0u8, Compression::Gzip).unwrap();
    }
    draft.put_slice(BASE_LAYER, "0000", &[1 << 20], &zeros, Compression::Gzip).unwrap();
    let mut file = draft.to_bytes(&[][..]).unwrap();
    let dataset = complete(Dataset::open(&file[..], &Limits::default())).unwrap();
    let arrays = dataset.arrays();
    // Entry 0, which has one dimension, in place of every entry.
    let first = arrays[0].entry_offset() as usize;
    let len = arrays[1].entry_offset() as usize - first;
    let entry = file[first + 2..first + len].to_vec();
    let mut header = file[..first].to_vec();
    for index in 0..1000u16 {
        header.extend(index.to_le_bytes());
        header.extend(&entry);
    }
    let size = header.len() as u64;
    header[7..15].copy_from_slice(&size.to_le_bytes());
    let grown = size - dataset.header().header_size;
    file.splice(..dataset.header().header_size as usize, header);
    for index in 0..1000 {
        let at = first + index * len + 2;
        let moved = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) + grown;
        file[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    }
    let shared = complete(Dataset::open(&file[..], &Limits::default())).unwrap();
    let readable = shared.arrays().iter().filter(|array| array.content().is_ok());
    let stored: u64 = readable.map(core_codec::stards::Array::stored_len).sum();
    assert!(stored <= file.len() as u64);
    let error = shared.arrays()[999].content().unwrap_err();
    assert!(error.to_string().contains("they overlap"), "{error}");
}

/// Every entry has the same key of 64 KiB: the key is held once.
#[test]
fn a_long_key_is_held_once() {
    let key = "k".repeat(60_000);
    let layer = "L".repeat(60_000);
    let (in_layer, count) = (format!("__layer_{layer}__:x"), 8000u64);
    let name = |text: &str| [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
    let keys: Vec<u8> = [&key, &in_layer].iter().flat_map(|text| [name(text), vec![0; 8]].concat()).collect();
    // Neither position nor size, NONE, so many keys: all of the first.
    let registry = |text: &str, keys: usize| {
        [name(text), vec![0; 13], (keys as u16).to_le_bytes().to_vec(), vec![0; 2 * keys]].concat()
    };
    let bitmaps = vec![0u8; count.div_ceil(64) as usize * 8 * 2];
    // No element, no block; key, position and size, type, one dimension, sizes, and the rest.
    let mut entry = [0; 2 + 16 + 1 + 8 + 8 + 1 + 16 + 1];
    (entry[18], entry[19]) = (4, 1);
    let entries: Vec<u8> =
        (0..count).flat_map(|index| [vec![(index % 2) as u8], entry[1..].to_vec()].concat()).collect();
    let mut file =
        [b"STARDS\x01".to_vec(), vec![0; 8], count.to_le_bytes().to_vec(), vec![1, 0, 0, 0, 2, 0, 0, 0]]
            .concat();
    file.extend([keys, registry("__base__", 60_000), registry(&layer, 60_000), bitmaps, entries].concat());
    let len = file.len() as u64;
    file[7..15].copy_from_slice(&len.to_le_bytes());
    let errors = read_within_bounds(&file, "long keys");
    // The metadata blocks that the registry promises.
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().all(|error| error.to_string().len() < 2000));
    let dataset = complete(Dataset::open(&file[..], &Limits::default())).unwrap();
    assert_eq!(dataset.arrays().len() as u64, count);
    assert_eq!((0..count as usize).filter(|&index| dataset.is_visible(index)).count(), 2);
    assert_eq!(dataset.arrays()[1].name().to_string(), format!("{layer}:x"));
    assert_eq!(dataset.metadata_keys(dataset.base()).count(), 1);
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    assert_eq!(complete(dataset.verify(&file[..])).unwrap().len() as u64, count + 3);
    assert!(ALLOCATOR.peak_usage().saturating_sub(before) < 64 << 20);
}
