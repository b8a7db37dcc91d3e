//! Finite state entropy: tables and states of the encoder (RFC 8878, section 4.1).

use crate::bits::BitWriter;

/// The largest accuracy of a table here. The format allows more for some; blocks of a few KiB have no use for it.
pub(crate) const ACCURACY_MAX: u32 = 7;
const STATES: usize = 1 << ACCURACY_MAX;

/// How a symbol moves the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transform {
    /// Added to the state, bits 8 and up are the number of bits to write.
    bits: u16,
    /// Added to what remains of the state, the index of the next one.
    next: i16,
}

/// An encoding table. That of a known number of symbols holds an array; all code takes it as one that holds a
/// slice.
#[derive(Clone, Debug)]
pub(crate) struct Table<S: ?Sized = [Transform]> {
    pub(crate) accuracy: u32,
    /// The next states, of which each is 2^accuracy to 2^(accuracy + 1) - 1.
    next: [u8; STATES],
    symbols: S,
}

impl<const SYMBOLS: usize> Table<[Transform; SYMBOLS]> {
    /// A table of one symbol, which takes no bits; all zero.
    pub(crate) const NEW: Self =
        Self { accuracy: 0, next: [0; STATES], symbols: [Transform { bits: 0, next: 0 }; SYMBOLS] };

    /// The table of a distribution, which may have symbols beyond: probabilities that sum up to 2^`accuracy`, where -1 stands for "less than 1".
    pub(crate) const fn of(distribution: &[i8], accuracy: u32) -> Self {
        let mut table = Self::NEW;
        build(&mut table, distribution, accuracy);
        table
    }
}

impl Table {
    /// Makes it a table of one symbol, which takes no bits.
    pub(crate) fn clear(&mut self) {
        self.accuracy = 0;
        self.next.fill(0);
        self.symbols.fill(Transform { bits: 0, next: 0 });
    }

    #[inline(always)]
    fn transform(&self, symbol: u8) -> Transform {
        self.symbols.get(usize::from(symbol)).copied().unwrap_or(Transform { bits: 0, next: 0 })
    }

    /// Bits in 1/256 that symbols of these counts take, about; `None` if one is not in the table.
    pub(crate) fn cost(&self, counts: &[u16]) -> Option<u32> {
        let size = 1 << self.accuracy;
        let mut cost = 0;
        for (transform, &count) in self.symbols.iter().zip(counts) {
            if count > 0 {
                let bits = u32::from(transform.bits);
                // From the least number of bits on a straight line to one more.
                let least = bits >> 8;
                if least >= self.accuracy && bits & 0xFF != 0 || least > self.accuracy {
                    return None;
                }
                let below = ((least + 1) << 8) - (bits + size);
                cost += u32::from(count) * (((least + 1) << 8) - ((below << 8) >> self.accuracy));
            }
        }
        Some(cost)
    }

    /// The first state, which `symbol` leaves behind without a bit: it is the last one that the decoder reaches.
    #[inline(always)]
    pub(crate) fn first(&self, symbol: u8) -> State {
        let Transform { bits, next } = self.transform(symbol);
        let count = (u32::from(bits) + (1 << 8)) >> 8;
        let value = (count << 8).wrapping_sub(u32::from(bits));
        State(self.next_state(value >> count, next))
    }

    #[inline(always)]
    fn next_state(&self, rest: u32, next: i16) -> u32 {
        let index = rest.wrapping_add(next as u32) as usize & (STATES - 1);
        u32::from(self.next[index])
    }
}

/// Builds the table of a distribution in place; see [`Table::of`].
// Indexes by masks and loop bounds only; loops are spelled out for const evaluation.
pub(crate) const fn build(table: &mut Table, distribution: &[i8], accuracy: u32) {
    let size = 1_usize << accuracy;
    let mask = size - 1;
    let symbols = table.symbols.len();
    table.accuracy = accuracy;
    // Spread the symbols as the decoder does. `next` holds them for now.
    let mut spread = [0_u8; STATES];
    let mut high = size;
    let mut symbol = 0;
    while symbol < distribution.len() {
        if distribution[symbol] == -1 {
            high -= 1;
            spread[high & (STATES - 1)] = symbol as u8;
        }
        symbol += 1;
    }
    let step = (size >> 1) + (size >> 3) + 3;
    let mut position = 0;
    symbol = 0;
    while symbol < distribution.len() {
        let mut left = distribution[symbol];
        while left > 0 {
            spread[position & (STATES - 1)] = symbol as u8;
            position = (position + step) & mask;
            while position >= high {
                position = (position + step) & mask;
            }
            left -= 1;
        }
        symbol += 1;
    }
    // Where the states of each symbol begin in `next`; kept in `transforms` until all are placed.
    let mut total = 0_i16;
    symbol = 0;
    while symbol < symbols && symbol < distribution.len() {
        table.symbols[symbol].next = total;
        let count = distribution[symbol];
        total += if count == -1 { 1 } else { count as i16 };
        symbol += 1;
    }
    let mut state = 0;
    while state < size && state < STATES {
        let symbol = spread[state] as usize;
        if symbol < symbols {
            let slot = table.symbols[symbol].next;
            table.next[slot as usize & (STATES - 1)] = (size + state) as u8;
            table.symbols[symbol].next = slot + 1;
        }
        state += 1;
    }
    symbol = 0;
    while symbol < symbols && symbol < distribution.len() {
        let count = match distribution[symbol] {
            -1 => 1,
            count => count as i16,
        };
        // `next` stands behind the symbol's states: the transform counts from `count` before them.
        table.symbols[symbol].next -= 2 * count;
        table.symbols[symbol].bits = if count <= 1 {
            // A symbol that does not occur would need more bits than any other: see `cost`.
            ((accuracy + 1 - count as u32) << 8) as u16 - size as u16
        } else {
            let most = accuracy - (count as u32 - 1).ilog2();
            ((most << 8) - ((count as u32) << most)) as u16
        };
        symbol += 1;
    }
}

/// The state of one of the interleaved encoders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State(u32);

impl State {
    /// Writes the bits that lead the decoder from the next state to this one.
    #[inline(always)]
    pub(crate) fn encode(&mut self, table: &Table, symbol: u8, writer: &mut BitWriter) {
        let Transform { bits, next } = table.transform(symbol);
        let count = (self.0 + u32::from(bits)) >> 8;
        writer.add(self.0 & !(u32::MAX << (count & 31)), count);
        self.0 = table.next_state(self.0 >> (count & 31), next);
    }

    /// Writes the state that the decoder starts with.
    pub(crate) fn finish(self, table: &Table, writer: &mut BitWriter) {
        writer.add(self.0 & !(u32::MAX << (table.accuracy & 31)), table.accuracy);
    }
}
