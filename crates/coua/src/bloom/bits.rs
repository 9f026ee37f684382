//! A bit array that many threads may set at once.

use std::alloc::{Layout, alloc_zeroed};
use std::io::{self, Write};
use std::ptr::slice_from_raw_parts_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{BloomLoadError, BloomMergeError, check_equal};
use crate::error::{Insertion, OutOfMemory};
use crate::sizing::bloom::BloomBuildError;

/// Words that are written together.
const PIECE_WORDS: usize = 1 << 13;

/// `bits` bits in 64-bit words, bit i in word i / 64 at i % 64. Bits after the last are zero.
///
/// All accesses are `Relaxed`. A bit only ever changes from 0 to 1, and `fetch_or` is atomic,
/// so no order loses an insert; and bits are independent, so no order among them is
/// needed. A thread that *knows* of an insert (it joined the thread, took a lock, received a
/// message) has thereby synchronized with it and sees its bits.
pub(super) struct BitRow {
    words: Box<[AtomicU64]>,
    bits: u64,
}

impl BitRow {
    pub(super) fn zeroed(bits: u64) -> Result<Self, BloomBuildError> {
        if bits == 0 {
            return Err(BloomBuildError::NoBits);
        }
        Ok(Self { words: zeros(bits.div_ceil(64))?, bits })
    }

    pub(super) fn bits(&self) -> u64 {
        self.bits
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }

    #[inline]
    pub(super) fn contains(&self, position: u64) -> bool {
        let word = self.words[(position / 64) as usize].load(Ordering::Relaxed);
        (word >> (position % 64)) & 1 == 1
    }

    /// Sets all bits; `Inserted` if one of them was unset.
    #[inline]
    pub(super) fn insert(&self, positions: impl Iterator<Item = u64>) -> Insertion {
        let new = positions.fold(false, |new, position| self.set(position) | new);
        if new { Insertion::Inserted } else { Insertion::AlreadyPresent }
    }

    /// [`insert`](Self::insert) for the only owner: takes a quarter of the time in the cache, because
    /// nothing is locked.
    #[inline]
    pub(super) fn insert_alone(&mut self, positions: impl Iterator<Item = u64>) -> Insertion {
        let new = positions.fold(false, |new, position| self.set_alone(position) | new);
        if new { Insertion::Inserted } else { Insertion::AlreadyPresent }
    }

    /// Sets a bit; true if it was unset.
    #[inline]
    fn set(&self, position: u64) -> bool {
        let word = &self.words[(position / 64) as usize];
        let mask = 1 << (position % 64);
        // Looking first saves the locked instruction, which is several times slower, for bits already set:
        // half of them in a well-filled filter.
        let seen = word.load(Ordering::Relaxed);
        seen & mask == 0 && word.fetch_or(mask, Ordering::Relaxed) & mask == 0
    }

    #[inline]
    fn set_alone(&mut self, position: u64) -> bool {
        let word = self.words[(position / 64) as usize].get_mut();
        let mask = 1 << (position % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    pub(super) fn ones(&self) -> u64 {
        self.loaded().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    pub(super) fn union_with(&self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_bits(other)?;
        for (word, theirs) in self.words.iter().zip(other.loaded()) {
            word.fetch_or(theirs, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) fn intersect_with(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_bits(other)?;
        for (word, theirs) in self.words.iter_mut().zip(other.loaded()) {
            *word.get_mut() &= theirs;
        }
        Ok(())
    }

    /// The words, little endian.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.loaded().flat_map(u64::to_le_bytes).collect()
    }

    /// Writes the bytes of [`to_bytes`](Self::to_bytes) without the first `start` bytes.
    pub(super) fn write_from(&self, start: u64, out: &mut impl Write) -> io::Result<()> {
        let first = usize::try_from(start / 8).unwrap_or(usize::MAX).min(self.words.len());
        let mut skipped = (start % 8) as usize;
        let mut piece = Vec::with_capacity(PIECE_WORDS * 8);
        for words in self.words[first..].chunks(PIECE_WORDS) {
            piece.clear();
            piece.extend(words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()));
            out.write_all(&piece[skipped..])?;
            skipped = 0;
        }
        Ok(())
    }

    pub(super) fn from_bytes(bits: u64, bytes: &[u8]) -> Result<Self, BloomLoadError> {
        // Checks the length first, so that nothing is allocated for missing bytes.
        let (found, expected) = (bytes.len() as u64, bits.div_ceil(64) * 8);
        if found != expected {
            return Err(BloomLoadError::Length { found, expected });
        }
        let row = Self::zeroed(bits)?;
        let (chunks, _) = bytes.as_chunks();
        for (word, chunk) in row.words.iter().zip(chunks) {
            word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
        }
        let used = bits % 64;
        let last = row.loaded().next_back().unwrap_or(0);
        if used != 0 && last >> used != 0 {
            return Err(BloomLoadError::StrayBits { bits });
        }
        Ok(row)
    }

    fn loaded(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.words.iter().map(|word| word.load(Ordering::Relaxed))
    }

    fn check_bits(&self, other: &Self) -> Result<(), BloomMergeError> {
        check_equal(self.bits, other.bits, |left, right| BloomMergeError::Bits { left, right })
    }
}

impl Clone for BitRow {
    fn clone(&self) -> Self {
        Self { words: self.loaded().map(AtomicU64::new).collect(), bits: self.bits }
    }
}

impl PartialEq for BitRow {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits && self.loaded().eq(other.loaded())
    }
}

/// `count` words of zeros, at least one, in untouched memory: the system clears each page when it is first
/// touched, so allocating a large array takes no longer than a small one.
#[expect(unsafe_code, reason = "nothing else gives such memory, and an error where there is none")]
fn zeros(count: u64) -> Result<Box<[AtomicU64]>, OutOfMemory> {
    let refused = OutOfMemory { bytes: count.saturating_mul(8) };
    let count = usize::try_from(count).map_err(|_| refused)?;
    let layout = Layout::array::<AtomicU64>(count).map_err(|_| refused)?;
    // SAFETY: the layout is not empty, as a row has one bit at least.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refused);
    }
    // SAFETY: allocated just now with the layout of `count` words, all of them initialized: zeros.
    Ok(unsafe { Box::from_raw(slice_from_raw_parts_mut(start.cast(), count)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_tells_whether_a_bit_was_new() {
        let row = BitRow::zeroed(65).unwrap();
        assert!(!row.contains(64));
        assert_eq!(row.insert([64].into_iter()), Insertion::Inserted);
        assert_eq!(row.insert([64, 64].into_iter()), Insertion::AlreadyPresent);
        assert!(row.contains(64) && !row.contains(0));
        assert_eq!(row.ones(), 1);
    }

    #[test]
    fn bytes_are_checked() {
        let row = BitRow::zeroed(70).unwrap();
        row.set(1);
        row.set(69);
        let mut bytes = row.to_bytes();
        assert_eq!(bytes.len(), 16);
        assert!(BitRow::from_bytes(70, &bytes).unwrap() == row);
        let wrong = BitRow::from_bytes(70, &bytes[..15]).err();
        assert_eq!(wrong, Some(BloomLoadError::Length { found: 15, expected: 16 }));
        for start in 0..=16 {
            let mut rest = Vec::new();
            row.write_from(start, &mut rest).unwrap();
            assert_eq!(rest, bytes[start as usize..]);
        }
        bytes[8] |= 1 << 6;
        let stray = BitRow::from_bytes(70, &bytes).err();
        assert_eq!(stray, Some(BloomLoadError::StrayBits { bits: 70 }));
        let none = BitRow::from_bytes(0, &[]).err();
        assert_eq!(none, Some(BloomLoadError::Build(BloomBuildError::NoBits)));
        assert!(BitRow::from_bytes(u64::MAX, &bytes).is_err());
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn resident_pages() -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        pages.expect("the second number")
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_row_takes_memory_where_it_is_touched() {
        let before = resident_pages();
        let row = std::hint::black_box(BitRow::zeroed(1 << 33).unwrap());
        row.set(1 << 32);
        // Of the row's 1 GiB; other tests run at the same time.
        assert!(resident_pages() < before + (1 << 16), "{before} {}", resident_pages());
        assert!(row.contains(1 << 32));
    }

    #[test]
    #[cfg_attr(miri, ignore = "ends Miri")]
    fn memory_that_is_not_there_is_an_error() {
        // Read, because the compiler omits unused memory.
        let refused = std::hint::black_box(BitRow::zeroed(u64::MAX)).err();
        assert!(matches!(refused, Some(BloomBuildError::Allocation { .. })));
    }
}
