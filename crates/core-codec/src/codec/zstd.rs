//! Zstandard frames (RFC 8878).

use crate::error::ErrorKind;

/// Decodes the frames in `stored` (one or several, skippable frames between them) into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for malformed frames, [`ErrorKind::Mismatch`] when they decode to more or fewer bytes
/// than `out` has.
#[cfg(feature = "zstd-c")]
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let expected = out.len() as u64;
    match zstd_safe::decompress(out, stored) {
        Ok(found) if found as u64 == expected => Ok(()),
        Ok(found) => Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 }),
        Err(code) => Err(ErrorKind::Codec { codec: "zstd", reason: zstd_safe::get_error_name(code) }),
    }
}

/// Decodes the frames in `stored` (one or several, skippable frames between them) into all of `out`.
///
/// # Errors
/// [`ErrorKind::Codec`] for malformed frames, [`ErrorKind::Mismatch`] when they decode to more or fewer bytes
/// than `out` has.
#[cfg(not(feature = "zstd-c"))]
pub fn decode(stored: &[u8], out: &mut [u8]) -> Result<(), ErrorKind> {
    let expected = out.len() as u64;
    let found = ruzstd::decoding::FrameDecoder::new()
        .decode_all(stored, out)
        .map_err(|_| ErrorKind::Codec { codec: "zstd", reason: "malformed frame" })?;
    if found as u64 == expected {
        return Ok(());
    }
    Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 })
}
