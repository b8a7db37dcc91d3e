//! What the targets of the TsFile decoders share.

use core_codec::tsfile::encoding::{Flavour, decode};
use core_codec::tsfile::{DataType, Encoding, Values};

/// More values than this are not asked for, so that a run is short.
const MOST: usize = 1 << 16;

/// Decodes `data` as a stream of `encoding`: type, flavour and number of values come from its first bytes.
///
/// A stream that decodes gives exactly as many values as were asked for.
pub fn decoder(encoding: Encoding, data: &[u8]) {
    let [dtype, flavour, low, high, stream @ ..] = data else { return };
    let dtype = DataType::ALL[usize::from(*dtype) % DataType::ALL.len()];
    let flavour = if flavour & 1 == 0 { Flavour::Cpp } else { Flavour::Java };
    let count = usize::from(u16::from_le_bytes([*low, *high])) % MOST;
    let Some(mut values) = Values::new(dtype) else { return };
    if decode(encoding, dtype, flavour, stream, count, &mut values).is_ok() {
        assert_eq!(values.len(), count);
    }
}
