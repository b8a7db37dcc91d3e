#![no_main]
//! A whole file: through the index, and by its markers.

use core_codec::limits::Limits;
use core_codec::source::complete;
use core_codec::tsfile::TsFile;
use core_codec::tsfile::query::{Aggregator, Ask, Batch, Plan, Rows, Serial, TimeRange};
use core_codec::tsfile::scan::Indexer;
use libfuzzer_sys::fuzz_target;

/// Batches that are read of one plan: hostile files may repeat a chunk as often as the limits allow.
const BATCHES: usize = 100;

fuzz_target!(|data: &[u8]| {
    let mut limits = Limits::default();
    limits.block_bytes = 1 << 20;
    limits.entries = 1 << 12;
    if let Ok(file) = complete(TsFile::open(data, &limits)) {
        let mut devices = file.devices(None);
        while let Ok(Some(device)) = complete(devices.next(data)) {
            let _ = complete(file.device(data, &device.id));
            for range in [TimeRange::ALL, TimeRange { start: 0, end: 100 }] {
                let Ok(plan) = complete(Plan::new(&file, data, &device, None, range)) else { continue };
                let _ = complete(Aggregator::new(plan.clone(), Ask::All).run(&file, data, &Serial));
                drain(&file, data, plan);
            }
        }
    }
    if let Ok(mut indexer) = complete(Indexer::new(data, &limits)) {
        let _ = complete(indexer.run(data));
        let (file, _) = indexer.finish();
        let mut devices = file.devices(None);
        while let Ok(Some(device)) = complete(devices.next(data)) {
            if let Ok(plan) = complete(Plan::new(&file, data, &device, None, TimeRange::ALL)) {
                drain(&file, data, plan);
            }
        }
    }
});

fn drain(file: &TsFile, data: &[u8], plan: Plan) {
    let mut rows = Rows::new(file, plan);
    let mut batch = Batch::default();
    let mut last = None;
    for _ in 0..BATCHES {
        let Ok(true) = complete(rows.next(file, data, &Serial, &mut batch)) else { return };
        assert!(batch.times.is_sorted_by(|a, b| a < b));
        assert!(batch.times.first().copied() > last || batch.times.is_empty());
        last = batch.times.last().copied().or(last);
        assert!(batch.columns.iter().all(|column| column.values.len() == batch.rows()));
    }
}
