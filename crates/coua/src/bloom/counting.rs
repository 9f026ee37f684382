//! [`CountingBloomFilter`]: a Bloom filter that can remove, at four times the memory.
//!
//! Fan, Cao, Almeida, Broder 2000, "Summary cache: a scalable wide-area web cache sharing
//! protocol": a counter of four bits in place of every bit. It is here for comparison; a
//! [`CuckooFilter`](crate::CuckooFilter) does the same in a quarter of the memory, and counts.

use super::error::BloomBuildError;
use super::probe::positions;
use crate::error::repeated;
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::sizing::bloom::BloomPlan;
use crate::summary::summary;

/// The highest value of a counter, where it stays.
const STUCK: u64 = 15;
const COUNTERS_PER_WORD: u64 = 16;

/// A Bloom filter of four-bit counters, from which keys can be removed. O(k) per operation; building
/// takes O(counters), describing O(1).
///
/// A counter that reaches 15 stays there for good: how many more were added is unknown, and removing one
/// too many would lose somebody else's key. Its keys can then never be removed again.
/// Distinct keys hardly ever do this (about one counter in 10^15); one key inserted fifteen times does.
///
/// ```
/// use coua::bloom::CountingBloomFilter;
///
/// let mut filter = CountingBloomFilter::with_capacity(1_000, 0.01)?;
/// filter.insert("kestrel");
/// filter.insert("kestrel");
/// assert_eq!(filter.count("kestrel"), Some(2));
/// assert!(filter.remove("kestrel") && filter.remove("kestrel"));
/// assert!(!filter.contains("kestrel"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct CountingBloomFilter {
    /// Counter i in bits 4 (i % 16).. of word i / 16.
    words: Vec<u64>,
    plan: BloomPlan,
    hasher: KeyHasher,
}

impl CountingBloomFilter {
    /// The smallest filter that keeps the false-positive rate `rate` (0..1) while it holds at most
    /// `items` distinct keys; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// A rate that is not between 0 and 1 or out of reach of a 64-bit hash; not enough memory.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        Self::from_plan(BloomPlan::for_rate(items, rate)?, KeyHasher::default())
    }

    /// A filter with a counter for each bit of `plan`, and a hasher of one's own.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn from_plan(plan: BloomPlan, hasher: KeyHasher) -> Result<Self, BloomBuildError> {
        Ok(Self { words: repeated(0, plan.bits().div_ceil(COUNTERS_PER_WORD))?, plan, hasher })
    }

    /// Whether `key` was inserted and not removed as often: never wrong with no, wrong with yes at
    /// the false-positive rate.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        self.locate(hash).all(|position| self.counter(position) > 0)
    }

    /// Adds a copy of `key`.
    pub fn insert<K: Key>(&mut self, key: K) {
        let hash = key.hash_with(self.hasher);
        for position in self.locate(hash) {
            if self.counter(position) < STUCK {
                self.words[word_of(position)] += 1 << shift_of(position);
            }
        }
    }

    /// Takes a copy of `key` away; false, and nothing changed, if there is none.
    ///
    /// Remove only what was inserted: removing a false positive damages other keys, which may then be
    /// missed.
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        if !self.contains(hash) {
            return false;
        }
        for position in self.locate(hash) {
            // Zero is met here only by a false positive with two probes at one counter.
            if (1..STUCK).contains(&self.counter(position)) {
                self.words[word_of(position)] -= 1 << shift_of(position);
            }
        }
        true
    }

    /// How many copies of `key` there are at most: never fewer than were inserted and not removed,
    /// more where counters are shared. `None` if it may be any number from 15 up.
    pub fn count<K: Key>(&self, key: K) -> Option<u64> {
        let hash = key.hash_with(self.hasher);
        let lowest = self.locate(hash).map(|position| self.counter(position)).min();
        lowest.filter(|&count| count < STUCK)
    }

    /// Forgets every key. O(counters).
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Counters and probes.
    pub fn plan(&self) -> BloomPlan {
        self.plan
    }

    /// The hash of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Bytes of memory that hold the counters.
    pub fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    fn locate(&self, hash: KeyHash) -> impl Iterator<Item = u64> + use<> {
        positions(hash.to_u64(), self.plan.probes(), self.plan.bits())
    }

    fn counter(&self, position: u64) -> u64 {
        (self.words[word_of(position)] >> shift_of(position)) & STUCK
    }
}

fn word_of(position: u64) -> usize {
    (position / COUNTERS_PER_WORD) as usize
}

fn shift_of(position: u64) -> u64 {
    position % COUNTERS_PER_WORD * 4
}

summary!(CountingBloomFilter: plan);
