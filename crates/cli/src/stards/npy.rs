//! NumPy's `.npy` files, version 1.0.

use std::io::Write;

use core_codec::stards::{DataType, Tensor};

use crate::document::expect_usage;

/// Of NumPy 2; those before read half as many.
const MOST_DIMENSIONS: usize = 64;

/// Writes what comes before the data. `characters` is the length of the longest string.
pub(super) fn header(
    out: &mut dyn Write,
    dtype: DataType,
    shape: &[u64],
    characters: usize,
) -> anyhow::Result<()> {
    let dimensions = shape.len();
    expect_usage(
        dimensions <= MOST_DIMENSIONS,
        format!("NumPy reads at most {MOST_DIMENSIONS} dimensions, these are {dimensions}"),
    )?;
    let descr = match dtype {
        DataType::Int8 => "|i1".into(),
        DataType::Int16 => "<i2".into(),
        DataType::Int32 => "<i4".into(),
        DataType::Int64 => "<i8".into(),
        DataType::Uint8 => "|u1".into(),
        DataType::Uint16 => "<u2".into(),
        DataType::Uint32 => "<u4".into(),
        DataType::Uint64 => "<u8".into(),
        DataType::Float32 => "<f4".into(),
        DataType::Float64 => "<f8".into(),
        DataType::String => format!("<U{characters}"),
    };
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if let [_] = shape { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version and length take ten bytes, the newline one; the data starts at a multiple of 64.
    let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let stated = u16::try_from(len)?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&stated.to_le_bytes())?;
    Ok(writeln!(out, "{text:<width$}", width = len - 1)?)
}

/// Writes strings as NumPy has them: UTF-32, all as long as the longest.
pub(super) fn strings(out: &mut dyn Write, shape: &[u64], tensor: &Tensor) -> anyhow::Result<()> {
    let texts: Vec<_> = tensor.iter_strings().map(String::from_utf8_lossy).collect();
    let characters = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    header(out, DataType::String, shape, characters)?;
    for text in texts {
        let padded = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(characters);
        for character in padded {
            out.write_all(&character.to_le_bytes())?;
        }
    }
    Ok(())
}
