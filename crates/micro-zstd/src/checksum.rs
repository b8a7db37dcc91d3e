//! The optional checksum of a frame's content: the low half of its XXH64 (RFC 8878, section 3.1.1).

/// What an encoder does about the content checksum: [`NoChecksum`] or [`Xxh64`].
pub trait Checksum: Sized + sealed::Checksum {}

impl Checksum for NoChecksum {}
impl Checksum for Xxh64 {}

pub(crate) mod sealed {
    pub trait Checksum {
        /// The state before [`start`](Self::start), all zero.
        const NEW: Self;
        const PRESENT: bool;
        fn start(&mut self);
        fn update(&mut self, bytes: &[u8]);
        /// The four bytes that end the frame.
        fn value(&self) -> u32;
    }
}

/// Frames without a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoChecksum;

impl sealed::Checksum for NoChecksum {
    const NEW: Self = Self;
    const PRESENT: bool = false;
    #[inline(always)]
    fn start(&mut self) {}
    #[inline(always)]
    fn update(&mut self, _: &[u8]) {}
    #[inline(always)]
    fn value(&self) -> u32 {
        0
    }
}

/// Frames end with the low four bytes of the XXH64 of their content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Xxh64 {
    lanes: [u64; 4],
    total: u64,
    /// The bytes that do not fill a stripe yet: `total % 32` of them.
    partial: [u8; STRIPE],
}

const STRIPE: usize = 32;
const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

fn round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

impl Xxh64 {
    fn stripe(lanes: &mut [u64; 4], stripe: &[u8; STRIPE]) {
        let (words, _) = stripe.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }

    /// Of the bytes that do not fill a stripe, how many there are.
    fn pending(&self) -> usize {
        self.total as usize % STRIPE
    }
}

impl sealed::Checksum for Xxh64 {
    const NEW: Self = Self { lanes: [0; 4], total: 0, partial: [0; STRIPE] };
    const PRESENT: bool = true;

    fn start(&mut self) {
        self.lanes = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
        self.total = 0;
    }

    fn update(&mut self, mut bytes: &[u8]) {
        let pending = self.pending();
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if pending > 0 {
            let free = self.partial.get_mut(pending..).unwrap_or_default();
            let Some((head, rest)) = bytes.split_at_checked(free.len()) else {
                free.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                return;
            };
            free.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
            Self::stripe(&mut self.lanes, &self.partial);
            bytes = rest;
        }
        let (stripes, rest) = bytes.as_chunks::<STRIPE>();
        for stripe in stripes {
            Self::stripe(&mut self.lanes, stripe);
        }
        self.partial.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    }

    fn value(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.total < STRIPE as u64 {
            P5
        } else {
            let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
            let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
            self.lanes
                .iter()
                .fold(sum, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
        };
        hash = hash.wrapping_add(self.total);
        let (words, rest) = self.partial.get(..self.pending()).unwrap_or_default().as_chunks::<8>();
        for word in words {
            hash ^= round(0, u64::from_le_bytes(*word));
            hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        }
        let (words, rest) = rest.as_chunks::<4>();
        for word in words {
            hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(P1);
            hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        }
        for byte in rest {
            hash ^= u64::from(*byte).wrapping_mul(P5);
            hash = hash.rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ hash >> 33).wrapping_mul(P2);
        hash = (hash ^ hash >> 29).wrapping_mul(P3);
        (hash ^ hash >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Checksum as _;
    use super::*;

    fn hash(pieces: &[&[u8]]) -> u32 {
        let mut state = Xxh64::NEW;
        state.start();
        pieces.iter().for_each(|piece| state.update(piece));
        state.value()
    }

    #[test]
    fn known_hashes() {
        // The low halves of XXH64 with seed 0.
        assert_eq!(hash(&[]), 0x51D8_E999);
        assert_eq!(hash(&[b"abc"]), 0xAD77_0999);
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        let bytes: [u8; 200] = core::array::from_fn(|i| (i * 7) as u8);
        for len in 0..bytes.len() {
            for at in [0, 1, 3, 8, 31, 32, 33, 64, 100] {
                let (a, b) = bytes[..len].split_at(at.min(len));
                assert_eq!(hash(&[a, b]), hash(&[&bytes[..len]]), "{at} of {len}");
            }
        }
    }
}
