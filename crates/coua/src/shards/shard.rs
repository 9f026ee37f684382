//! Filters for concurrent changes, each behind a lock.

use std::ops::Deref;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Division;
use crate::builder::CuckooFilterBuilder;
use crate::error::{BuildError, Full};
use crate::filter::CuckooFilter;
use crate::verbs::Filter;

/// Filters that threads change independently: one for each shard of a [`Division`].
///
/// ```
/// use coua::shards::{Division, Shards};
/// use coua::{CuckooFilter, IfPresent, KeyHash};
///
/// let shards = Shards::build(CuckooFilter::builder(), Division::new(1))?;
/// for hash in [1, u64::MAX].map(KeyHash::from_u64) {
///     let division = shards.division();
///     let mut shard = shards.shard(division.shard_of(hash));
///     shard.verbs().insert_one(division.within(hash), IfPresent::AddCopy)?;
/// }
/// assert_eq!(shards.iter().map(|shard| shard.len()).collect::<Vec<_>>(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    division: Division,
    all: Box<[LockedShard]>,
}

/// A lock's words change all the time: no two locks share a cache line, or the adjacent line that processors prefetch
/// with it.
#[derive(Debug)]
#[repr(align(128))]
struct LockedShard(RwLock<CuckooFilter>);

/// A shard that its holder may change. It dereferences to the filter for reading. The filter itself stays in its place,
/// and keeps the geometry that all shards share, so that the shards can be joined again.
///
/// The shard sees hashes without the bits that selected it: see [`Division::within`].
pub struct ShardGuard<'a>(RwLockWriteGuard<'a, CuckooFilter>);

/// Only this crate's code runs under a lock (keys are hashed before), and it does not panic.
const UNPOISONED: &str = "no operation panics while it holds a shard";

impl Shards {
    /// Builds an empty filter for each shard. The hash bits that select a shard are not stored in it: all shards
    /// together remember as many bits as the builder says.
    ///
    /// # Errors
    ///
    /// As [`CuckooFilterBuilder::build`]; [`BuildError::RateAndHashBits`] if the builder has a rate.
    pub fn build(builder: CuckooFilterBuilder, division: Division) -> Result<Self, BuildError> {
        let builder = builder.without_first_bits(division.bits());
        let filters = (0..division.shards()).map(|_| builder.clone().build());
        Ok(Self::of(division, filters.collect::<Result<_, _>>()?))
    }

    pub(crate) fn of(division: Division, filters: Vec<CuckooFilter>) -> Self {
        let lock = |filter| LockedShard(RwLock::new(filter));
        Self { division, all: filters.into_iter().map(lock).collect() }
    }

    /// The division of keys among the shards.
    pub fn division(&self) -> Division {
        self.division
    }

    /// Locks a shard for changes. Waits while another thread holds it.
    pub fn shard(&self, number: usize) -> ShardGuard<'_> {
        ShardGuard(self.write(number))
    }

    /// Locks each shard in turn for reading. Waits for each.
    pub fn iter(&self) -> impl Iterator<Item = RwLockReadGuard<'_, CuckooFilter>> {
        (0..self.all.len()).map(|number| self.read(number))
    }

    /// Bytes of memory of all shards. Waits for each.
    pub fn memory_bytes(&self) -> usize {
        let locks = self.all.len() * (size_of::<LockedShard>() - size_of::<CuckooFilter>());
        self.iter().map(|shard| shard.memory_bytes()).fold(locks, usize::saturating_add)
    }

    pub(crate) fn read(&self, number: usize) -> RwLockReadGuard<'_, CuckooFilter> {
        self.all[number].read()
    }

    pub(crate) fn write(&self, number: usize) -> RwLockWriteGuard<'_, CuckooFilter> {
        self.all[number].write()
    }

    /// The filters, in the order of the shards.
    pub fn into_filters(self) -> Vec<CuckooFilter> {
        self.all.into_iter().map(LockedShard::into_filter).collect()
    }
}

impl ShardGuard<'_> {
    /// The shard's verbs, for changes.
    pub fn verbs(&mut self) -> &mut dyn Filter {
        &mut *self.0
    }

    /// As [`CuckooFilter::reserve`].
    ///
    /// # Errors
    ///
    /// As [`CuckooFilter::reserve`].
    pub fn reserve(&mut self, additional: u64) -> Result<(), Full> {
        self.0.reserve(additional)
    }
}

impl Deref for ShardGuard<'_> {
    type Target = CuckooFilter;

    fn deref(&self) -> &CuckooFilter {
        &self.0
    }
}

impl LockedShard {
    fn read(&self) -> RwLockReadGuard<'_, CuckooFilter> {
        self.0.read().expect(UNPOISONED)
    }

    fn write(&self) -> RwLockWriteGuard<'_, CuckooFilter> {
        self.0.write().expect(UNPOISONED)
    }

    fn into_filter(self) -> CuckooFilter {
        self.0.into_inner().expect(UNPOISONED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shards_together_remember_the_bits_described() {
        for (bits, described) in [(None, 64), (Some(40), 40)] {
            for division in (0..=6).map(Division::new) {
                let builder = CuckooFilter::builder();
                let builder = bits.map_or(builder.clone(), |bits| builder.hash_bits(bits));
                let shards = Shards::build(builder, division).unwrap();
                assert_eq!(shards.iter().count(), division.shards());
                let own = f64::from(described - division.bits());
                assert!(shards.iter().all(|shard| (shard.hash_bits() - own).abs() < 1e-9));
            }
        }
        let rated = CuckooFilter::builder().rate(0.01).capacity(10);
        assert!(matches!(Shards::build(rated, Division::new(1)), Err(BuildError::RateAndHashBits)));
        let coarse = CuckooFilter::builder().hash_bits(8);
        assert!(Shards::build(coarse, Division::new(1)).is_err());
    }
}
