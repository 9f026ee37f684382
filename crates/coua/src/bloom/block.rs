//! One block of a split-block Bloom filter, as Apache Parquet defines it.
//!
//! 256 bits in eight 32-bit words; a key sets one bit in each word, chosen by the top five bits of
//! the key's 32 bits times the word's salt. See `BloomFilter.md` of the Parquet format.

use crate::error::Insertion;
use crate::hash::KeyHash;

/// The odd multipliers of the Parquet format.
const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Aligned so that a block never lies across two cache lines.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Block {
    words: [u32; 8],
}

impl Block {
    /// The key's block of `blocks`, by the upper half of its hash.
    #[inline(always)]
    pub(super) fn place_of(hash: KeyHash, blocks: usize) -> usize {
        (((hash.to_u64() >> 32) * blocks as u64) >> 32) as usize
    }

    /// The block in which only the bits of a key are set, by the lower half of its hash.
    #[inline(always)]
    pub(super) fn of_key(hash: KeyHash) -> Self {
        Self::of(hash.to_u64() as u32)
    }

    /// The block in which only the bits of a key with these 32 low hash bits are set.
    #[inline(always)]
    fn of(low: u32) -> Self {
        // A loop, not the array's `map`: compilers make that a call in code for vectors, unless told to
        // optimize the whole program.
        let mut words = SALTS;
        for word in &mut words {
            *word = 1 << (low.wrapping_mul(*word) >> 27);
        }
        Self { words }
    }

    /// Whether every bit of `key` is set, without a branch per word.
    #[inline(always)]
    pub(super) fn contains(&self, key: Self) -> bool {
        let words = self.words.iter().zip(key.words);
        words.fold(0, |missing, (word, key)| missing | (key & !word)) == 0
    }

    /// Sets the bits of a key.
    #[inline(always)]
    pub(super) fn insert(&mut self, key: Self) -> Insertion {
        let present = self.contains(key);
        self.union_with(key);
        if present { Insertion::AlreadyPresent } else { Insertion::Inserted }
    }

    #[inline(always)]
    pub(super) fn union_with(&mut self, other: Self) {
        self.words.iter_mut().zip(other.words).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn intersect_with(&mut self, other: Self) {
        self.words.iter_mut().zip(other.words).for_each(|(word, other)| *word &= other);
    }

    /// The probability that an absent key's eight bits are set here.
    pub(super) fn false_positive_rate(&self) -> f64 {
        self.words.iter().map(|word| f64::from(word.count_ones()) / 32.0).product()
    }

    pub(super) fn ones(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn to_bytes(self) -> [[u8; 4]; 8] {
        self.words.map(u32::to_le_bytes)
    }

    pub(super) fn from_bytes(bytes: &[[u8; 4]; 8]) -> Self {
        Self { words: bytes.map(u32::from_le_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of the Parquet format, word by word.
    fn plain_mask(low: u32) -> [u32; 8] {
        let mut words = [0; 8];
        for i in 0..8 {
            let product = low.wrapping_mul(SALTS[i]);
            words[i] |= 1 << (product >> 27);
        }
        words
    }

    #[test]
    fn words_are_those_of_the_format() {
        for i in 0..1_000_u32 {
            let low = i.wrapping_mul(0x9e37_79b9) ^ (i << 27);
            let plain: Vec<u8> =
                plain_mask(low).iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(Block::of(low).to_bytes().as_flattened(), plain);
        }
    }

    #[test]
    fn a_key_sets_one_bit_per_word() {
        for low in [0, 1, 0x8000_0000, u32::MAX, 123_456_789] {
            let key = Block::of(low);
            assert!(key.contains(key) && !Block::default().contains(key));
            assert_eq!(key.ones(), 8);
            assert!((key.false_positive_rate() * 32_f64.powi(8) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn bytes_come_back() {
        let bytes = std::array::from_fn(|i| [i as u8; 4]);
        assert_eq!(Block::from_bytes(&bytes).to_bytes(), bytes);
    }
}
