//! From 64 hash bits to the k bit positions of a key.
//!
//! Position i is the top of `hash * MULTIPLIER^i`, scaled to the number of bits by a multiplication
//! ("multiply-shift": any number of bits, no division, no power of two). So the positions are
//! successive outputs of a multiplicative congruential generator that starts at the key's hash.
//!
//! That two hash values are enough for k probes is known from Kirsch and Mitzenmacher 2006 ("Less
//! hashing, same performance"); their `a + i b` and the enhanced double hashing of Dillinger and
//! Manolios 2004 raise the rate of small filters, because a and b have only m^2 values there.
//! Remixing the whole 64-bit hash for every probe (Dillinger, in `RocksDB`'s `FastLocalBloom`) does
//! not, costs one multiplication per probe, and makes any 64 bits enough: two keys share all probes
//! only if their hashes are equal.

/// A multiplier whose successive outputs fill space evenly in 2 to 8 dimensions: Steele and Vigna
/// 2022, "Computationally easy, spectrally good multipliers for congruential pseudorandom number
/// generators", table of 64-bit multiplicative generators. Part of the meaning of every filter.
const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// The bit positions of one key, each below the number of bits.
#[inline]
pub(super) fn positions(hash: u64, probes: u32, bits: u64) -> impl Iterator<Item = u64> {
    let (mut state, mut left) = (hash, probes);
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let position = ((u128::from(state) * u128::from(bits)) >> 64) as u64;
        state = state.wrapping_mul(MULTIPLIER);
        Some(position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_stay_below_the_number_of_bits() {
        for bits in [1, 2, 3, 1 << 18, (1 << 40) + 7, u64::MAX] {
            for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
                assert!(positions(hash, 64, bits).all(|position| position < bits));
            }
        }
    }

    #[test]
    fn positions_are_a_promise() {
        let positions = |bits| positions(0x0123_4567_89ab_cdef, 4, bits).collect::<Vec<_>>();
        assert_eq!(positions(1000), [4, 679, 520, 510]);
        assert_eq!(
            positions(1 << 40),
            [4_886_718_345, 747_298_605_859, 571_871_971_809, 560_934_177_012]
        );
    }
}
