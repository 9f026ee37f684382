//! A compact sorted list of hashes, with as many bits of each as a table would keep, in memory as in
//! [images](coua_image).
//!
//! The words depend only on the hashes, not on the order of insertions and removals.

use std::ops::Range;

use coua::KeyHash;
use coua_image::{HashLayout, ListedHashes, bits_at};

use crate::error::CommandError;

/// A sorted list of hashes; equal ones are all kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortedHashes {
    words: Vec<u64>,
    len: u16,
    /// The number of highest bits kept of each hash: 8 to 64.
    bits: u8,
}

/// The hashes with the same bits: their indices, and the place of the first among the ones and zeros.
struct Equals {
    numbers: Range<usize>,
    at: usize,
}

impl SortedHashes {
    /// An empty list of the highest `bits` bits of hashes.
    pub(super) fn new(bits: u8) -> Self {
        Self { words: vec![0; Self::words_for(bits, 0)], len: 0, bits }
    }

    /// Words that `len` hashes take.
    pub(super) fn words_for(bits: u8, len: usize) -> usize {
        HashLayout::of(bits, len).words()
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn len(&self) -> usize {
        self.len.into()
    }

    pub(super) fn bits(&self) -> u8 {
        self.bits
    }

    /// For each hash, the smallest with the same kept bits.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.values().map(|value| value << (64 - self.bits))
    }

    /// Counts the hashes that begin with the bits of this one.
    pub(super) fn count(&self, hash: u64) -> usize {
        self.equals(self.value_of(hash)).numbers.len()
    }

    /// Reserves memory for `len` hashes.
    pub(super) fn reserve(&mut self, len: usize) -> Result<(), CommandError> {
        let more = Self::words_for(self.bits, len).saturating_sub(self.words.len());
        self.words.try_reserve_exact(more).map_err(|_| CommandError::NoMemory)
    }

    /// Adds a hash.
    pub(super) fn insert(&mut self, hash: u64) -> Result<(), CommandError> {
        let value = self.value_of(hash);
        let (before, after) = (self.layout(), HashLayout::of(self.bits, self.len() + 1));
        self.reserve(after.len)?;
        let Equals { numbers, at } = self.equals(value);
        let number = numbers.start;
        if (before.low, before.high) != (after.low, after.high) {
            let mut values = self.values_with(1)?;
            values.insert(number, value);
            return self.write(&values);
        }
        self.words.resize(after.words(), 0);
        insert_bits(&mut self.words, number * after.low, after.low, low(after, value));
        insert_bits(&mut self.words, after.ranges_at() + at, 1, 1);
        self.len += 1;
        Ok(())
    }

    /// Adds those hashes that `wants` accepts, which receives whether one with the same bits exists. Returns, in order,
    /// which were accepted. O(hashes before and after).
    pub(super) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        wants: impl Fn(bool) -> bool,
    ) -> Result<Vec<bool>, CommandError> {
        let mut values = self.values_with(hashes.len())?;
        let before = values.len();
        let mut order: Vec<_> =
            hashes.iter().map(|hash| self.value_of(hash.to_u64())).zip(0..).collect();
        order.sort_unstable();
        let mut wanted = vec![false; hashes.len()];
        let mut present = values.clone().into_iter().peekable();
        for &(value, place) in &order {
            while present.next_if(|&it| it < value).is_some() {}
            let is_there =
                present.peek() == Some(&value) || values[before..].last() == Some(&value);
            wanted[place] = wants(is_there);
            if wanted[place] {
                values.push(value);
            }
        }
        values.sort_unstable();
        self.write(&values).map(|()| wanted)
    }

    /// Removes one hash with the bits of this one, if present. Keeps memory for `kept` hashes.
    pub(super) fn remove(&mut self, hash: u64, kept: usize) -> bool {
        let Equals { numbers, at } = self.equals(self.value_of(hash));
        if numbers.is_empty() {
            return false;
        }
        let number = numbers.start;
        let (before, after) = (self.layout(), HashLayout::of(self.bits, self.len() - 1));
        if (before.low, before.high) == (after.low, after.high) {
            remove_bits(&mut self.words, before.ranges_at() + at, 1);
            remove_bits(&mut self.words, number * before.low, before.low);
            self.words.truncate(after.words());
            self.len -= 1;
        } else {
            let mut values: Vec<_> = self.values().collect();
            values.remove(number);
            // There is room for more.
            self.write(&values).ok();
        }
        self.words.shrink_to(Self::words_for(self.bits, kept));
        true
    }

    fn layout(&self) -> HashLayout {
        HashLayout::of(self.bits, self.len())
    }

    fn value_of(&self, hash: u64) -> u64 {
        hash >> (64 - self.bits)
    }

    /// The hashes with this value, or where they would be. O(log copies).
    fn equals(&self, value: u64) -> Equals {
        let layout = self.layout();
        let (range, wanted) = ((value >> layout.low) as usize, low(layout, value));
        let start = self.start_of(layout, range);
        let numbers = start - range..self.end_of(layout, start) - range;
        let low_of = |number: usize| layout.low_of(&self.words, number);
        let first = first_where(numbers.clone(), |number| low_of(number) >= wanted);
        let end = first_where(first..numbers.end, |number| low_of(number) > wanted);
        Equals { numbers: first..end, at: first + range }
    }

    /// Where the ones of a range end that begins here: at a zero.
    fn end_of(&self, layout: HashLayout, mut at: usize) -> usize {
        loop {
            let ones = bits_at(&self.words, layout.ranges_at() + at, 64).trailing_ones();
            at += ones as usize;
            if ones < 64 {
                return at;
            }
        }
    }

    /// Where a range begins: range n after n zeros.
    fn start_of(&self, layout: HashLayout, range: usize) -> usize {
        let (mut at, mut left) = (0, range);
        if left == 0 {
            return 0;
        }
        loop {
            let mut zeros = !bits_at(&self.words, layout.ranges_at() + at, 64);
            let found = zeros.count_ones() as usize;
            if found >= left {
                for _ in 1..left {
                    zeros &= zeros - 1;
                }
                return at + zeros.trailing_zeros() as usize + 1;
            }
            (at, left) = (at + 64, left - found);
        }
    }

    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.layout().values(&self.words)
    }

    fn values_with(&self, more: usize) -> Result<Vec<u64>, CommandError> {
        let mut values = Vec::new();
        values.try_reserve_exact(self.len() + more).map_err(|_| CommandError::NoMemory)?;
        values.extend(self.values());
        Ok(values)
    }

    /// Replaces the list by these sorted values.
    fn write(&mut self, values: &[u64]) -> Result<(), CommandError> {
        self.reserve(values.len())?;
        let layout = HashLayout::of(self.bits, values.len());
        self.words.clear();
        self.words.resize(layout.words(), 0);
        self.len = values.len() as u16;
        for (number, &value) in values.iter().enumerate() {
            set_bits(&mut self.words, number * layout.low, low(layout, value));
            let range = value.unbounded_shr(layout.low as u32) as usize;
            set_bits(&mut self.words, layout.ranges_at() + range + number, 1);
        }
        Ok(())
    }
}

impl From<ListedHashes> for SortedHashes {
    fn from(listed: ListedHashes) -> Self {
        Self { words: listed.words, len: listed.len as u16, bits: listed.bits }
    }
}

/// The first number for which this holds, as for all after it, or the end.
fn first_where(mut numbers: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    while !numbers.is_empty() {
        let middle = numbers.start + numbers.len() / 2;
        if holds(middle) {
            numbers.end = middle;
        } else {
            numbers.start = middle + 1;
        }
    }
    numbers.start
}

fn low(layout: HashLayout, value: u64) -> u64 {
    value & !u64::MAX.unbounded_shl(layout.low as u32)
}

/// Sets bits where all are 0.
fn set_bits(words: &mut [u64], at: usize, value: u64) {
    let (word, shift) = (at / 64, (at % 64) as u32);
    if value == 0 {
        return;
    }
    words[word] |= value << shift;
    let rest = value.unbounded_shr(64 - shift);
    if rest != 0 {
        words[word + 1] |= rest;
    }
}

/// Inserts `width` bits, less than 64, at `at`: those from there on move up, and those beyond the last word are lost.
fn insert_bits(words: &mut [u64], at: usize, width: usize, value: u64) {
    let (first, width) = (at / 64, width as u32);
    let below = !u64::MAX.unbounded_shl((at % 64) as u32);
    for word in (first + 1..words.len()).rev() {
        let from = if word == first + 1 { words[first] & !below } else { words[word - 1] };
        words[word] = words[word] << width | from.unbounded_shr(64 - width);
    }
    if let Some(word) = words.get_mut(first) {
        *word = *word & below | (*word & !below) << width;
    }
    set_bits(words, at, value);
}

/// Removes `width` bits, less than 64: all after them move down.
fn remove_bits(words: &mut [u64], at: usize, width: usize) {
    let first = at / 64;
    let below = !u64::MAX.unbounded_shl((at % 64) as u32);
    let kept = words[first] & below;
    let moved = bits_at(words, first * 64 + at % 64 + width, 64 - at % 64);
    for word in first + 1..words.len() {
        words[word] = bits_at(words, word * 64 + width, 64);
    }
    words[first] = kept | moved.unbounded_shl((at % 64) as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua_dev::random::Random;

    fn check(list: &SortedHashes, model: &[u64]) {
        let mut values: Vec<_> = model.iter().map(|hash| hash >> (64 - list.bits())).collect();
        values.sort_unstable();
        assert_eq!(list.values().collect::<Vec<_>>(), values);
        let words = SortedHashes::words_for(list.bits(), values.len());
        assert_eq!((list.words().len(), list.len()), (words, values.len()));
        let bytes = ListedHashes::encode(4_096, list.bits(), list.len(), list.words());
        let again = ListedHashes::read(&bytes[..]).unwrap();
        let hashes: Vec<_> = again.hashes().map(KeyHash::to_u64).collect();
        assert_eq!(list.hashes().collect::<Vec<_>>(), hashes);
        assert_eq!(SortedHashes::from(again), *list);
    }

    #[test]
    fn a_list_does_as_a_sorted_vector() {
        for bits in [8, 9, 12, 23, 31, 40, 63, 64] {
            let mut random = Random::new(u64::from(bits));
            let (mut list, mut model) = (SortedHashes::new(bits), Vec::<u64>::new());
            for step in 0..3_000_u64 {
                let is_growing = (step / 700) % 2 == 0;
                // Some repeated, and some at the ends.
                let hash = match random.below(8) {
                    0 => model
                        .get(random.below(model.len().max(1) as u64) as usize)
                        .copied()
                        .unwrap_or(0),
                    1 => [0, u64::MAX][random.below(2) as usize],
                    _ => random.below(u64::MAX),
                };
                let same = |it: &u64| it >> (64 - bits) == hash >> (64 - bits);
                if is_growing || random.below(3) == 0 {
                    list.insert(hash).unwrap();
                    model.push(hash);
                } else {
                    let gone = if random.below(2) == 0 {
                        hash
                    } else {
                        model.first().copied().unwrap_or(hash)
                    };
                    let same = |it: &u64| it >> (64 - bits) == gone >> (64 - bits);
                    let place = model.iter().position(same);
                    assert_eq!(list.remove(gone, 0), place.is_some());
                    place.map(|place| model.swap_remove(place));
                }
                assert_eq!(
                    list.count(hash),
                    model.iter().filter(|it| same(it)).count(),
                    "{bits} {step}"
                );
                if step % 97 == 0 || model.len() < 20 {
                    check(&list, &model);
                }
            }
            check(&list, &model);
        }
    }

    #[test]
    fn many_at_once_are_as_one_after_the_other() {
        let mut random = Random::new(1);
        for bits in [8, 20, 64] {
            let [mut many, mut one] = [SortedHashes::new(bits), SortedHashes::new(bits)];
            for round in 0..30_u64 {
                let count = random.below(100);
                let hashes: Vec<_> =
                    (0..count).map(|_| random.below(200) << 56 | random.below(2)).collect();
                let keeps = round % 3 == 0;
                let expected: Vec<_> = hashes
                    .iter()
                    .map(|&hash| {
                        let wanted = !keeps || one.count(hash) == 0;
                        wanted && one.insert(hash).is_ok()
                    })
                    .collect();
                let hashes: Vec<_> = hashes.into_iter().map(KeyHash::from_u64).collect();
                let wants = |is_there: bool| !keeps || !is_there;
                assert_eq!(many.insert_all(&hashes, wants).unwrap(), expected);
                assert_eq!(many, one);
            }
        }
    }

    #[test]
    fn a_list_takes_two_bits_for_each_hash_beside_its_own() {
        for len in [10_usize, 100, 300, 1_000, 3_000] {
            let bits = SortedHashes::words_for(23, len) as f64 * 64.0 / len as f64;
            let own = 23.0 - (len as f64).log2();
            assert!(bits < own + 2.2 + 64.0 / len as f64, "{len}: {bits}, {own}");
        }
    }
}
