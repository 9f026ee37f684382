//! A sequence of distinct keys. They are generated for every block, so they take no memory beside the filter and no
//! measured time.

use std::ops::Range;

/// Keys from this number on are never inserted.
pub const ABSENT: u64 = 1 << 40;

/// The finalizer of `SplitMix64`: a bijection of 64-bit values.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The keys with these numbers; all are distinct.
pub fn keys(numbers: Range<u64>) -> impl Iterator<Item = u64> {
    numbers.map(mix)
}
