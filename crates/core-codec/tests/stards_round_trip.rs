//! What is written is read back, whatever the type, codec, shape, block size and layer.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use core_codec::source::{Poll, Source, Stop, check_range, complete};
use core_codec::stards::{
    BASE_LAYER, Compression, DataType, Dataset, Draft, FIRST_READ, Layer, Selection, Slice, Storage, Tensor,
};
use core_codec::{Error, ErrorKind, Limits, Severity};
use proptest::collection::vec;
use proptest::prelude::*;

const LAYERS: [&str; 4] = [BASE_LAYER, "a", "a__:b", "ä"];
const KEYS: [&str; 5] = ["", "x", "temperature", "b__:c", "ключ"];

#[derive(Clone, Debug)]
struct Array {
    layer: &'static str,
    key: &'static str,
    value: Tensor,
    storage: Storage,
}

/// Values of a shape: smooth enough to compress, and the strings of all short lengths.
fn value(dtype: DataType, shape: &[u64], seed: u8) -> Tensor {
    let count: u64 = shape.iter().product();
    let bytes = match dtype.size() {
        Some(size) => {
            (0..count * size as u64).map(|i| ((i / 3) as u8).wrapping_mul(7).wrapping_add(seed)).collect()
        }
        None => {
            let texts =
                (0..count).map(|i| "Straße ☂".chars().cycle().take((i as usize + seed as usize) % 12));
            let texts = texts.map(String::from_iter);
            texts
                .flat_map(|text| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat())
                .collect()
        }
    };
    Tensor::new(dtype, shape, bytes).unwrap()
}

prop_compose! {
    fn arbitrary_value()(
        dtype in prop::sample::select(&DataType::ALL[..]),
        shape in vec(0u64..7, 0..4),
        seed: u8,
    ) -> Tensor {
        value(dtype, &shape, seed)
    }
}

prop_compose! {
    fn array()(
        layer in prop::sample::select(&LAYERS[..]),
        key in prop::sample::select(&KEYS[..]),
        value in arbitrary_value(),
        compression in prop::sample::select(&Compression::ALL[..]),
        block_size in prop_oneof![Just(None), (1u64..100).prop_map(Some)],
        level in 1u8..=9,
    ) -> Array {
        Array { layer, key, value, storage: Storage { compression, block_size, level } }
    }
}

fn draft(arrays: &[Array], metadata: &[(&str, &str, Tensor)], codec: Compression) -> Draft<'static> {
    let mut draft = Draft::new();
    LAYERS.iter().for_each(|layer| draft.add_layer(layer).unwrap());
    draft.set_metadata_compression(codec).unwrap();
    for array in arrays {
        draft.put(array.layer, array.key, array.value.clone(), array.storage).unwrap();
    }
    for (layer, key, value) in metadata {
        draft.set_metadata(layer, key, value.clone()).unwrap();
    }
    draft
}

/// The arrays that no later one replaces.
fn last_of_key(arrays: &[Array]) -> Vec<&Array> {
    let mut seen = BTreeSet::new();
    arrays.iter().rev().filter(|array| seen.insert((array.layer, array.key))).collect()
}

fn open(file: &[u8]) -> Dataset {
    complete(Dataset::open(file, &Limits::default())).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read(
        arrays in vec(array(), 0..8),
        metadata in vec((prop::sample::select(&LAYERS[..]), prop::sample::select(&KEYS[..]), arbitrary_value()), 0..8),
        codec in prop::sample::select(&[Compression::None, Compression::Gzip, Compression::Lz4][..]),
    ) {
        let draft = draft(&arrays, &metadata, codec);
        let written = draft.to_bytes(&[][..]);
        // "b__:c" in layer "a" and "c" in layer "a__:b" have the same storage key.
        let ambiguous = arrays.iter().any(|array| array.layer == "a" && array.key == "b__:c");
        prop_assert_eq!(written.is_err(), ambiguous);
        let Ok(file) = written else { return Ok(()) };
        prop_assert_eq!(&file, &draft.to_bytes(&[][..]).unwrap());

        let dataset = open(&file);
        let names: Vec<_> = dataset.layers().iter().map(Layer::name).collect();
        prop_assert_eq!(names, LAYERS);
        for array in last_of_key(&arrays) {
            let found = dataset.array(array.layer, array.key).unwrap();
            prop_assert_eq!(complete(found.read(&file[..])).unwrap(), array.value.clone());
            prop_assert_eq!(found.compression(), Some(array.storage.compression));
        }
        prop_assert_eq!(dataset.arrays().len(), last_of_key(&arrays).len());
        let mut seen = BTreeSet::new();
        for (layer, key, value) in metadata.iter().rev().filter(|entry| seen.insert((entry.0, entry.1))) {
            let entries = complete(dataset.metadata(&file[..], layer)).unwrap();
            let found = entries.into_iter().find(|entry| &*entry.key == *key).unwrap();
            prop_assert_eq!(&found.value.unwrap(), value);
        }
        let findings = complete(dataset.verify(&file[..])).unwrap();
        // ZSTD is an extension, and "a" is a layer that the keys of "a__:b" could belong to as well.
        let odd = |array: &&&Array| array.storage.compression == Compression::Zstd;
        let odd = last_of_key(&arrays).iter().filter(odd).count()
            + last_of_key(&arrays).iter().filter(|array| array.layer == "a__:b").count();
        prop_assert_eq!(findings.len(), odd, "{:#?}", findings);

        // Written again from what was read, it is the same file.
        let again = complete(Draft::from_dataset(&dataset, &file[..])).unwrap();
        if dataset.base().has_metadata() || codec == Compression::Lz4 {
            prop_assert_eq!(again.to_bytes(&file[..]).unwrap(), file);
        }
    }

    #[test]
    fn a_slice_is_what_indexing_gives(
        (shape, slices) in vec((0u64..7, slice()), 0..5).prop_map(|axes| axes.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()),
        dtype in prop::sample::select(&DataType::ALL[..]),
        compression in prop::sample::select(&Compression::ALL[..]),
        block_size in 1u64..60,
    ) {
        let whole = value(dtype, &shape, 3);
        let storage = Storage { block_size: Some(block_size), ..compression.into() };
        let mut draft = Draft::new();
        draft.put(BASE_LAYER, "x", whole.clone(), storage).unwrap();
        let file = draft.to_bytes(&[][..]).unwrap();
        let dataset = open(&file);
        let array = dataset.array(BASE_LAYER, "x").unwrap();
        let Ok(selection) = Selection::new(&shape, &slices) else {
            prop_assert!(array.read_slice(&file[..], &slices).is_err());
            return Ok(());
        };
        let indices = indices(&shape, &selection);
        let elements = elements(&whole);
        let expected: Vec<u8> = indices.iter().flat_map(|&i| elements[i as usize].clone()).collect();
        let found = complete(array.read_slice(&file[..], &slices)).unwrap();
        prop_assert_eq!(found.shape(), selection.shape());
        prop_assert_eq!(found.bytes(), expected);

        // Numbers: exactly the blocks that hold the bytes are asked for.
        let content = array.content().unwrap();
        let Some(size) = dtype.size().map(|size| size as u64) else { return Ok(()) };
        let source = Sparse::new(&file);
        source.fetch(|source| array.read_slice(source, &slices));
        let byte = |element: u64, p: u64| match content.planes() {
            Some(_) => p * content.elements() + element,
            None => element * size + p,
        };
        let bytes: BTreeSet<u64> = indices.iter().flat_map(|&i| (0..size).map(move |p| byte(i, p))).collect();
        if compression != Compression::None {
            for block in content.blocks() {
                let needed = bytes.range(block.payload.clone()).next().is_some();
                prop_assert_eq!(source.holds(&block.stored), needed, "block {:?}", block);
            }
        }
        prop_assert!(source.rounds() <= 1);
    }

    #[test]
    fn a_run_of_elements_is_read(
        count in 1u64..200, from in 0u64..200, len in 0u64..200,
        compression in prop::sample::select(&Compression::ALL[..]), block_size in 1u64..300,
    ) {
        let whole = value(DataType::Float32, &[count], 9);
        let mut draft = Draft::new();
        draft.put(BASE_LAYER, "x", whole.clone(), Storage { block_size: Some(block_size), ..compression.into() }).unwrap();
        let file = draft.to_bytes(&[][..]).unwrap();
        let dataset = open(&file);
        let content = dataset.array(BASE_LAYER, "x").unwrap().content().unwrap();
        let mut out = vec![0; 4 * len as usize];
        let read = content.read_elements(&file[..], from..from + len, &mut out);
        prop_assert_eq!(read.is_ok(), from + len <= count);
        if read.is_ok() {
            prop_assert_eq!(&out, &whole.bytes()[4 * from as usize..][..out.len()]);
        }
    }
}

fn slice() -> impl Strategy<Value = Slice> {
    let end = || prop_oneof![Just(None), (-9i64..9).prop_map(Some)];
    prop_oneof![
        1 => (-7i64..7).prop_map(Slice::Index),
        4 => (end(), end(), prop_oneof![-4i64..0, 1i64..4]).prop_map(|(start, stop, step)| Slice::range(start, stop, step)),
    ]
}

/// Indices in row-major order of all elements of a selection.
fn indices(shape: &[u64], selection: &Selection) -> Vec<u64> {
    let mut indices = vec![0];
    for (axis, size) in selection.axes().iter().zip(shape) {
        let along = |i: u64| axis.first.wrapping_add_signed(axis.step * i as i64);
        indices = indices.iter().flat_map(|&i| (0..axis.count).map(move |j| i * size + along(j))).collect();
    }
    indices
}

/// The bytes of each element.
fn elements(tensor: &Tensor) -> Vec<Vec<u8>> {
    match tensor.dtype().size() {
        Some(size) => tensor.bytes().chunks(size).map(<[u8]>::to_vec).collect(),
        None => {
            let with_len = |text: &[u8]| [&(text.len() as u32).to_le_bytes()[..], text].concat();
            tensor.iter_strings().map(with_len).collect()
        }
    }
}

/// A file of which only what was asked for is there, such as one behind HTTP.
struct Sparse<'a> {
    file: &'a [u8],
    held: RefCell<Vec<Range<u64>>>,
    rounds: RefCell<usize>,
}

impl<'a> Sparse<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self { file, held: RefCell::default(), rounds: RefCell::default() }
    }

    /// Calls a reader until it has all that it needs.
    fn fetch<T>(&self, mut reader: impl FnMut(&Self) -> Poll<T>) -> T {
        loop {
            match reader(self) {
                Ok(value) => return value,
                Err(Stop::Need(ranges)) => {
                    assert!(!ranges.is_empty());
                    self.held.borrow_mut().extend(ranges);
                    *self.rounds.borrow_mut() += 1;
                }
                Err(Stop::Error(error)) => panic!("{error}"),
            }
        }
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        self.held.borrow().iter().any(|held| held.start <= range.start && range.end <= held.end)
    }

    fn rounds(&self) -> usize {
        *self.rounds.borrow()
    }

    fn requests(&self) -> usize {
        self.held.borrow().len()
    }
}

impl Source for Sparse<'_> {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn bytes(&self, range: Range<u64>) -> Poll<&[u8]> {
        check_range(&range, self.len())?;
        if !range.is_empty() && !self.holds(&range) {
            return Err(Stop::Need(vec![range]));
        }
        Ok(&self.file[range.start as usize..range.end as usize])
    }
}

#[test]
fn open_one_array_and_all_metadata_take_three_requests() {
    let numbers: Vec<f64> = (0..400_000).map(|i| f64::from(i).sqrt()).collect();
    let mut draft = Draft::new();
    draft.add_layer("a").unwrap();
    for (layer, key) in [(BASE_LAYER, "first"), (BASE_LAYER, "x"), ("a", "x")] {
        draft.put_slice(layer, key, &[400_000], &numbers, Compression::Lz4Shuffle).unwrap();
        draft.set_metadata(layer, key, 1.5f64).unwrap();
    }
    let file = draft.to_bytes(&[][..]).unwrap();
    let source = Sparse::new(&file);
    let dataset = source.fetch(|source| Dataset::open(source, &Limits::default()));
    assert_eq!(source.requests(), 1);
    let array = dataset.array(BASE_LAYER, "x").unwrap();
    assert!(array.content().unwrap().blocks().len() > 1);
    assert_eq!(source.fetch(|source| array.read_vec::<f64, _>(source)), numbers);
    assert_eq!(source.requests(), 2);
    source.fetch(|source| dataset.request_metadata(source));
    for layer in dataset.layers() {
        assert!(!source.fetch(|source| dataset.metadata(source, layer.name())).is_empty());
    }
    assert_eq!(source.requests(), 3);
}

#[test]
fn blocks_after_the_last_string_wanted_are_not_read() {
    for compression in [Compression::None, Compression::Gzip] {
        // The strings get longer, so that the first guess of where one ends is too far; or shorter, and it is not far
        // enough.
        for shorter in [false, true] {
            // Such that they do not compress to a file that the first request holds.
            let letter = |i: usize| char::from(b'!' + (i.wrapping_mul(2_654_435_761) >> 7) as u8 % 90);
            let len = |i: usize| if shorter { 900 - i } else { i };
            let texts: Vec<String> =
                (0..900).map(|i| (0..len(i)).map(|k| letter(1000 * i + k * k)).collect()).collect();
            let mut draft = Draft::new();
            let storage = Storage { block_size: Some(10_000), ..compression.into() };
            let tensor = Tensor::strings(&[30, 30], texts.iter().map(String::as_str)).unwrap();
            draft.put(BASE_LAYER, "x", tensor, storage).unwrap();
            let file = draft.to_bytes(&[][..]).unwrap();
            let source = Sparse::new(&file);
            let dataset = source.fetch(|source| Dataset::open(source, &Limits::default()));
            let array = dataset.array(BASE_LAYER, "x").unwrap();
            let slices = [Slice::range(Some(9), Some(3), -3), Slice::Index(5)];
            let slice = source.fetch(|source| array.read_slice(source, &slices));
            assert_eq!(slice.to_strings().unwrap(), [&*texts[275], &*texts[185]]);
            assert!(source.rounds() <= 3, "{compression} {shorter}: {} requests", source.rounds());
            let blocks = array.content().unwrap().blocks();
            let unread = blocks.iter().filter(|block| !source.holds(&block.stored)).count();
            assert!(unread > blocks.len() / 3, "{compression} {shorter}: {unread} of {}", blocks.len());
        }
    }
}

#[test]
fn damaged_strings_before_the_one_wanted_are_an_error() {
    let mut draft = Draft::new();
    let texts = Tensor::strings(&[3], ["aa", "bb", "cc"]).unwrap();
    draft.put(BASE_LAYER, "x", texts, Compression::None).unwrap();
    let file = draft.to_bytes(&[][..]).unwrap();
    let start = file.windows(2).position(|pair| pair == b"aa").unwrap();
    let slice = |at: usize, value: u8, index| {
        let mut file = file.clone();
        file[at] = value;
        let read = |dataset: Dataset| {
            complete(dataset.array(BASE_LAYER, "x")?.read_slice(&file[..], &[Slice::Index(index)]))
        };
        read(open(&file)).map(|tensor| tensor.to_strings().unwrap())
    };
    assert_eq!(slice(start + 2, 100, 0).unwrap(), ["aa"]);
    for (at, value, message) in [(2, 100, "at byte 10 of"), (8, 1, "left over"), (8, 3, "at byte 16 of")] {
        let error = slice(start + at, value, 2).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_header_longer_than_the_first_read_is_read() {
    let mut draft = Draft::new();
    let values: Vec<u32> = (0..40_000).collect();
    draft
        .put_slice(
            BASE_LAYER,
            "x",
            &[200, 200],
            &values,
            Storage { block_size: Some(20), ..Compression::None.into() },
        )
        .unwrap();
    let file = draft.to_bytes(&[][..]).unwrap();
    let source = Sparse::new(&file);
    let dataset = source.fetch(|source| Dataset::open(source, &Limits::default()));
    assert!(dataset.header().header_size > FIRST_READ);
    let column = source.fetch(|source| {
        dataset
            .array(BASE_LAYER, "x")
            .unwrap()
            .read_slice_vec::<u32, _>(source, &[Slice::ALL, Slice::Index(7)])
    });
    assert_eq!(column.1[3], 607);
}

#[test]
fn a_view_shows_the_bytes_of_the_file() {
    let values: Vec<i64> = (0..1000).collect();
    let mut draft = Draft::new();
    draft.put(BASE_LAYER, "shift", "odd", Compression::None).unwrap();
    draft.put_slice(BASE_LAYER, "plain", &[1000], &values, Compression::None).unwrap();
    draft.put_slice(BASE_LAYER, "packed", &[1000], &values, Compression::Lz4).unwrap();
    let file = draft.to_bytes(&[][..]).unwrap();
    let dataset = open(&file);
    let plain = dataset.array(BASE_LAYER, "plain").unwrap();
    assert_eq!(plain.entry().position % 8, 0);
    // A vector of words, so that the bytes are aligned as those of a mapped file.
    let mut words = vec![0u64; file.len().div_ceil(8)];
    let mut bytes: Vec<u8> = file.clone();
    bytes.resize(words.len() * 8, 0);
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap());
    }
    let aligned: &[u8] = bytemuck::cast_slice(&words);
    assert_eq!(complete(plain.view::<i64, _>(aligned)).unwrap(), Some(&values[..]));
    let packed = dataset.array(BASE_LAYER, "packed").unwrap();
    assert_eq!(complete(packed.view::<i64, _>(aligned)).unwrap(), None);
    let wrong = complete(plain.view::<u64, _>(aligned)).unwrap_err();
    assert_eq!(wrong.kind(), &ErrorKind::Type { expected: "uint64", found: "int64" });
}

#[test]
fn a_layer_inherits_from_the_base_on_request() {
    let mut draft = Draft::new();
    draft.add_layer("a").unwrap();
    for (layer, key, value) in [(BASE_LAYER, "x", 1i32), (BASE_LAYER, "y", 2), ("a", "y", 3)] {
        draft.put(layer, key, value, Compression::None).unwrap();
        draft.set_metadata(layer, key, value).unwrap();
    }
    let file = draft.to_bytes(&[][..]).unwrap();
    let dataset = open(&file);
    let read = |array: Result<&core_codec::stards::Array, Error>| {
        array.map(|array| complete(array.read_vec::<i32, _>(&file[..])).unwrap()[0]).ok()
    };
    assert_eq!(read(dataset.array("a", "x")), None);
    assert_eq!(read(dataset.inherited_array("a", "x")), Some(1));
    assert_eq!(read(dataset.inherited_array("a", "y")), Some(3));
    assert_eq!(read(dataset.inherited_array("a", "z")), None);
    assert_eq!(read(dataset.inherited_array("b", "x")), None);
    let metadata = complete(dataset.inherited_metadata(&file[..], "a")).unwrap();
    let values: Vec<_> = metadata.iter().map(|entry| (&*entry.key, entry.value.clone().unwrap())).collect();
    assert_eq!(values, [("x", Tensor::scalar(1i32)), ("y", Tensor::scalar(3i32))]);
    assert_eq!(complete(dataset.metadata(&file[..], "a")).unwrap().len(), 1);
}

/// Reading, changing and deleting; the rest is copied as it is, and what is gone leaves nothing behind.
#[test]
fn a_file_of_the_reference_is_updated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stards/layers_GZIP.stards");
    let old = fs::read(path).unwrap();
    let dataset = open(&old);
    let mut draft = complete(Draft::from_dataset(&dataset, &old[..])).unwrap();
    assert!(draft.remove(BASE_LAYER, "image"));
    assert!(!draft.remove(BASE_LAYER, "image"));
    assert!(draft.remove_layer("processed").unwrap());
    assert!(draft.remove_layer(BASE_LAYER).is_err());
    draft.put(BASE_LAYER, "base_only", &[9i32, 10][..], Compression::Gzip).unwrap();
    assert!(draft.remove_metadata(BASE_LAYER, "gain").is_some());
    draft.set_metadata("zeta", "meta_only", "changed").unwrap();
    let new = draft.to_bytes(&old[..]).unwrap();

    let changed = open(&new);
    assert_eq!(complete(changed.verify(&new[..])).unwrap(), []);
    let names: Vec<_> = changed.arrays().iter().map(|array| array.name().to_string()).collect();
    assert_eq!(
        names,
        ["wavelengths", "base_only", "calibrated:image", "calibrated:wavelengths", "calibrated:notes"]
    );
    for (layer, key) in [(BASE_LAYER, "wavelengths"), ("calibrated", "image"), ("calibrated", "notes")] {
        let read =
            |dataset: &Dataset, file: &[u8]| complete(dataset.array(layer, key).unwrap().read(file)).unwrap();
        assert_eq!(read(&changed, &new), read(&dataset, &old));
    }
    let base_only = changed.array(BASE_LAYER, "base_only").unwrap();
    assert_eq!(complete(base_only.read_vec::<i32, _>(&new[..])).unwrap(), [9, 10]);
    let keys =
        |layer| complete(changed.metadata(&new[..], layer)).unwrap().into_iter().map(|entry| entry.key);
    assert_eq!(keys(BASE_LAYER).collect::<Vec<_>>(), ["description".into()]);
    let searched = |text: &str| new.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!searched("processed") && !searched("gain"));
}

/// Each file of the reference is written anew, and holds the same.
#[test]
fn every_file_of_the_reference_is_rewritten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/stards");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "stards") {
            continue;
        }
        let old = fs::read(&path).unwrap();
        let dataset = open(&old);
        let errors: Vec<_> = complete(dataset.verify(&old[..])).unwrap();
        assert!(errors.iter().all(|finding| finding.severity == Severity::Warning), "{path:?} {errors:#?}");
        let new = complete(Draft::from_dataset(&dataset, &old[..])).unwrap().to_bytes(&old[..]).unwrap();
        let rewritten = open(&new);
        assert_eq!(complete(rewritten.verify(&new[..])).unwrap(), [], "{path:?}");
        assert_eq!(rewritten.arrays().len(), dataset.arrays().len());
        for array in dataset.arrays() {
            let layer = dataset.layers()[array.layer()].name();
            let found = rewritten.array(layer, array.key()).unwrap();
            assert_eq!(complete(found.read(&new[..])).unwrap(), complete(array.read(&old[..])).unwrap());
        }
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let mut draft = Draft::new();
    let kind = |result: Result<(), Error>| result.unwrap_err().kind().clone();
    let long = "x".repeat(65_536);
    assert!(matches!(kind(draft.add_layer(&long)), ErrorKind::Limit { .. }));
    assert!(matches!(kind(draft.put(BASE_LAYER, &long, 1u8, Compression::None)), ErrorKind::Limit { .. }));
    assert!(matches!(kind(draft.put("none", "x", 1u8, Compression::None)), ErrorKind::NotFound(_)));
    let deep = Tensor::array(&[1; 101], &[1u8]).unwrap();
    assert!(matches!(kind(draft.put(BASE_LAYER, "x", deep, Compression::None)), ErrorKind::Limit { .. }));
    let deep = Tensor::array(&[1; 256], &[1u8]).unwrap();
    assert!(matches!(kind(draft.set_metadata(BASE_LAYER, "x", deep)), ErrorKind::Limit { .. }));
    for block_size in [0, 1 << 31] {
        let storage = Storage { block_size: Some(block_size), ..Storage::default() };
        assert!(matches!(kind(draft.put(BASE_LAYER, "x", 1u8, storage)), ErrorKind::OutOfRange { .. }));
    }
    let storage = Storage { block_size: Some(1), ..Storage::default() };
    let many = vec![0u8; 10_001];
    assert!(matches!(
        kind(draft.put_slice(BASE_LAYER, "x", &[10_001], &many, storage)),
        ErrorKind::Limit { .. }
    ));
    assert!(matches!(
        kind(draft.put_slice(BASE_LAYER, "x", &[3], &many, Storage::default())),
        ErrorKind::Mismatch { .. }
    ));
    for codec in [Compression::Zstd, Compression::Lz4Shuffle, Compression::GzipShuffle] {
        assert!(draft.set_metadata_compression(codec).is_err());
    }
    assert_eq!(draft.arrays().len(), 0);
    // A key that only the prefix makes too long, and one that looks as if it belonged to a layer.
    draft.add_layer("a").unwrap();
    draft.put("a", &long[..65_530], 1u8, Compression::None).unwrap();
    assert!(draft.to_bytes(&[][..]).is_err());
    assert!(draft.remove("a", &long[..65_530]));
    draft.put(BASE_LAYER, "__layer_a__:x", 1u8, Compression::None).unwrap();
    assert!(draft.to_bytes(&[][..]).is_err());
}

#[test]
fn large_arrays_get_blocks_that_the_reference_opens() {
    let mut draft = Draft::new();
    for (gib, block_size) in [(4u64, 1 << 20), (9, 1 << 20), (10, 1 << 21), (500, 64 << 20)] {
        draft.put_pieces(BASE_LAYER, "x", DataType::Uint8, &[gib << 30], Storage::default()).unwrap();
        assert_eq!(draft.arrays()[0].block_size(), block_size, "{gib} GiB");
    }
    for len in [1 << 40, u64::MAX] {
        assert!(draft.put_pieces(BASE_LAYER, "x", DataType::Uint8, &[len], Storage::default()).is_err());
    }
    let huge = draft.put_pieces(BASE_LAYER, "x", DataType::Uint16, &[u64::MAX], Storage::default());
    assert!(huge.is_err());
}

/// More keys and layer arrays than the bitmaps of the reference can take: it throws there.
#[test]
fn many_keys_and_layers_are_written() {
    let mut draft = Draft::new();
    for index in 0..70 {
        draft.set_metadata(BASE_LAYER, &format!("meta{index}"), index).unwrap();
        let layer = format!("layer{}", index % 7);
        draft.add_layer(&layer).unwrap();
        draft.put(&layer, &format!("array{index}"), index, Compression::Lz4).unwrap();
    }
    let file = draft.to_bytes(&[][..]).unwrap();
    let dataset = open(&file);
    assert_eq!(complete(dataset.verify(&file[..])).unwrap(), []);
    assert_eq!(dataset.arrays().len(), 70);
    let keys = dataset.header().key_count;
    // 70 arrays, the 58 logical keys that the two words of a bitmap have room for, 70 metadata keys.
    assert_eq!(keys, 70 + 58 + 70);
}
