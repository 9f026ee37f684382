//! Counts of further copies of keys: 12 bytes per key, in the order of their hashes.
//!
//! A directory leads from the first bits of a hash to a page of few entries, in order (extendible hashing). A
//! full page is divided in two. Hashes are spread evenly, so the hash predicts the approximate place of an entry. If they
//! are not, pages cannot be divided any further, and refuse entries.

use std::iter::successors;

use crate::sizing::COPIES_ENTRY_BYTES as ENTRY_BYTES;
use crate::table::prefetch;

/// The most entries of a page.
const PAGE: usize = 64;
/// Bits by which the directory may exceed what the pages need. The keys of a shard share this many bits.
const MOST_IMBALANCE: u32 = 6;
/// Most entries are within this distance of the predicted place: half the square root of the entries of a page.
const NEAR: usize = 4;
/// The fewest entries that a page is counted as: a table keeps its pages after removals.
const LEAST_COUNTED: usize = PAGE / 16;
/// The most bytes that one more entry is counted as.
pub(super) const MOST_BYTES_TO_INSERT: usize = LEAST_COUNTED * ENTRY_BYTES;

/// The further copies of a key. Three half words, so that there is no padding between entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Upper and lower half.
    hash: [u32; 2],
    copies: u32,
}

impl Entry {
    fn new(hash: u64, copies: u32) -> Self {
        Self { hash: [(hash >> 32) as u32, hash as u32], copies }
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        u64::from(self.hash[0]) << 32 | u64::from(self.hash[1])
    }
}

/// The entries of all hashes that begin with the same bits.
#[derive(Clone, Debug, Default)]
struct Page {
    /// The number of these bits.
    depth: u32,
    /// In the order of their hashes.
    entries: Vec<Entry>,
}

impl Page {
    /// The place of an entry if hashes are spread evenly.
    #[inline(always)]
    fn guess(&self, hash: u64) -> usize {
        ((u128::from(hash << self.depth) * self.entries.len() as u128) >> 64) as usize
    }

    /// The place of the entry, or the place for one.
    #[inline(always)]
    fn find(&self, hash: u64) -> Result<usize, usize> {
        let entries = &self.entries[..];
        let mut at = self.guess(hash);
        while at > 0 && entries[at - 1].hash() >= hash {
            at -= 1;
        }
        while at < entries.len() && entries[at].hash() < hash {
            at += 1;
        }
        let is_there = entries.get(at).is_some_and(|entry| entry.hash() == hash);
        if is_there { Ok(at) } else { Err(at) }
    }

    /// Entries to allocate when there is no room.
    fn room(&self) -> usize {
        (self.entries.len() + 1).next_multiple_of(8).min(PAGE)
    }
}

/// Counts by hash.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyTable {
    pages: Vec<Page>,
    /// The number of the page for hashes that begin with these bits; empty without pages.
    directory: Vec<u32>,
    bits: u32,
    entries: usize,
    /// Pages that the expected entries will fill.
    expected: usize,
}

impl CopyTable {
    /// Keys that have further copies.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Announces `entries` entries, in the order of their hashes: until all are inserted, their pages are uneven.
    pub(super) fn expect(&mut self, entries: usize) {
        self.expected = (self.entries + entries) / PAGE;
    }

    /// Estimated from the average per entry, so that it does not depend on the order of the keys.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.max(self.pages.len() * LEAST_COUNTED) * ENTRY_BYTES
    }

    #[inline(always)]
    fn place_in_directory(&self, hash: u64) -> usize {
        // Two shifts, because a shift by 64 is not defined.
        ((hash >> 1) >> (63 - self.bits)) as usize
    }

    #[inline(always)]
    fn page(&self, hash: u64) -> Option<&Page> {
        let number = *self.directory.get(self.place_in_directory(hash))?;
        Some(&self.pages[number as usize])
    }

    #[inline(always)]
    fn page_mut(&mut self, hash: u64) -> Option<&mut Page> {
        let number = *self.directory.get(self.place_in_directory(hash))?;
        Some(&mut self.pages[number as usize])
    }

    /// Prefetches what leads to a key's page.
    #[inline(always)]
    pub(super) fn prefetch_page(&self, hash: u64) {
        if let Some(page) = self.page(hash) {
            prefetch(std::ptr::from_ref(page).cast());
        }
    }

    /// Prefetches a key's entry, once its page is there.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        let Some(page) = self.page(hash) else { return };
        let (first, guess) = (page.entries.as_ptr(), page.guess(hash));
        for at in [guess.saturating_sub(NEAR), guess + NEAR] {
            prefetch(first.wrapping_add(at).cast());
        }
    }

    /// The further copies of a key.
    pub(super) fn get(&self, hash: u64) -> u32 {
        let Some(page) = self.page(hash) else { return 0 };
        page.find(hash).map_or(0, |at| page.entries[at].copies)
    }

    /// The count of a key that has further copies.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, hash: u64) -> Option<&mut u32> {
        let page = self.page_mut(hash)?;
        let at = page.find(hash).ok()?;
        Some(&mut page.entries[at].copies)
    }

    /// Adds a key that has no entry; false if its page cannot take it.
    pub(super) fn insert(&mut self, hash: u64, copies: u32) -> bool {
        if self.pages.is_empty() {
            self.pages.push(Page::default());
            self.directory.push(0);
        }
        while self.page(hash).is_some_and(|page| page.entries.len() == PAGE) {
            if !self.divide(hash) {
                return false;
            }
        }
        let Some(page) = self.page_mut(hash) else { return false };
        if page.entries.len() == page.entries.capacity() {
            page.entries.reserve_exact(page.room() - page.entries.len());
        }
        if let Err(at) = page.find(hash) {
            page.entries.insert(at, Entry::new(hash, copies));
        }
        self.entries += 1;
        true
    }

    /// Removes a key's entry, and returns its copies.
    pub(super) fn remove(&mut self, hash: u64) -> u32 {
        let Some(page) = self.page_mut(hash) else { return 0 };
        let Ok(at) = page.find(hash) else { return 0 };
        let copies = page.entries.remove(at).copies;
        if page.entries.len() < page.entries.capacity() / 2 {
            page.entries.shrink_to(page.room());
        }
        self.entries -= 1;
        copies
    }

    /// Divides the page of a hash in two, one bit deeper. Returns false if too few pages are that deep.
    fn divide(&mut self, hash: u64) -> bool {
        let number = self.directory[self.place_in_directory(hash)];
        let depth = self.pages[number as usize].depth;
        if depth == self.bits {
            if self.bits >= self.pages.len().max(self.expected).ilog2() + MOST_IMBALANCE {
                return false;
            }
            self.directory = self.directory.iter().flat_map(|&page| [page, page]).collect();
            self.bits += 1;
        }
        let upper_number = self.pages.len() as u32;
        let lower = &mut self.pages[number as usize];
        let upper_bit = 1 << (63 - depth);
        let middle = lower.entries.partition_point(|entry| entry.hash() & upper_bit == 0);
        let upper = Page { depth: depth + 1, entries: lower.entries.split_off(middle) };
        lower.depth = depth + 1;
        lower.entries.shrink_to_fit();
        self.pages.push(upper);
        let below = self.bits - (depth + 1);
        let first = self.place_in_directory(hash) >> below | 1;
        self.directory[first << below..][..1 << below].fill(upper_number);
        true
    }

    /// The hashes from `first` to `last` with their copies, in order.
    pub(super) fn range(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let end = self.place_in_directory(last);
        let page_at = |place: usize| self.pages.get(*self.directory.get(place)? as usize);
        let places = successors(Some(self.place_in_directory(first)), move |&place| {
            // A less deep page has several places in the directory.
            let below = self.bits - page_at(place)?.depth;
            Some(((place >> below) + 1) << below).filter(|&next| next <= end)
        });
        let entries = places.filter_map(page_at).flat_map(|page| &page.entries);
        let all = entries.map(|entry| (entry.hash(), entry.copies));
        all.filter(move |(hash, _)| (first..=last).contains(hash))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::smoke::few_in_miri;

    fn mix(n: u64) -> u64 {
        let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// What is counted, whatever the hashes share; entries that a page refuses are left out.
    #[test]
    fn counts_are_those_of_a_tree() {
        for shared in [0, 3, 12, 40] {
            let (mut table, mut tree) = (CopyTable::default(), BTreeMap::new());
            let mut refused = 0;
            for number in few_in_miri(0..20_000_u64, 600) {
                let hash = mix(mix(number) % 3_000) >> shared;
                if number % 5 < 3 {
                    if let Some(copies) = table.get_mut(hash) {
                        *copies += 1;
                    } else if !table.insert(hash, 1) {
                        refused += 1;
                        continue;
                    }
                    *tree.entry(hash).or_insert(0) += 1;
                } else {
                    assert_eq!(table.remove(hash), tree.remove(&hash).unwrap_or(0));
                }
                assert_eq!(table.get(hash), tree.get(&hash).copied().unwrap_or(0));
                assert_eq!(table.len(), tree.len());
            }
            assert!(
                table.range(0, u64::MAX).eq(tree.iter().map(|(&hash, &copies)| (hash, copies)))
            );
            for first in [1_u64 << 40, 1 << 61, 3 << 62] {
                let last = first | (first / 2) | 0xffff;
                let within = tree.range(first..=last).map(|(&hash, &copies)| (hash, copies));
                assert!(table.range(first, last).eq(within));
            }
            assert_eq!(refused > 0, shared > 6 && !cfg!(miri), "{shared}");
            for hash in tree.into_keys() {
                table.remove(hash);
            }
            assert_eq!((table.len(), table.range(0, u64::MAX).count()), (0, 0));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn entries_in_order_are_not_refused() {
        let mut hashes: Vec<_> = (1..=100_000).map(mix).collect();
        hashes.sort_unstable();
        let mut table = CopyTable::default();
        table.expect(hashes.len());
        assert!(hashes.iter().all(|&hash| table.insert(hash, 1)));
        assert_eq!(table.memory_bytes(), ENTRY_BYTES * table.len());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn an_entry_takes_few_bytes() {
        let mut table = CopyTable::default();
        for number in 1..=200_000 {
            let before = table.memory_bytes();
            assert!(table.insert(mix(number), 1));
            assert!(table.memory_bytes() <= before + MOST_BYTES_TO_INSERT);
            if number % 1000 == 0 {
                let counted = table.memory_bytes();
                assert_eq!(counted, ENTRY_BYTES * table.len());
                // The allocator takes 16 bytes more for each page.
                let pages = table.pages.iter().map(|page| page.entries.capacity());
                let pages = pages.map(|room| room * size_of::<Entry>() + size_of::<Page>() + 16);
                let taken = pages.sum::<usize>() + 4 * table.directory.len();
                assert!(taken < counted && counted < taken * 5 / 4, "{number}: {taken}");
            }
        }
    }
}
