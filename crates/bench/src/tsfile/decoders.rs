//! Each decoder alone, on streams of the files in `testdata/tsfile`.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use core_codec::limits::Limits;
use core_codec::source::complete;
use core_codec::tsfile::chunk::Role;
use core_codec::tsfile::page::PageDecoder;
use core_codec::tsfile::{Column, TsFile};

/// Prints millions of values a second of each pair of encoding and type: the pages of the test files, decoded again
/// and again, decompression and times included.
///
/// # Errors
/// When the files cannot be read.
pub fn print() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tsfile");
    let mut rates = BTreeMap::new();
    let mut files: Vec<_> = folder.read_dir()?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(std::fs::DirEntry::path);
    for file in files {
        let path = file.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let tests_encodings =
            name.contains("_enc_") || name.contains("encodings") || name.contains("regular");
        if tests_encodings && path.extension().is_some_and(|extension| extension == "tsfile") {
            measure(&std::fs::read(&path)?, &mut rates)?;
        }
    }
    println!("\ndecoders alone, one thread (pages of 300 to 1000 values, their times included)");
    println!("{:<12} {:<10} {:>16}", "encoding", "type", "M values/s");
    for ((encoding, dtype), rate) in rates {
        println!("{encoding:<12} {dtype:<10} {:>16.1}", rate / 1e6);
    }
    Ok(())
}

type Rates = BTreeMap<(&'static str, &'static str), f64>;

fn measure(bytes: &[u8], rates: &mut Rates) -> Result<(), Box<dyn Error>> {
    let file = complete(TsFile::open(bytes, &Limits::default()))?;
    let mut devices = file.devices(None);
    while let Some(device) = complete(devices.next(bytes))? {
        for series in complete(file.all_series(bytes, &device))? {
            let Some(meta) = series.chunks.first() else { continue };
            let chunk = complete(file.chunk(bytes, &series.name, meta))?;
            let Some(page) = complete(chunk.pages().next(bytes, file.limits()))? else { continue };
            if chunk.role != Role::Plain {
                continue;
            }
            let statistics = page.statistics.as_ref().or(meta.statistics.as_ref());
            let mut decoder: PageDecoder = file.decoder();
            let mut column = Column::new(chunk.dtype).ok_or("type without values")?;
            let mut times = Vec::new();
            let (start, mut values) = (Instant::now(), 0);
            while start.elapsed() < Duration::from_millis(40) {
                for _ in 0..100 {
                    complete(decoder.rows(bytes, &chunk, &page, statistics, &mut times, &mut column))?;
                    values += times.len();
                    black_box(&column);
                }
            }
            let rate = values as f64 / start.elapsed().as_secs_f64();
            let best = rates.entry((chunk.encoding.name(), chunk.dtype.name())).or_insert(0.0);
            *best = rate.max(*best);
        }
    }
    Ok(())
}
