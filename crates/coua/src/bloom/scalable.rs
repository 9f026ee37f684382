//! [`ScalableBloomFilter`]: a chain of Bloom filters that grows and keeps its rate.
//!
//! Almeida, Baquero, Preguica, Hutchison 2007, "Scalable Bloom filters": stage i takes `c * 2^i`
//! keys at the rate `r / 2^(i+1)`. A query is wrong if any stage is, so the rates add up to less
//! than r, however many stages there are. The price: each stage costs one more bit and probe per
//! key than the one before, and a lookup asks every stage.

use super::error::BloomBuildError;
use super::filter::BloomFilter;
use crate::error::Insertion;
use crate::hash::{Key, KeyHasher};
use crate::sizing::bloom::{BloomPlan, check_rate};
use crate::summary::summary;

/// Each stage takes this many times the keys of the one before.
const GROWTH: u64 = 2;
/// Each stage is allowed this part of the rate of the one before; the first, of the whole.
const TIGHTENING: f64 = 0.5;

/// A Bloom filter that grows by adding filters, twice as large each time, so that the
/// false-positive rate stays below the stated one. A lookup is O(k log(n / first capacity)), an insert
/// too, but for the one that adds a stage and takes its memory. What describes the filter takes
/// O(stages) unless it says otherwise.
///
/// The semantics of `BF.ADD` and `BF.EXISTS`: [`insert_unique`](Self::insert_unique) adds a key only if it does
/// not seem to be there.
///
/// ```
/// use coua::{Insertion, bloom::ScalableBloomFilter};
///
/// let mut filter = ScalableBloomFilter::with_capacity(100, 0.01)?;
/// for key in 0..10_000_u32 {
///     filter.insert_unique(key)?;
/// }
/// assert_eq!(filter.insert_unique(7_u32)?, Insertion::AlreadyPresent);
/// assert!(filter.len() > 9_850 && filter.false_positive_rate() < 0.011);
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct ScalableBloomFilter {
    pub(super) stages: Vec<Stage>,
    rate: f64,
}

/// One filter of the chain. Only the last takes keys.
#[derive(Clone, PartialEq)]
pub(super) struct Stage {
    pub(super) filter: BloomFilter,
    /// Keys it holds at its rate.
    capacity: u64,
    /// Keys it holds.
    len: u64,
}

impl ScalableBloomFilter {
    /// A filter that starts with room for `items` distinct keys (0 counts as 1) and keeps the
    /// false-positive rate below `rate` (0..1) as it grows.
    ///
    /// # Errors
    ///
    /// A rate that is not between 0 and 1 or out of reach of a 64-bit hash; not enough memory.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        Self::with_capacity_and_hasher(items, rate, KeyHasher::default())
    }

    /// [`with_capacity`](Self::with_capacity) with a hasher of one's own: another seed, or a
    /// secret key.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Self::with_capacity).
    pub fn with_capacity_and_hasher(
        items: u64,
        rate: f64,
        hasher: KeyHasher,
    ) -> Result<Self, BloomBuildError> {
        check_rate(rate)?;
        let mut filter = Self { stages: Vec::new(), rate };
        filter.grow(items.max(1), hasher)?;
        Ok(filter)
    }

    /// Whether `key` was inserted: never wrong with no, wrong with yes at the false-positive rate.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let hash = key.hash_with(self.hasher());
        // The last stage first: it holds half of all keys.
        self.stages.iter().rev().any(|stage| stage.filter.contains(hash))
    }

    /// Inserts `key` unless it seems to be there; adds a stage if the last one is full.
    ///
    /// # Errors
    ///
    /// There is not enough memory for the next stage, or its rate is out of reach of a 64-bit hash
    /// (after some billions of keys). Nothing is changed; lookups go on as before.
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, BloomBuildError> {
        let hash = key.hash_with(self.hasher());
        if self.contains(hash) {
            return Ok(Insertion::AlreadyPresent);
        }
        if self.last().len == self.last().capacity {
            // A capacity that saturates is out of reach of any memory, which the stage will say.
            self.grow(self.last().capacity.saturating_mul(GROWTH), self.hasher())?;
        }
        let last = self.last_mut();
        last.len += 1;
        Ok(last.filter.insert_alone(hash))
    }

    /// Forgets every key and gives back the memory of all stages but the first.
    pub fn clear(&mut self) {
        self.stages.truncate(1);
        let first = self.last_mut();
        first.filter.clear();
        first.len = 0;
    }

    /// Keys of which an insert said `Inserted`.
    pub fn len(&self) -> u64 {
        self.stages.iter().map(|stage| stage.len).sum()
    }

    /// Whether nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that the stages now allocated hold; with one more the filter grows.
    pub fn capacity(&self) -> u64 {
        self.stages.iter().map(|stage| stage.capacity).sum()
    }

    /// Filters in the chain.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// The false-positive rate that is kept, as stated when the filter was built.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The false-positive rate now, 0..=1, from the bits that are set. O(bits).
    pub fn false_positive_rate(&self) -> f64 {
        // ln_1p and exp_m1: 1 - (1 - r) of a small r has few digits left.
        let rates = self.stages.iter().map(|stage| stage.filter.false_positive_rate());
        -rates.map(|rate| (-rate).ln_1p()).sum::<f64>().exp_m1()
    }

    /// The hash of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.last().filter.hasher()
    }

    /// Bytes of memory that hold the bits of all stages.
    pub fn memory_bytes(&self) -> usize {
        self.stages.iter().map(|stage| stage.filter.memory_bytes()).sum()
    }

    /// Adds a stage, which keeps its share of the rate.
    fn grow(&mut self, capacity: u64, hasher: KeyHasher) -> Result<(), BloomBuildError> {
        let exponent = i32::try_from(self.stages.len()).unwrap_or(i32::MAX).saturating_add(1);
        let (rate, share) = (self.rate, TIGHTENING.powi(exponent));
        let plan = BloomPlan::for_rate(capacity, rate * share).map_err(|error| match error {
            // In the terms of the caller: the rate of the whole chain.
            BloomBuildError::OutOfReach { items, lowest, .. } => {
                BloomBuildError::OutOfReach { items, rate, lowest: lowest / share }
            }
            error => error,
        })?;
        let filter = BloomFilter::from_plan(plan, hasher)?;
        self.stages.push(Stage { filter, capacity, len: 0 });
        Ok(())
    }

    fn last(&self) -> &Stage {
        self.stages.last().expect("built with one stage, and clear keeps it")
    }

    fn last_mut(&mut self) -> &mut Stage {
        self.stages.last_mut().expect("built with one stage, and clear keeps it")
    }
}

summary!(ScalableBloomFilter: len, capacity, rate, stages);
