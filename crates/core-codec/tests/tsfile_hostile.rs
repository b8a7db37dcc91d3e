//! Files that crash, hang or fill the memory of other readers end in a clear error here, at once and in little
//! memory.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use core_codec::source::complete;
use core_codec::tsfile::TsFile;
use core_codec::tsfile::query::{Batch, Plan, Rows, Serial, TimeRange};
use core_codec::{Error, Limits};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Reads everything; the first error ends it.
fn read_all(bytes: &[u8]) -> Result<usize, Error> {
    let file = complete(TsFile::open(bytes, &Limits::default()))?;
    let mut devices = file.devices(None);
    let mut all = 0;
    while let Some(device) = complete(devices.next(bytes))? {
        let plan = complete(Plan::new(&file, bytes, &device, None, TimeRange::ALL))?;
        let mut rows = Rows::new(&file, plan);
        let mut batch = Batch::default();
        while complete(rows.next(&file, bytes, &Serial, &mut batch))? {
            all += batch.rows();
        }
    }
    Ok(all)
}

/// What the error must say: structure, offset and reason.
const EXPECTED: &[(&str, &str)] = &[
    ("b02_header_only", "tail at byte 0: needs 17 bytes, only 7 are there"),
    ("b03_trunc_mid_chunk", "tail at byte 83: expected the bytes"),
    ("b05_no_tail_magic", "tail at byte 642: expected the bytes"),
    ("b06_bad_head_magic", "file signature at byte 0: expected the bytes"),
    ("b08_version_99", "file version at byte 6: version: expected 3 to 4, found 99"),
    ("b09_meta_size_huge", "metadata size at byte 644: bytes: expected 0 to 637, found 2147483647"),
    ("b10_meta_size_negative", "metadata size at byte 644: negative: -5"),
    ("b11_meta_size_short", "index roots at byte"),
    ("b12_varint_unterminated", "index roots at byte"),
    ("b15_index_offset_beyond_eof", "index node at byte"),
    ("b17_page_size_beyond_chunk", "page of s"),
    ("b18_uncompressed_bomb", "bytes of the page: 2147483647 is over the limit of"),
    ("b20_ts2diff_count_huge", "values of a run or block: expected 0 to"),
    ("b21_dict_index_out_of_range", "values of a page of"),
    ("b22_bloom_size_zero", "bits of the bloom filter: expected 1 to 4294967295, found 0"),
    ("b23_index_cycle", "index node at byte"),
];

fn hostile(folder: &Path) -> usize {
    let mut seen = 0;
    for (name, expected) in EXPECTED {
        let path = folder.join(format!("{name}.tsfile"));
        // The cycle needs a large file, which only the wider corpus has.
        let Ok(bytes) = fs::read(&path) else { continue };
        seen += 1;
        let (start, live) = (Instant::now(), ALLOCATOR.current_usage());
        ALLOCATOR.reset_peak_usage();
        let error = read_all(&bytes).expect_err(name);
        let peak = ALLOCATOR.peak_usage().saturating_sub(live);
        assert!(start.elapsed() < Duration::from_secs(1), "{name}: {:?}", start.elapsed());
        assert!(peak < 64 << 20, "{name}: {peak} bytes");
        let text = error.to_string();
        assert!(text.contains(expected), "{name}: {text}");
        println!("{name}: {peak} bytes, {text}");
    }
    seen
}

// One test, since the allocations of others would be counted too.
#[test]
fn hostile_files_end_in_errors() {
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile-bad");
    assert_eq!(hostile(&testdata), EXPECTED.len() - 1);
    match env::var_os("TRIPOINT_CORPUS") {
        Some(corpus) => assert_eq!(hostile(&Path::new(&corpus).join("tsfile-bad")), EXPECTED.len()),
        None => println!("wider corpus not run: TRIPOINT_CORPUS is not set"),
    }
    every_cut_and_flip();
}

/// No byte of a small file can be cut or changed so that reading panics or takes long.
fn every_cut_and_flip() {
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile");
    for name in ["table_null_tags", "java3_aligned_multipage", "tree_single_point"] {
        let bytes = fs::read(testdata.join(format!("{name}.tsfile"))).unwrap();
        assert!(read_all(&bytes).is_ok());
        for at in 0..bytes.len() {
            assert!(read_all(&bytes[..at]).is_err(), "{name} cut at {at}");
            for flip in [1, 0x80, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                let _ = read_all(&bad);
            }
        }
    }
}
