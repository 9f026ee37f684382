//! The builder of cuckoo filters.

use crate::error::BuildError;
use crate::filter::{CuckooFilter, Policy, WhenFull};
use crate::hash::KeyHasher;
use crate::kernel::{Geometry, LOW_BITS, SLOTS};
use crate::segments::Segments;
use crate::sizing::{CuckooPlan, SPLIT_LOAD, check_rate, exact, prefix, too_small};

/// The default capacity.
const DEFAULT_CAPACITY: u64 = 60;
/// Steps after which an eviction chain gives up. Chains at the planned load take 1 to 3 steps on average; the
/// longest seen at full load took a few hundred.
const DEFAULT_MAX_EVICTIONS: u32 = 500;

/// The bits of a hash. Filters remember all of them by default.
pub(crate) const MOST_HASH_BITS: u32 = 64;

/// Builds a [`CuckooFilter`]; created by [`CuckooFilter::builder`].
///
/// Three ways to set its exactness:
///
/// * a `rate` for `capacity` items: a filter of *fixed size*, the smallest for that rate;
/// * a `rate` and `max_items` above `capacity` (or [`WhenFull::ExceedRate`]): it *grows*, and keeps
///   the rate up to `max_items`;
/// * `hash_bits` (default 64): it grows; the rate with n items is n / 2^`hash_bits`.
///
/// Setting options takes O(1), building O(segments).
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct CuckooFilterBuilder {
    pub(crate) capacity: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) rate: Option<f64>,
    pub(crate) hash_bits: Option<u32>,
    max_evictions: Option<u32>,
    hasher: KeyHasher,
    when_full: WhenFull,
}

impl Default for CuckooFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl CuckooFilter {
    /// A filter that keeps all 64 bits of every key's hash and grows without limit: the expected
    /// number of wrong "seen" answers over a stream of n keys is n^2 / 2^65.
    ///
    /// Takes less than 2 KiB when empty.
    ///
    /// # Panics
    ///
    /// If there is not enough memory.
    pub fn new() -> Self {
        Self::builder().build().expect("the default filter needs 2 KiB of memory")
    }

    /// A filter for `items` items at a false-positive rate of at most `rate`. It refuses more items.
    ///
    /// All memory is allocated at once; [`CuckooPlan`](crate::sizing::CuckooPlan) computes how much. More is needed
    /// only if chance or chosen keys crowd a segment, which then splits. A filter with [`WhenFull::Refuse`] never
    /// splits.
    ///
    /// # Errors
    ///
    /// If `rate` is not between 0 and 1 or too small for a 64-bit hash, or there is not enough memory.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BuildError> {
        Self::builder().capacity(items).rate(rate).build()
    }

    /// Returns a builder with all options.
    pub fn builder() -> CuckooFilterBuilder {
        CuckooFilterBuilder::default()
    }
}

impl CuckooFilterBuilder {
    /// The highest possible setting: longer chains do not succeed.
    pub(crate) const MAX_EVICTIONS: u32 = 10_000;

    /// Items that fit without growth. Default: 60.
    pub fn capacity(self, items: u64) -> Self {
        Self { capacity: Some(items), ..self }
    }

    /// Items up to which the rate holds. Default: the capacity if a rate is given, otherwise no limit.
    pub fn max_items(self, items: u64) -> Self {
        Self { max_items: Some(items), ..self }
    }

    /// False-positive rate with `max_items` items, between 0 and 1 (both excluded).
    pub fn rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Bits of every key's hash to remember, 8..=64, instead of a rate.
    ///
    /// Each split of a segment takes a bit from its fingerprints. When they have no bit left, the filter grows by
    /// rebuilding the whole table, O(slots). A [`SharedCuckooFilter`](crate::SharedCuckooFilter) cannot do this, and
    /// is full. This happens at about 2^(`hash_bits` - 4) items. For more items, set more bits or the `capacity`.
    pub fn hash_bits(self, bits: u32) -> Self {
        Self { hash_bits: Some(bits), ..self }
    }

    /// Steps after which an eviction chain gives up ("kicks"), at most 10,000. Default: 500.
    pub fn max_evictions(self, steps: u32) -> Self {
        Self { max_evictions: Some(steps), ..self }
    }

    /// Hash algorithm and seed. Default: XXH3 with seed 0.
    pub fn hasher(self, hasher: KeyHasher) -> Self {
        Self { hasher, ..self }
    }

    /// What to do when no slot is free for an item. Default: [`WhenFull::Grow`].
    pub fn when_full(self, when_full: WhenFull) -> Self {
        Self { when_full, ..self }
    }

    /// Builds the filter, and allocates memory for `capacity` items. O(segments).
    ///
    /// # Errors
    ///
    /// [`BuildError`] if options contradict each other or there is not enough memory.
    pub fn build(self) -> Result<CuckooFilter, BuildError> {
        let (geometry, policy, _) = self.described()?;
        Ok(CuckooFilter::of_segments(Segments::empty(geometry)?, policy, self.hasher))
    }

    /// The plan of the filter that [`build`](Self::build) would return, filled to its capacity. O(1), without
    /// allocating.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), except lack of memory.
    pub fn plan(&self) -> Result<CuckooPlan, BuildError> {
        let (geometry, _, capacity) = self.described()?;
        Ok(CuckooPlan::of(&geometry, capacity))
    }

    /// The geometry and policy that follow from the options, and the capacity.
    fn described(&self) -> Result<(Geometry, Policy, u64), BuildError> {
        let when_full = self.when_full;
        let max_items = self.max_items.or(self.rate.and(self.capacity)).unwrap_or(u64::MAX);
        let capacity = self.capacity.unwrap_or(DEFAULT_CAPACITY.min(max_items));
        if capacity > max_items {
            return Err(BuildError::CapacityAboveMaxItems { capacity, max_items });
        }
        let is_fixed = max_items == capacity && when_full != WhenFull::ExceedRate;
        let geometry = match (self.rate, self.hash_bits) {
            (Some(_), Some(_)) => return Err(BuildError::RateAndHashBits),
            (Some(rate), None) if is_fixed => exact(capacity, rate)?,
            (Some(rate), None) => {
                let least = match when_full {
                    WhenFull::Refuse => 8,
                    _ => bits_to_grow_to(max_items),
                };
                let bits = prefix_bits(max_items, rate)?.max(least);
                prefix(capacity, bits)?
            }
            (None, bits) => prefix(capacity, bits.unwrap_or(MOST_HASH_BITS))?,
        };
        let max_evictions = self.max_evictions.unwrap_or(DEFAULT_MAX_EVICTIONS);
        let max_evictions = max_evictions.min(Self::MAX_EVICTIONS);
        Ok((geometry, Policy { max_items, when_full, max_evictions }, capacity))
    }
}

/// Whole hash bits with which `items` items keep `rate`.
fn prefix_bits(items: u64, rate: f64) -> Result<u32, BuildError> {
    check_rate(rate)?;
    if items as f64 >= 64f64.exp2() {
        return Err(BuildError::RateWithoutItems { rate });
    }
    let bits = (items.max(1) as f64 / rate).log2().ceil();
    if bits > 64.0 {
        return Err(too_small(rate, items, 64f64.exp2()));
    }
    Ok((bits as u32).max(8))
}

/// Hash bits with which a filter grows to `items` items by splits only, however high its rate. A segment
/// can split while its fingerprints have more than their low part, that is, while the hash bits distinguish more than
/// buckets * (2^6 - 1) hashes. Some segments split once more than the others.
fn bits_to_grow_to(items: u64) -> u32 {
    let slots = items as f64 / SPLIT_LOAD;
    let cells = 2.0 * slots / f64::from(SLOTS) * f64::from(LOW_BITS).exp2();
    (cells.log2().ceil() as u32).clamp(8, 64)
}
