//! One block of a split-block Bloom filter, as Apache Parquet defines it.
//!
//! 256 bits in eight 32-bit words; a key sets one bit in each word, chosen by the top five bits of
//! the key's 32 bits times the word's salt. See `BloomFilter.md` of the Parquet format.

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 32;

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
pub(super) struct Block([u32; 8]);

impl Block {
    /// The block in which only the bits of a key with these 32 low hash bits are set.
    #[inline]
    pub(super) fn of(low: u32) -> Self {
        Self(SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27)))
    }

    /// Whether every bit of `key` is set, without a branch per word.
    #[inline]
    pub(super) fn contains(&self, key: Self) -> bool {
        let missing = self.0.iter().zip(key.0).fold(0, |missing, (word, mask)| missing | (mask & !word));
        missing == 0
    }

    #[inline]
    pub(super) fn union_with(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, mask)| *word |= mask);
    }

    pub(super) fn intersect_with(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, mask)| *word &= mask);
    }

    /// The chance that an absent key finds its eight bits set here.
    pub(super) fn false_positive_rate(&self) -> f64 {
        self.0.iter().map(|word| f64::from(word.count_ones()) / 32.0).product()
    }

    pub(super) fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn to_bytes(self) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        let (chunks, _) = bytes.as_chunks_mut();
        chunks.iter_mut().zip(self.0).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; BLOCK_BYTES]) -> Self {
        let (chunks, _) = bytes.as_chunks();
        let mut words = [0; 8];
        words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u32::from_le_bytes(*chunk));
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_sets_one_bit_per_word() {
        for low in [0, 1, 0x8000_0000, u32::MAX, 123_456_789] {
            let key = Block::of(low);
            assert!(key.0.iter().all(|word| word.is_power_of_two()));
            assert!(key.contains(key) && !Block::default().contains(key));
            assert_eq!(key.ones(), 8);
        }
    }

    #[test]
    fn bytes_are_little_endian_words_in_order() {
        let mut bytes = [0; BLOCK_BYTES];
        bytes[0] = 1;
        bytes[7] = 0x80;
        let block = Block::from_bytes(&bytes);
        assert_eq!(block.0, [1, 0x8000_0000, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block.to_bytes(), bytes);
    }
}
