//! The bits of a hash that select its shard.

use std::num::NonZeroUsize;

use crate::filter::REGION_BITS;
use crate::hash::KeyHash;

/// A division of all keys among shards: the first bits of a hash select its shard, which sees the hash without these
/// bits, shifted out to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    bits: u32,
}

impl Division {
    /// 2^`bits` shards, at most 64.
    pub const fn new(bits: u32) -> Self {
        Self { bits: if bits < REGION_BITS { bits } else { REGION_BITS } }
    }

    /// Enough shards to keep these threads busy: a power of two, at most 64.
    pub const fn for_threads(threads: NonZeroUsize) -> Self {
        Self::new(usize::BITS - (threads.get() - 1).leading_zeros())
    }

    /// The number of bits that select a shard.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The number of shards.
    pub const fn shards(self) -> usize {
        1 << self.bits
    }

    /// The number of this key's shard, counted from 0.
    #[inline(always)]
    pub fn shard_of(self, hash: KeyHash) -> usize {
        // Two shifts, because a shift by 64 is not defined.
        ((hash.to_u64() >> 1) >> (63 - self.bits)) as usize
    }

    /// The hash as its shard sees it.
    #[inline(always)]
    pub fn within(self, hash: KeyHash) -> KeyHash {
        KeyHash::from_u64(hash.to_u64() << self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_the_threads() {
        let bits = [1, 2, 3, 4, 5, 16, 17, 64, 256, usize::MAX / 2 + 1]
            .map(|threads| Division::for_threads(NonZeroUsize::new(threads).unwrap()).bits());
        assert_eq!(bits, [0, 1, 2, 2, 3, 4, 5, 6, 6, 6]);
    }

    #[test]
    fn no_bit_of_a_hash_is_lost() {
        for bits in 0..=REGION_BITS {
            let division = Division::new(bits);
            for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63].map(KeyHash::from_u64) {
                let first = (division.shard_of(hash) as u128) << (64 - bits);
                let rest = u128::from(division.within(hash).to_u64() >> bits);
                assert_eq!(first | rest, u128::from(hash.to_u64()));
                assert!(division.shard_of(hash) < division.shards());
            }
        }
    }
}
