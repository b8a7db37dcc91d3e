//! XZ containers of LZMA2.

use lzma_rust2::{Read, XzReader};

use crate::error::ErrorKind;

/// Decodes the container `stored` into all of `out`.
///
/// The decoder's dictionary is bounded by `memory` bytes.
///
/// # Errors
/// [`ErrorKind::Codec`] for a malformed container, or one that needs more memory; [`ErrorKind::Mismatch`] when
/// it holds more or fewer bytes than `out` has.
pub fn decode(stored: &[u8], out: &mut [u8], memory: u64) -> Result<(), ErrorKind> {
    let kibibytes = u32::try_from(memory / 1024).unwrap_or(u32::MAX);
    let mut reader = XzReader::new_mem_limit(stored, false, kibibytes);
    let expected = out.len() as u64;
    let mut found = 0;
    let mut one_more = [0];
    loop {
        let (target, inside) = match out.get_mut(found..) {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (&mut one_more[..], false),
        };
        let malformed =
            |_| ErrorKind::Codec { codec: "xz", reason: "malformed container, or too large a dictionary" };
        match reader.read(target).map_err(malformed)? {
            0 if found as u64 == expected => return Ok(()),
            0 => return Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: found as u64 }),
            _ if !inside => {
                return Err(ErrorKind::Mismatch { what: "decoded bytes", expected, found: expected + 1 });
            }
            more => found += more,
        }
    }
}
