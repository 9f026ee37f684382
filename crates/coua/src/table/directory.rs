//! From a hash prefix to its segment.

use crate::error::{OutOfMemory, repeated, reserve};
use crate::hash::KeyHash;

/// 2^bits entries, always; a segment of depth d has the 2^(bits - d) entries that start with its prefix.
#[derive(Debug)]
pub(crate) struct Directory {
    bits: u32,
    entries: Vec<u32>,
}

impl Directory {
    /// The directory of segments with these prefixes and depths, which cover all hashes and are numbered in this
    /// order.
    pub(super) fn of(
        segments: impl Iterator<Item = (u64, u32)> + Clone,
    ) -> Result<Self, OutOfMemory> {
        let bits = segments.clone().map(|(_, depth)| depth).max().unwrap_or(0);
        let mut directory = Self { bits, entries: repeated(0, 1 << bits)? };
        for (number, (prefix, depth)) in (0..).zip(segments) {
            directory.assign(prefix, depth, number);
        }
        Ok(directory)
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "an unchecked index: each single call goes through here")]
    pub(crate) fn segment_of(&self, hash: KeyHash) -> u32 {
        // The first `bits` bits: a multiplication by 2^bits takes fewer instructions than two shifts.
        let prefix =
            ((u128::from(hash.to_u64()) * u128::from(self.entries.len() as u64)) >> 64) as usize;
        debug_assert_eq!(self.entries.len(), 1 << self.bits);
        // SAFETY: the product is less than 2^64 times the number of entries.
        unsafe { *self.entries.get_unchecked(prefix) }
    }

    /// The number of prefix bits, and the segment of each prefix.
    pub(crate) fn entries(&self) -> (u32, &[u32]) {
        (self.bits, &self.entries)
    }

    /// The depth of the deepest segments.
    pub(crate) fn depth(&self) -> u32 {
        self.bits
    }

    /// Whether no segment has more than one entry: then all have the same depth.
    pub(crate) fn is_uniform(&self, segments: usize) -> bool {
        self.entries.len() == segments
    }

    /// Whether each prefix has the segment of its own number. O(segments).
    pub(crate) fn is_in_order(&self) -> bool {
        (0..).zip(&self.entries).all(|(number, &segment)| number == segment)
    }

    /// The segments in the order of their hashes.
    pub(crate) fn in_hash_order(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.chunk_by(u32::eq).map(|entries| entries[0])
    }

    /// How many segments hold hashes that begin with the first `bits` bits of `prefix`. O(entries / 2^`bits`).
    pub(crate) fn segments_under(&self, prefix: u64, bits: u32) -> usize {
        let entries = 1 << self.bits.saturating_sub(bits);
        let first = self.index(prefix) / entries * entries;
        self.entries[first..first + entries].chunk_by(u32::eq).count()
    }

    /// Takes the memory for a split of a segment of this depth.
    pub(crate) fn reserve_split(&mut self, depth: u32) -> Result<(), OutOfMemory> {
        let wanted = if depth == self.bits { self.entries.len() } else { 0 };
        reserve(&mut self.entries, wanted)
    }

    /// Gives the upper half of the segment that holds `prefix`, `depth` bits deep, to `upper`. Its memory has
    /// been [taken](Self::reserve_split).
    pub(crate) fn split(&mut self, prefix: u64, depth: u32, upper: u32) {
        if depth == self.bits {
            let count = self.entries.len();
            self.entries.resize(2 * count, 0);
            for index in (0..count).rev() {
                let segment = self.entries[index];
                self.entries[2 * index..2 * index + 2].fill(segment);
            }
            self.bits += 1;
        }
        self.assign(prefix | 1 << (63 - depth), depth + 1, upper);
    }

    /// Gives all hashes that begin with the first `depth` bits of `prefix` this segment.
    pub(crate) fn assign(&mut self, prefix: u64, depth: u32, segment: u32) {
        let first = self.index(prefix);
        self.entries[first..first + (1 << (self.bits - depth))].fill(segment);
    }

    fn index(&self, prefix: u64) -> usize {
        ((prefix >> 1) >> (63 - self.bits)) as usize
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_divide_exactly_the_entries_of_their_segment() {
        let upper_half = 1u64 << 63;
        let mut directory = Directory::of([(0, 1), (upper_half, 1)].into_iter()).unwrap();
        for (depth, upper) in [(1, 2), (2, 3)] {
            directory.reserve_split(depth).unwrap();
            directory.split(upper_half, depth, upper);
        }
        assert_eq!(directory.in_hash_order().collect::<Vec<_>>(), [0, 1, 3, 2]);
        let prefixes = [0, upper_half, 5 << 61, 6 << 61].map(KeyHash::from_u64);
        assert_eq!(prefixes.map(|prefix| directory.segment_of(prefix)), [0, 1, 3, 2]);
        assert_eq!(directory.segment_of(KeyHash::from_u64(u64::MAX)), 2);
        assert_eq!(directory.segment_of(KeyHash::from_u64(0)), 0);
        let counted = |bits| prefixes.map(|prefix| directory.segments_under(prefix.to_u64(), bits));
        assert_eq!([counted(0), counted(1), counted(2)], [[4; 4], [1, 3, 3, 3], [1, 2, 2, 1]]);
        assert_eq!([counted(3), counted(9)], [[1; 4]; 2]);
        let segments = [(0, 1), (upper_half, 3), (5 << 61, 3), (6 << 61, 2)];
        let same = Directory::of(segments.into_iter()).unwrap();
        assert_eq!(same.entries, [0, 0, 0, 0, 1, 2, 3, 3]);
    }
}
