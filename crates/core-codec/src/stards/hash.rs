//! The hash that the key registry stores beside each key.

const SEED: u64 = 0xc70f_6907;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;

/// MurmurHash64A as `std::hash<std::string>` of libstdc++ computes it. Other standard libraries store other
/// values, so a reader never checks it.
#[must_use]
pub fn hash(key: &[u8]) -> u64 {
    let mix = |word: u64| word ^ (word >> 47);
    let mut state = SEED ^ (key.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, tail) = key.as_chunks::<8>();
    for word in words {
        let word = mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        state = (state ^ word).wrapping_mul(MULTIPLIER);
    }
    if !tail.is_empty() {
        let mut word = [0; 8];
        word[..tail.len()].copy_from_slice(tail);
        state = (state ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    mix(mix(state).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    #[test]
    fn equals_what_the_reference_stores() {
        // Registry entries of layers_GZIP.stards: tails of 5, 3, 1 and 0 bytes, and one word or several.
        for (key, hash) in [
            ("image", 17305139466586495055),
            ("wavelengths", 787385932233450284),
            ("base_only", 13667554710979946219),
            ("gain", 15939858965873630974),
            ("__layer_processed__:image", 10423408604143559390),
            ("__layer_calibrated__:wavelengths", 12101691564945553866),
            ("meta_only", 7815309803441787360),
        ] {
            assert_eq!(super::hash(key.as_bytes()), hash, "{key}");
        }
    }
}
