//! A list of hashes, sorted, in few bits.
//!
//! Elias 1974, Fano 1971: n hashes are divided into about n ranges. First come the lowest bits of each hash; then, for
//! each range, a one for each of its hashes, and a zero. For hashes of h bits this takes about h - log2(n) + 2 bits
//! each.

use std::io::Read;

use coua::{KeyHash, LoadError};

use super::{SUM_BYTES, bad_field, put_u32, put_u64, sealed, u32_at, u64_at, unsealed};

/// The most hashes of a list.
pub const MOST_LISTED: usize = 4096;
/// Bytes before the hashes.
const FRONT: usize = 16;

/// The places of the bits of `len` hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLayout {
    /// The number of hashes.
    pub len: usize,
    /// Low bits of a hash.
    pub low: usize,
    /// Bits that select its range.
    pub high: usize,
}

impl HashLayout {
    /// The layout of `len` hashes of `bits` bits.
    pub fn of(bits: u8, len: usize) -> Self {
        let high = len.next_power_of_two().ilog2().max(1) as usize;
        let high = high.min(bits.into());
        Self { len, low: usize::from(bits) - high, high }
    }

    /// The bit where the ranges begin.
    pub fn ranges_at(self) -> usize {
        self.len * self.low
    }

    /// The number of bits.
    fn total(self) -> usize {
        self.ranges_at() + self.len + (1 << self.high)
    }

    /// The number of words.
    pub fn words(self) -> usize {
        self.total().div_ceil(64)
    }

    /// The low bits of hash `number`.
    pub fn low_of(self, words: &[u64], number: usize) -> u64 {
        bits_at(words, number * self.low, self.low)
    }

    /// The hashes in these words, in order. Ends early if there are too few.
    pub fn values(self, words: &[u64]) -> impl Iterator<Item = u64> + '_ {
        let (mut at, mut ones) = (0, bits_at(words, self.ranges_at(), 64));
        (0..self.len).map_while(move |number| {
            while ones == 0 {
                at += 64;
                if self.ranges_at() + at >= self.total() {
                    return None;
                }
                ones = bits_at(words, self.ranges_at() + at, 64);
            }
            let range = (at + ones.trailing_zeros() as usize).checked_sub(number)?;
            ones &= ones - 1;
            Some((range as u64).unbounded_shl(self.low as u32) | self.low_of(words, number))
        })
    }
}

/// `width` bits; those beyond the end are 0.
pub fn bits_at(words: &[u64], at: usize, width: usize) -> u64 {
    let (word, shift) = (at / 64, (at % 64) as u32);
    let here = words.get(word).map_or(0, |bits| bits >> shift);
    let next = words.get(word + 1).map_or(0, |bits| bits.unbounded_shl(64 - shift));
    (here | next) & !u64::MAX.unbounded_shl(width as u32)
}

/// The body of an image with few items: the highest bits of their hashes, sorted; equal ones are all there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHashes {
    /// The capacity of the filter.
    pub capacity: u64,
    /// Bits of each hash: 8 to 64.
    pub bits: u8,
    /// The number of hashes.
    pub len: usize,
    /// The hashes, as [`HashLayout`] has them.
    pub words: Vec<u64>,
}

impl ListedHashes {
    /// Writes the list.
    pub fn encode(capacity: u64, bits: u8, len: usize, words: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRONT + size_of_val(words) + SUM_BYTES);
        put_u64(&mut bytes, &[capacity]);
        put_u32(&mut bytes, &[bits.into(), len as u32]);
        put_u64(&mut bytes, words);
        sealed(bytes)
    }

    /// Reads a list.
    ///
    /// # Errors
    ///
    /// The list is damaged, its hashes are not sorted, or reading fails.
    pub fn read(mut input: impl Read) -> Result<Self, LoadError> {
        /// Most lists have fewer bytes.
        const ROOM: usize = 512;
        let mut bytes = Vec::with_capacity(ROOM);
        bytes.resize(FRONT, 0);
        input.read_exact(&mut bytes)?;
        let (bits, len) = front(&bytes)?;
        let layout = HashLayout::of(bits, len);
        let end = FRONT + layout.words() * size_of::<u64>();
        bytes.resize(end + SUM_BYTES, 0);
        input.read_exact(&mut bytes[FRONT..])?;
        let covered = unsealed(&bytes)?;
        let (words, _) = covered[FRONT..].as_chunks();
        let words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if !holds(layout, &words) {
            return bad_field("order of hashes", len as u32);
        }
        let capacity = u64_at(covered, 0).unwrap_or_default();
        Ok(Self { capacity, bits, len, words })
    }

    /// For each hash, the smallest with the same kept bits.
    pub fn hashes(&self) -> impl Iterator<Item = KeyHash> + '_ {
        let values = HashLayout::of(self.bits, self.len).values(&self.words);
        values.map(|value| KeyHash::from_u64(value << (64 - self.bits)))
    }

    /// The length of the list that begins with these bytes, if enough of them are there.
    pub(super) fn length(begun: &[u8]) -> Option<u64> {
        let (bits, len) = front(begun.get(..FRONT)?).ok()?;
        Some((FRONT + HashLayout::of(bits, len).words() * size_of::<u64>() + SUM_BYTES) as u64)
    }
}

/// The hash bits and the number of hashes, from which the length follows.
fn front(bytes: &[u8]) -> Result<(u8, usize), LoadError> {
    let [bits, len] = [8, 12].map(|at| u32_at(bytes, at).unwrap_or_default());
    match u8::try_from(bits) {
        Ok(kept @ 8..=64) if len as usize <= MOST_LISTED => Ok((kept, len as usize)),
        Ok(8..=64) => bad_field("number of hashes", len),
        _ => bad_field("hash bits", bits),
    }
}

/// Whether these words hold sorted hashes. A list of others could not be written again.
fn holds(layout: HashLayout, words: &[u64]) -> bool {
    // Each range ends with a zero, and so do the words.
    let ends = bits_at(words, layout.total() - 1, 64) == 0;
    let section = (layout.ranges_at()..layout.total()).step_by(64);
    let ones: u32 = section.map(|at| bits_at(words, at, 64).count_ones()).sum();
    ends && ones as usize == layout.len && layout.values(words).is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fifty hashes of 20 bits, of which 14 are low bits.
    const LAYOUT: HashLayout = HashLayout { len: 50, low: 14, high: 6 };

    fn words() -> Vec<u64> {
        let mut words = vec![0; LAYOUT.words()];
        let mut set = |at: usize| words[at / 64] |= 1 << (at % 64);
        for number in 0..50_usize {
            // Hash n is n * 2^14 + n.
            (0..14).filter(|bit| number >> bit & 1 == 1).for_each(|bit| set(number * 14 + bit));
            set(LAYOUT.ranges_at() + 2 * number);
        }
        words
    }

    fn read(bits: u8, len: usize, words: &[u64]) -> Result<ListedHashes, LoadError> {
        ListedHashes::read(&ListedHashes::encode(100, bits, len, words)[..])
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        assert_eq!(HashLayout::of(20, 50), LAYOUT);
        let list = read(20, 50, &words()).unwrap();
        assert_eq!((list.capacity, list.bits, list.len), (100, 20, 50));
        let expected = (0..50_u64).map(|n| KeyHash::from_u64((n << 14 | n) << 44));
        assert!(list.hashes().eq(expected));
    }

    #[test]
    fn words_that_no_list_has_are_refused() {
        assert!(read(20, 49, &words()).is_err());
        for bit in LAYOUT.ranges_at()..LAYOUT.words() * 64 {
            let mut forged = words();
            forged[bit / 64] ^= 1 << (bit % 64);
            assert!(read(20, 50, &forged).is_err(), "{bit}");
        }
    }

    #[test]
    fn hashes_that_are_not_sorted_are_refused() {
        let layout = HashLayout::of(8, 2);
        assert_eq!((layout.low, layout.high), (7, 1));
        // Two hashes of range 0: its ones, and the zeros that end both ranges.
        let list = |first: u64, second: u64| [first | second << 7 | 0b11 << 14];
        assert!(read(8, 2, &list(3, 5)).is_ok() && read(8, 2, &list(5, 5)).is_ok());
        let refused = read(8, 2, &list(5, 3)).unwrap_err();
        assert!(matches!(refused, LoadError::Field { name: "order of hashes", .. }), "{refused}");
    }
}
