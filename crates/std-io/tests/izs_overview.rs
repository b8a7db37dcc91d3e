//! Overviews say of each column what its elements say, whatever the zoom.

use core_codec::izs::model::{Kind, SchemaBuilder};
use core_codec::izs::{Compression, Dialect, Element};
use proptest::prelude::*;
use std_io::{Basis, Extent, IzsFile, IzsWriter, WriteOptions};

/// A file of one stream with summaries.
fn file(kind: Kind, element: Element, bytes: &[u8], dialect: Dialect) -> (tempfile::TempDir, IzsFile) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.izs");
    let bit_struct = kind == Kind::BitStruct;
    let mut schema = SchemaBuilder::new(kind);
    if bit_struct {
        for bit in 0..8 {
            schema.add(schema.root(), &bit.to_string(), Kind::Bits { bits: 1 }).unwrap();
        }
    }
    let stream = schema.stream_with(schema.root(), element, 4096, Compression::Zstd).unwrap();
    let options = WriteOptions::default().summaries(true).threads(1).dialect(dialect);
    let mut writer = IzsWriter::create(&path, schema.finish().unwrap(), &options).unwrap();
    writer.push_bytes(stream, bytes).unwrap();
    writer.finish().unwrap().commit().unwrap();
    let file = IzsFile::open(&path).unwrap();
    (folder, file)
}

/// Noise with spikes, so that no extreme may be missed.
fn noise(len: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let next = |index: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let spike = if state >> 52 == 0 { 200 } else { 0 };
        (index / 300 % 40) as u64 + (state >> 60) + spike
    };
    (0..len).map(next).collect()
}

fn extent(values: impl Iterator<Item = f64>) -> Option<Extent> {
    values.map(|value| Extent { min: value, max: value }).reduce(Extent::union)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn columns_are_exact(
        len in 1..60_000_usize,
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        width in 1..200_usize,
        seed in any::<u64>(),
        choice in 0..5_usize,
        dialect in prop::sample::select(&[Dialect::Spec, Dialect::V001][..]),
    ) {
        let values = noise(len, seed);
        let (kind, element) = [
            (Kind::Int { bits: 16 }, Element::U16),
            (Kind::Signed { bits: 8 }, Element::U8),
            (Kind::Float32, Element::U32),
            (Kind::BitStruct, Element::U8),
            (Kind::Int { bits: 4 }, Element::U64),
        ][choice].clone();
        let stored = |value: u64| match kind {
            Kind::Float32 => u64::from((value as f32 - 20.5).to_bits()),
            Kind::Int { bits: 4 } => value & 15,
            _ => value,
        };
        let size = usize::from(element.size());
        let bytes: Vec<u8> = values.iter().flat_map(|&v| stored(v).to_le_bytes()[..size].to_vec()).collect();
        let (_folder, file) = file(kind.clone(), element, &bytes, dialect);
        let (from, to) = (from.index(len + 1), to.index(len + 1));
        let range = from.min(to)..from.max(to);
        let seen = |value: u64, trace: usize| match kind {
            Kind::Signed { .. } => f64::from(value as u8 as i8),
            Kind::Float32 => f64::from(value as f32 - 20.5),
            Kind::BitStruct => (value >> trace & 1) as f64,
            Kind::Int { bits: 4 } => (value & 15) as f64,
            _ => value as f64,
        };
        let root = file.schema().root();
        let overview = file.overview(root, range.start as u64..range.end as u64, width, u64::MAX).unwrap();
        prop_assert_eq!(overview.bounds.len(), width + 1);
        prop_assert_eq!(overview.bounds[0], range.start as u64);
        prop_assert_eq!(overview.bounds[width], range.end as u64);
        for (number, trace) in overview.traces.iter().enumerate() {
            for (bounds, column) in overview.bounds.windows(2).zip(&trace.columns) {
                let elements = &values[bounds[0] as usize..bounds[1] as usize];
                prop_assert_eq!(*column, extent(elements.iter().map(|&value| seen(value, number))));
            }
        }
    }

    #[test]
    fn picks_are_elements_of_the_stream(
        len in 1..60_000_usize,
        from in any::<prop::sample::Index>(),
        width in 1..50_usize,
        dialect in prop::sample::select(&[Dialect::Spec, Dialect::V001][..]),
    ) {
        let times: Vec<u64> = (0..len as u64).map(|i| i * 17 + i % 5).collect();
        let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
        let (_folder, file) = file(Kind::Timestamp, Element::U64, &bytes, dialect);
        let range = from.index(len) as u64..len as u64;
        let id = file.find("").unwrap();
        let picks = file.picks(id, range.clone(), width).unwrap();
        prop_assert_eq!(picks.len(), width.min((range.end - range.start) as usize));
        for &(index, value) in &picks {
            prop_assert!(range.contains(&index));
            prop_assert_eq!(value, times[index as usize]);
        }
        prop_assert!(picks.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}

#[test]
fn a_wide_zoom_decodes_a_small_part() {
    let bytes: Vec<u8> = noise(4 << 20, 1).iter().map(|&value| value as u8).collect();
    let (_folder, file) = file(Kind::Int { bits: 8 }, Element::U8, &bytes, Dialect::Spec);
    let overview = file.overview(file.schema().root(), 1000..(4 << 20) - 1000, 500, u64::MAX).unwrap();
    assert_eq!(overview.basis, Basis::Summary(2048));
    assert!(overview.cost < 64 << 10, "{}", overview.cost);
}
