//! The reference streams of the benchmarks: made up, and the same bytes on every machine, boards included.
//!
//! - [`logic`]: 8 channels of a logic analyser. I2C-like and SPI-like bursts between idle stretches of 2,000 to
//!   60,000 samples, with rare glitches of one sample.
//! - [`adc`]: a 12-bit converter on a sine of amplitude 1,500 and a period of 1,000.3 samples, with noise of sigma 4.
//! - [`slow`]: a slow 12-bit sensor: a random walk with 2 bits of dither.
//!
//! ```
//! let line: Vec<u8> = streams::logic_bytes(1000);
//! assert_eq!(line, [0b0010_0011; 1000]);
//! let sine: Vec<u16> = streams::adc().take(500).collect();
//! assert!(sine[250] > 3500 && sine.iter().all(|sample| *sample < 4096));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod line;
mod random;

use alloc::vec::Vec;

pub use line::logic;
use random::Random;

/// The first `count` samples of [`logic`], a byte each.
pub fn logic_bytes(count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count);
    logic(count, |sample, run| bytes.resize(bytes.len() + run, sample));
    bytes
}

/// Samples of a 12-bit converter, without end.
pub fn adc() -> impl Iterator<Item = u16> {
    let mut random = Random::new(0xDEAD_BEEF_CAFE_F00D);
    (0_u32..).map(move |i| {
        let angle = f64::from(i) * core::f64::consts::TAU / 1000.3;
        let sample = 2048.0 + 1500.0 * libm::sin(angle) + 4.0 * random.gauss();
        libm::rint(sample).clamp(0.0, 4095.0) as u16
    })
}

/// Samples of a slow 12-bit sensor, without end.
pub fn slow() -> impl Iterator<Item = u16> {
    let mut random = Random::new(0x0BAD_C0DE_1234_5678);
    let mut level = 2048 * 4;
    core::iter::repeat_with(move || {
        level = (level + random.below(3)).saturating_sub(1).min(16_380);
        ((level + random.below(4)) >> 2) as u16
    })
}

/// `samples`, two bytes each, the low one first.
pub fn little_endian(samples: impl Iterator<Item = u16>) -> Vec<u8> {
    samples.flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// `logic` at 2^20 bytes, the others at 2^19 samples.
    fn hash(bytes: &[u8]) -> alloc::string::String {
        assert_eq!(bytes.len(), 1 << 20);
        Sha256::digest(bytes).iter().map(|byte| alloc::format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_streams_are_the_reference() {
        let logic = hash(&logic_bytes(1 << 20));
        assert_eq!(logic, "f19695b2527e14448b3082e8a5bc7ee08268bf6247346f5aab520d185ad9b9d9");
        let adc = hash(&little_endian(adc().take(1 << 19)));
        assert_eq!(adc, "3313dfbace6227f13d11071e960314c06c840918f033243414fbfe31edb27418");
        let slow = hash(&little_endian(slow().take(1 << 19)));
        assert_eq!(slow, "d3239bf82bc20d5e4c9979dcfcce87a406a3408adf1aa53be2e2cdb24a0c2816");
    }

    #[test]
    fn a_longer_logic_stream_starts_like_a_shorter_one() {
        let long = logic_bytes(200_000);
        for count in [0, 1, 1_999, 65_536, 199_999] {
            assert_eq!(logic_bytes(count), long[..count]);
        }
    }
}
