//! A random source whose values never change between releases and platforms (`SplitMix64`).

/// A stream of 64-bit values from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next value.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A value below `limit`, by multiply-shift; the bias is below `limit` / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        scale(self.next(), limit)
    }
}

/// The finaliser of `SplitMix64`: a bijection of 64-bit values.
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Maps a uniform 64-bit value onto 0..limit.
#[inline]
pub(crate) fn scale(value: u64, limit: u64) -> u64 {
    ((u128::from(value) * u128::from(limit)) >> 64) as u64
}
