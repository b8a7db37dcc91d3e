//! StarDS on disk: parallel reading and writing, updates, arrays in pieces.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use core_codec::Limits;
use core_codec::source::complete;
use core_codec::stards::{
    BASE_LAYER, Compression, DataType, Dataset, Draft, DraftArray, Slice, Storage, Tensor,
};
use proptest::prelude::*;
use std_io::{Access, Error, Fetch, Input, StardsFile, StardsWriter};

fn ways(path: &Path) -> [StardsFile; 2] {
    [Access::Map, Access::Read].map(|access| {
        let input = Input::open(path, access).unwrap().with_cache(1 << 16);
        StardsFile::from_input(input, &Limits::default()).unwrap()
    })
}

fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| ((i / 5) as u8).wrapping_mul(3).wrapping_add(seed)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_way_of_writing_gives_the_same_file(
        dtype in prop::sample::select(&DataType::ALL[..10]),
        compression in prop::sample::select(&Compression::ALL[..]),
        count in 0u64..5000,
        block_size in prop_oneof![Just(None), (40u64..9000).prop_map(Some)],
        piece in 1usize..4000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.stards");
        let storage = Storage { block_size, ..compression.into() };
        let payload = bytes(count as usize * dtype.size().unwrap(), 7);
        let mut draft = Draft::new();
        draft.put_bytes(BASE_LAYER, "x", dtype, &[count], &payload, storage).unwrap();
        draft.put(BASE_LAYER, "text", "after", storage).unwrap();
        StardsWriter::new(&draft).save(&path).unwrap();
        let saved = fs::read(&path).unwrap();
        prop_assert_eq!(&saved, &draft.to_bytes(&[][..]).unwrap());

        draft.put_pieces(BASE_LAYER, "x", dtype, &[count], storage).unwrap();
        let supply = |_: &DraftArray, sink: &mut dyn Write| {
            payload.chunks(piece).try_for_each(|piece| sink.write_all(piece)).map_err(Error::from)
        };
        StardsWriter::new(&draft).save_with(&path, supply).unwrap();
        prop_assert_eq!(&fs::read(&path).unwrap(), &saved);

        for file in ways(&path) {
            let array = file.array(BASE_LAYER, "x").unwrap();
            prop_assert_eq!(array.tensor().unwrap().into_bytes(), payload.clone());
            let mut parts = Vec::new();
            array.for_each_part(|part| { parts.extend_from_slice(part); Ok::<_, Error>(()) }).unwrap();
            prop_assert_eq!(&parts, &payload);
            let copy = file.draft().unwrap();
            let copied = folder.path().join("copy.stards");
            StardsWriter::new(&copy).original(&file).save(&copied).unwrap();
            prop_assert_eq!(&fs::read(&copied).unwrap(), &saved);
        }
    }
}

/// More than one part and more than one batch, each codec.
#[test]
fn large_arrays_go_through_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..600_000).map(|i| f64::from(i % 1000).sqrt()).collect();
    for compression in [Compression::None, Compression::Lz4, Compression::Lz4Shuffle] {
        let path = folder.path().join("x.stards");
        let mut draft = Draft::new();
        draft
            .put_slice(
                BASE_LAYER,
                "x",
                &[600, 1000],
                &values,
                Storage { block_size: Some(1 << 18), ..compression.into() },
            )
            .unwrap();
        StardsWriter::new(&draft).save(&path).unwrap();
        for file in ways(&path) {
            let array = file.array(BASE_LAYER, "x").unwrap();
            assert_eq!(array.read::<f64>().unwrap(), values);
            let (mut parts, mut count) = (Vec::new(), 0);
            array
                .for_each_part(|part| {
                    count += 1;
                    assert!(part.len() <= 5 << 20);
                    parts.extend_from_slice(part);
                    Ok::<_, Error>(())
                })
                .unwrap();
            assert_eq!(count, 2);
            assert!(parts == Tensor::array(&[600_000], &values).unwrap().bytes());
            let row = array.slice(&[Slice::Index(-1)]).unwrap();
            assert_eq!(row.to_vec::<f64>().unwrap(), values[599_000..]);
            if let Some(view) = array.view::<f64>().unwrap() {
                assert!(file.input().is_map() && compression == Compression::None);
                assert_eq!(view, values);
            } else {
                assert!(!file.input().is_map() || compression != Compression::None);
            }
        }
    }
}

#[test]
fn a_file_is_updated_in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.stards");
    let mut draft = Draft::new();
    draft.add_layer("a").unwrap();
    draft.put(BASE_LAYER, "kept", &[1i32, 2, 3][..], Compression::Gzip).unwrap();
    draft.put(BASE_LAYER, "gone", &[4u8; 5000][..], Compression::None).unwrap();
    draft.put("a", "kept", "text", Compression::Lz4).unwrap();
    draft.set_metadata("a", "unit", "m").unwrap();
    StardsWriter::new(&draft).save(&path).unwrap();
    let before = fs::metadata(&path).unwrap().len();

    let file = StardsFile::open(&path).unwrap();
    let untouched = fs::read(&path).unwrap();
    let mut draft = file.draft().unwrap();
    assert!(draft.remove(BASE_LAYER, "gone"));
    draft.put("a", "new", 1.5f32, Compression::None).unwrap();
    draft.set_metadata("a", "unit", "km").unwrap();
    assert_eq!(fs::read(&path).unwrap(), untouched);
    StardsWriter::new(&draft).original(&file).save(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < before - 4900);

    let file = StardsFile::open(&path).unwrap();
    assert_eq!(file.verify().unwrap(), []);
    assert_eq!(file.array(BASE_LAYER, "kept").unwrap().read::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(file.array("a", "kept").unwrap().tensor().unwrap(), "text".into());
    assert_eq!(file.array("a", "new").unwrap().read::<f32>().unwrap(), [1.5]);
    assert!(file.array(BASE_LAYER, "gone").is_err());
    assert_eq!(file.metadata("a").unwrap()[0].value.clone().unwrap(), "km".into());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failure_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.stards");
    fs::write(&path, "something else").unwrap();
    // What is no StarDS file is refused and stays as it is.
    assert!(StardsFile::open(&path).is_err());
    let mut draft = Draft::new();
    draft.put_pieces(BASE_LAYER, "x", DataType::Uint16, &[1000], Compression::Lz4).unwrap();
    assert!(StardsWriter::new(&draft).save(&path).is_err());
    for (compression, len) in [
        (Compression::Lz4, 1999),
        (Compression::Lz4, 2001),
        (Compression::Lz4Shuffle, 0),
        (Compression::None, 2001),
    ] {
        draft.put_pieces(BASE_LAYER, "x", DataType::Uint16, &[1000], compression).unwrap();
        let supply =
            |_: &DraftArray, sink: &mut dyn Write| sink.write_all(&bytes(len, 1)).map_err(Error::from);
        assert!(StardsWriter::new(&draft).save_with(&path, supply).is_err());
    }
    let supply = |_: &DraftArray, _: &mut dyn Write| Err(Error::from(io::Error::other("no data")));
    assert_eq!(StardsWriter::new(&draft).save_with(&path, supply).unwrap_err().to_string(), "no data");
    assert_eq!(fs::read(&path).unwrap(), b"something else");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Counts what is fetched from a file in memory.
struct Counting(Vec<u8>, Arc<AtomicUsize>);

impl Fetch for Counting {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0[range.start as usize..range.end as usize].to_vec())
    }
}

#[test]
fn open_one_array_and_metadata_take_three_fetches() {
    let values: Vec<f64> = (0..400_000).map(|i| f64::from(i).sqrt()).collect();
    for compression in [Compression::None, Compression::Lz4Shuffle, Compression::Zstd] {
        let mut draft = Draft::new();
        draft.add_layer("a").unwrap();
        for key in ["first", "x", "last"] {
            let storage = Storage { block_size: Some(1 << 17), ..compression.into() };
            draft.put_slice(BASE_LAYER, key, &[400_000], &values, storage).unwrap();
            draft.set_metadata("a", key, 1.5f64).unwrap();
        }
        let count = Arc::new(AtomicUsize::new(0));
        let fetch = Counting(draft.to_bytes(&[][..]).unwrap(), count.clone());
        let file = StardsFile::from_input(Input::fetching(fetch), &Limits::default()).unwrap();
        assert_eq!(file.array(BASE_LAYER, "x").unwrap().read::<f64>().unwrap(), values);
        assert_eq!(file.metadata("a").unwrap().len(), 3);
        assert_eq!(count.load(Ordering::Relaxed), 3);
        // One element: its block, or of byte planes the block of each byte.
        file.array(BASE_LAYER, "first").unwrap().slice(&[Slice::Index(7)]).unwrap();
        let more = if compression == Compression::Lz4Shuffle { 8 } else { 1 };
        assert!(count.load(Ordering::Relaxed) <= 3 + more);
    }
}

/// Blocks are fetched in batches, and forgotten: what is decoded once is not decoded again for the next.
#[test]
fn verify_takes_few_fetches_and_little_memory() {
    let values = vec![1u8; 16 << 20];
    for compression in [Compression::None, Compression::Gzip] {
        let mut draft = Draft::new();
        let storage = Storage { block_size: Some(1 << 17), ..compression.into() };
        draft.put_slice(BASE_LAYER, "x", &[16 << 20], &values, storage).unwrap();
        draft.put(BASE_LAYER, "text", "after", storage).unwrap();
        draft.set_metadata(BASE_LAYER, "x", 1.5f64).unwrap();
        let mut bytes = draft.to_bytes(&[][..]).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let middle = bytes.len() / 2;
        for damaged in [false, true] {
            count.store(0, Ordering::Relaxed);
            let fetch = Counting(bytes.clone(), count.clone());
            let file = StardsFile::from_input(Input::fetching(fetch), &Limits::default()).unwrap();
            let findings = file.verify().unwrap();
            let noticed = damaged && compression == Compression::Gzip;
            assert_eq!(!findings.is_empty(), noticed, "{findings:?}");
            assert_eq!(findings, complete(file.dataset().verify(&bytes[..])).unwrap());
            // Header, metadata, and 4 MiB at a time.
            assert!(count.load(Ordering::Relaxed) <= 2 + 5, "{count:?}");
            bytes[middle] ^= 0x55;
        }
    }
}

/// Blocks of more than 4 MiB are decoded piece by piece, wherever not all is asked for at once.
#[test]
fn large_blocks_are_read_in_pieces() {
    let values: Vec<u32> = (0..5_500_000).map(|i: u32| i.wrapping_mul(i) >> 9).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.stards");
    for compression in [
        Compression::Gzip,
        Compression::Lz4,
        Compression::Zstd,
        Compression::GzipShuffle,
        Compression::Lz4Shuffle,
    ] {
        // Blocks that hold some of a plane, and of two planes at a time.
        for block_size in [5_000_001, 9 << 20] {
            let storage = Storage { block_size: Some(block_size), level: 1, compression };
            let mut draft = Draft::new();
            draft.put_slice(BASE_LAYER, "x", &[values.len() as u64], &values, storage).unwrap();
            StardsWriter::new(&draft).save(&path).unwrap();
            // By a map, and by fetches for some.
            let ways = ways(&path).into_iter().take(if block_size == 5_000_001 { 2 } else { 1 });
            for file in ways {
                let array = file.array(BASE_LAYER, "x").unwrap();
                assert!(array.read::<u32>().unwrap() == values, "{storage:?}");
                let (mut at, bytes) = (0, bytemuck::cast_slice::<_, u8>(&values));
                let parts = array.for_each_part(|part| {
                    assert!(part.len() <= 4 << 20);
                    assert!(bytes[at..].starts_with(part), "{storage:?} {at}");
                    at += part.len();
                    Ok::<_, Error>(())
                });
                parts.unwrap();
                assert_eq!(at, bytes.len());
                let slice = array.slice(&Slice::parse_all("-2::-1000003").unwrap()).unwrap();
                let expected: Vec<u32> =
                    values[..values.len() - 1].iter().rev().step_by(1_000_003).copied().collect();
                assert_eq!(slice.to_vec::<u32>().unwrap(), expected);
                assert_eq!(file.verify().unwrap().len(), usize::from(compression == Compression::Zstd));
            }
            let mut bytes = fs::read(&path).unwrap();
            let damaged = StardsFile::open(&path)
                .unwrap()
                .array(BASE_LAYER, "x")
                .unwrap()
                .info()
                .content()
                .unwrap()
                .blocks()[1]
                .stored
                .end as usize
                - 3;
            bytes[damaged] ^= 0x41;
            fs::write(&path, &bytes).unwrap();
            let file = StardsFile::open(&path).unwrap();
            let parts = file.array(BASE_LAYER, "x").unwrap().for_each_part(|_| Ok::<_, Error>(()));
            // LZ4 has no checksum: damage can pass.
            let noticed = matches!(compression, Compression::Gzip | Compression::GzipShuffle);
            assert!(parts.is_err() || !noticed);
            assert_eq!(file.verify().unwrap(), complete(file.dataset().verify(&bytes[..])).unwrap());
        }
    }
}

/// A GiB of zeros behind a header.
struct Zeros(Vec<u8>, Arc<AtomicUsize>);

const GIB: u64 = 1 << 30;

impl Fetch for Zeros {
    fn len(&self) -> u64 {
        self.0.len() as u64 + GIB
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let len = (range.end - range.start) as usize;
        self.1.fetch_max(len, Ordering::Relaxed);
        let mut bytes = self.0.get(range.start as usize..).unwrap_or_default().to_vec();
        bytes.resize(len, 0);
        Ok(bytes)
    }
}

#[test]
fn a_gib_in_one_block_is_verified_in_pieces() {
    let mut draft = Draft::new();
    draft.put_slice(BASE_LAYER, "x", &[8], &[0u8; 8], Compression::None).unwrap();
    let mut header = draft.to_bytes(&[][..]).unwrap();
    let dataset = complete(Dataset::open(&header[..], &Limits::default())).unwrap();
    header.truncate(dataset.header().header_size as usize);
    // Behind key and position: total bytes; then the shape, and the sizes of the block.
    let entry = dataset.arrays()[0].entry_offset() as usize + 2 + 8;
    for at in [entry, entry + 17, entry + 50, entry + 58] {
        assert_eq!(header[at..at + 8], 8u64.to_le_bytes());
        header[at..at + 8].copy_from_slice(&GIB.to_le_bytes());
    }
    let largest = Arc::new(AtomicUsize::new(0));
    let file =
        StardsFile::from_input(Input::fetching(Zeros(header, largest.clone())), &Limits::default()).unwrap();
    assert_eq!(file.verify().unwrap(), []);
    assert!(largest.load(Ordering::Relaxed) <= 4 << 20, "{largest:?}");
}

/// Whole, part by part, by fetches: as the sans-IO readers, of files that are damaged, too.
#[test]
fn damaged_files_are_read_as_the_core_reads_them() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let folders = ["stards", "stards-bad"].map(|name| fs::read_dir(testdata.join(name)).unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "stards")) {
        let mut bytes = fs::read(&path).unwrap();
        if bytes.len() > 100_000 {
            continue;
        }
        files += 1;
        let step = bytes.len().div_ceil(8).max(1);
        for at in (0..bytes.len()).step_by(step) {
            bytes[at] ^= 0x41;
            compare_with_core(&bytes);
            bytes[at] ^= 0x41;
        }
    }
    assert!(files > 30);
}

fn compare_with_core(file: &[u8]) {
    let mut limits = Limits::default();
    limits.item_bytes = 16 << 20;
    let dataset = complete(Dataset::open(file, &limits));
    let host = StardsFile::from_input(Input::fetching(file.to_vec()).with_cache(1 << 10), &limits);
    assert_eq!(dataset.is_ok(), host.is_ok());
    let (Ok(dataset), Ok(host)) = (dataset, host) else { return };
    assert_eq!(host.verify().unwrap(), complete(dataset.verify(file)).unwrap());
    for (array, on_host) in dataset.arrays().iter().zip(host.arrays()) {
        let whole = complete(array.read(file));
        let mut joined = Vec::new();
        let parts = on_host.for_each_part(|part| {
            joined.extend_from_slice(part);
            Ok::<_, Error>(())
        });
        match (&whole, on_host.tensor(), parts) {
            (Ok(whole), Ok(tensor), Ok(())) => assert!(*whole == tensor && joined == whole.bytes()),
            (Err(_), Err(_), Err(_)) => {}
            (whole, tensor, parts) => panic!("{:?} {:?} {parts:?}", whole.is_ok(), tensor.is_ok()),
        }
    }
}
