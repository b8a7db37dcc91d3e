//! A hash of each series.

use std::io::{self, BufWriter, IntoInnerError, Write};

use core_codec::tsfile::query::Plan;
use core_codec::tsfile::{Value, Values};
use sha2::{Digest, Sha256};
use std_io::tsfile::{Batch, TimeRange, TsFile};

use super::items::{Described, Look, describe, segments};
use super::values;
use crate::document::Outcome;
use crate::output::{Row, hex, row};

pub(super) fn emit(
    file: &TsFile,
    emit: &mut dyn FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    for device in file.devices(None) {
        let device = match device {
            Ok(device) => device,
            Err(error) => {
                outcome = Outcome::Failed;
                emit(row([("format", "tsfile".into()), ("error", error.to_string().into())]))?;
                continue;
            }
        };
        let (all, broken) = describe(file, &device, Look::First);
        let time = file.input().run(|source| file.reader().series(source, &device, ""));
        for Described { series, chunk, .. } in all {
            let mut line = row([
                ("format", "tsfile".into()),
                ("device", segments(&device.id)),
                ("measurement", (&*series.name).into()),
                ("dtype", series.dtype.name().into()),
            ]);
            if let Some(chunk) = chunk {
                line.insert("encoding".into(), chunk.encoding.name().into());
                line.insert("compression".into(), chunk.compression.name().into());
            }
            let plan = match &time {
                // Nothing is looked up again: a node of the index may hold very many.
                Ok(time) if Values::new(series.dtype).is_some() => {
                    Ok(Plan::of_series(time.clone(), vec![series], TimeRange::ALL))
                }
                _ => file.plan(&device, Some(&[&*series.name]), TimeRange::ALL),
            };
            match plan.and_then(|plan| hashes(file, plan)) {
                Ok((count, times, values)) => {
                    line.insert("count".into(), count.into());
                    line.insert("times_sha256".into(), times.into());
                    line.insert("values_sha256".into(), values.into());
                }
                Err(error) => {
                    outcome = Outcome::Failed;
                    line.insert("error".into(), error.to_string().into());
                }
            }
            emit(line)?;
        }
        for error in broken {
            outcome = Outcome::Failed;
            emit(row([
                ("format", "tsfile".into()),
                ("device", segments(&device.id)),
                ("error", error.to_string().into()),
            ]))?;
        }
    }
    Ok(outcome)
}

/// A hash of what is written to it.
struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Number of values, and hashes of their times and of the values.
fn hashes(file: &TsFile, plan: Plan) -> Result<(u64, String, String), std_io::Error> {
    let (mut count, mut times, mut hash) = (0, Sha256::new(), BufWriter::new(Hash(Sha256::new())));
    let mut rows = file.read(plan);
    let mut batch = Batch::default();
    while rows.next(&mut batch)? {
        let Some(column) = batch.columns.first() else { continue };
        for (row, time) in batch.times.iter().enumerate() {
            let value: Option<Value<'_>> = column.get(row);
            if let Some(value) = value {
                count += 1;
                times.update(time.to_le_bytes());
                values::put_raw(&mut hash, value)?;
            }
        }
    }
    let hash = hash.into_inner().map_err(IntoInnerError::into_error)?;
    Ok((count, hex(&times.finalize()), hex(&hash.0.finalize())))
}
