//! Nothing that a stream or a file holds makes a reader panic, and what decodes has the right number of values.
//!
//! TRIPOINT_CASES asks for more cases than the few that an ordinary run tries.

#![allow(missing_docs)]

use std::path::Path;
use std::{env, fs};

use core_codec::codec::{lzo, snappy};
use core_codec::limits::Limits;
use core_codec::source::complete;
use core_codec::tsfile::encoding::{Flavour, decode};
use core_codec::tsfile::query::{Aggregator, Ask, Batch, Plan, Rows, Serial, TimeRange};
use core_codec::tsfile::scan::Indexer;
use core_codec::tsfile::{DataType, Encoding, TsFile, Values};
use proptest::prelude::*;

fn cases(few: u32) -> ProptestConfig {
    let cases = env::var("TRIPOINT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(few);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Bytes of which many are small, as in headers.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => 0u8..10, 1 => any::<u8>(), 1 => Just(0xff), 1 => 0x7eu8..0x82];
    prop::collection::vec(byte, 0..120)
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.block_bytes = 1 << 20;
    limits.entries = 1 << 12;
    limits
}

fn drain(file: &TsFile, data: &[u8], plan: Plan) {
    let mut rows = Rows::new(file, plan);
    let mut batch = Batch::default();
    let mut last = None;
    for _ in 0..100 {
        let Ok(true) = complete(rows.next(file, data, &Serial, &mut batch)) else { return };
        assert!(batch.times.is_sorted_by(|a, b| a < b));
        assert!(batch.times.first() > last.as_ref());
        last = batch.times.last().copied();
        assert!(batch.columns.iter().all(|column| column.values.len() == batch.rows()));
        assert!(batch.columns.iter().all(|column| column.validity.len() == batch.rows()));
    }
}

/// Reads a file in every way there is.
fn read(data: &[u8]) {
    if let Ok(file) = complete(TsFile::open(data, &limits())) {
        let mut devices = file.devices(None);
        while let Ok(Some(device)) = complete(devices.next(data)) {
            let _ = complete(file.device(data, &device.id));
            let _ = complete(file.find(data, &device.id, "s1"));
            for range in [TimeRange::ALL, TimeRange { start: 0, end: 100 }] {
                let Ok(plan) = complete(Plan::new(&file, data, &device, None, range)) else { continue };
                let _ = complete(Aggregator::new(plan.clone(), Ask::All).run(&file, data, &Serial));
                drain(&file, data, plan);
            }
        }
    }
    if let Ok(mut indexer) = complete(Indexer::new(data, &limits())) {
        let _ = complete(indexer.run(data));
        let (file, _) = indexer.finish();
        let mut devices = file.devices(None);
        while let Ok(Some(device)) = complete(devices.next(data)) {
            if let Ok(plan) = complete(Plan::new(&file, data, &device, None, TimeRange::ALL)) {
                drain(&file, data, plan);
            }
        }
    }
}

fn files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tsfile"));
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).filter(|bytes| bytes.len() < 10_000).collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn decoders_give_the_right_number_of_values_or_an_error(stream in stream(), count in 0usize..300) {
        for &encoding in Encoding::ALL {
            for &dtype in DataType::ALL {
                for flavour in [Flavour::Cpp, Flavour::Java] {
                    let Some(mut values) = Values::new(dtype) else { continue };
                    if decode(encoding, dtype, flavour, &stream, count, &mut values).is_ok() {
                        prop_assert_eq!(values.len(), count, "{} {}", encoding, dtype);
                    }
                }
            }
        }
        let mut out = vec![0; count];
        let _ = (snappy::decode(&stream, &mut out), lzo::decode(&stream, &mut out));
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn changed_files_are_read_or_refused(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        copy in prop::option::of(any::<[prop::sample::Index; 3]>()),
    ) {
        let files = files();
        let mut bytes = file.get(&files).clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some([from, to, len]) = copy {
            let len = len.index(64);
            let (from, to) = (from.index(bytes.len() - len), to.index(bytes.len() - len));
            bytes.copy_within(from..from + len, to);
        }
        read(&bytes);
    }
}
