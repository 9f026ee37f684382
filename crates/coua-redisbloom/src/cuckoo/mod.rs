//! A cuckoo filter of the peer, kept in its own layout.
//!
//! Tables of buckets of 8-bit fingerprints, each larger than the one before by the expansion. An item
//! goes to the newest table with room; when none has, fingerprints of the newest are relocated; when
//! that fails, a table is added. The same inserts make the same bytes as in the peer.

mod chunks;
mod compaction;
mod describe;
mod rdb;
mod shape;
mod sub_filter;

use super::error::{InsertError, LoadError, number};
use super::limits::Limits;
use super::memory::{reserve, zeroed};
pub use compaction::{Compaction, Position};
use shape::{DEFAULT_SEED, Place, Shape, Size};
use sub_filter::SubFilter;

/// The peer numbers its sub-filters with 16 bits.
const MAX_SUB_FILTERS: u32 = 0xffff;
/// A cuckoo filter in the layout of RedisBloom (`MBbloomCF`).
#[derive(Debug)]
pub struct PeerCuckoo {
    shape: Shape,
    /// As stated and counted, and never more than there are slots: a dump that says more is refused, so
    /// that the filter must not say so either.
    items: u64,
    deletes: u64,
    /// At least one, from the oldest to the newest.
    sub_filters: Vec<SubFilter>,
}

impl PeerCuckoo {
    /// An empty filter as the peer reserves it: sizes are rounded up to powers of two.
    ///
    /// # Errors
    /// Parameters that the peer does not take, or a filter that is too large.
    pub fn with_capacity(
        capacity: u64,
        bucket_size: u16,
        max_iterations: u16,
        expansion: u16,
    ) -> Result<Self, LoadError> {
        let buckets = capacity.checked_div(u64::from(bucket_size)).unwrap_or(0).max(1);
        let rounded = expansion.checked_next_power_of_two().filter(|_| expansion > 0);
        let shape = Shape {
            buckets: buckets.checked_next_power_of_two().unwrap_or(0),
            bucket_size,
            max_iterations,
            expansion: rounded.unwrap_or(expansion),
            seed: DEFAULT_SEED,
        };
        Self::build(shape, 1, &Limits::default(), |size| Ok(zeroed(size.bytes)?))
    }

    /// A filter of so many sub-filters, whose slots come from `array`. All sizes are checked before the
    /// first is asked for.
    fn build(
        shape: Shape,
        sub_filters: u64,
        limits: &Limits,
        mut array: impl FnMut(Size) -> Result<Vec<u8>, LoadError>,
    ) -> Result<Self, LoadError> {
        let count = check_sizes(&shape, sub_filters, limits)?;
        let mut list = Vec::new();
        for size in (0..count).filter_map(|index| shape.size_of(index)) {
            reserve(&mut list, 1)?;
            list.push(SubFilter::over(&shape, size, array(size)?));
        }
        Ok(Self { shape, items: 0, deletes: 0, sub_filters: list })
    }

    /// Adds an item, again if it is there already.
    ///
    /// # Errors
    /// There is no room, and none can be made; nothing has changed.
    pub fn insert(&mut self, item: &[u8], limits: &Limits) -> Result<(), InsertError> {
        self.insert_place(self.shape.place(item), limits)
    }

    /// Adds an item, unless it or another one with its fingerprint is there. True if it was added.
    ///
    /// # Errors
    /// There is no room, and none can be made; nothing has changed.
    pub fn insert_unique(&mut self, item: &[u8], limits: &Limits) -> Result<bool, InsertError> {
        let place = self.shape.place(item);
        self.check_growth(limits)?;
        if self.sub_filters.iter().any(|sub_filter| sub_filter.contains(place)) {
            return Ok(false);
        }
        self.insert_place(place, limits).map(|()| true)
    }

    /// Whether the item may be there.
    pub fn contains(&self, item: &[u8]) -> bool {
        let place = self.shape.place(item);
        self.sub_filters.iter().any(|sub_filter| sub_filter.contains(place))
    }

    /// Copies of the item, or more: those of other items with its fingerprint count, too.
    pub fn count(&self, item: &[u8]) -> u64 {
        let place = self.shape.place(item);
        self.sub_filters.iter().map(|sub_filter| sub_filter.count(place)).sum()
    }

    /// Takes away one copy of the item; false if there is none. Compacts a small filter when more than
    /// a tenth of its items have gone.
    pub fn remove(&mut self, item: &[u8]) -> bool {
        let place = self.shape.place(item);
        if !self.sub_filters.iter_mut().rev().any(|sub_filter| sub_filter.take(place)) {
            return false;
        }
        // A dump may have stated fewer items than it holds.
        self.items = self.items.saturating_sub(1);
        self.deletes = self.deletes.saturating_add(1);
        self.compact_after_removal();
        true
    }

    fn insert_place(&mut self, place: Place, limits: &Limits) -> Result<(), InsertError> {
        self.check_growth(limits)?;
        if !self.put(place) {
            self.grow(limits)?;
            let is_in = self.put(place);
            debug_assert!(is_in, "a new sub-filter has room in every bucket");
        }
        // A dump may have stated as many as there are slots, while these were empty.
        self.items = self.items.saturating_add(1).min(self.slots());
        Ok(())
    }

    /// Puts a fingerprint into a sub-filter that there is, if one can be made to take it.
    fn put(&mut self, place: Place) -> bool {
        if self.sub_filters.iter_mut().rev().any(|sub_filter| sub_filter.place(place)) {
            return true;
        }
        let newest = self.sub_filters.last_mut();
        newest.is_some_and(|newest| newest.relocate(place, self.shape.max_iterations))
    }

    /// The peer takes nothing more once the limit is reached, whether there is room or not.
    fn check_growth(&self, limits: &Limits) -> Result<(), InsertError> {
        let (sub_filters, limit) = (self.sub_filters(), limits.sub_filters);
        if sub_filters < limit {
            return Ok(());
        }
        Err(InsertError::GrowthLimit { sub_filters, limit })
    }

    fn grow(&mut self, limits: &Limits) -> Result<(), InsertError> {
        if self.shape.expansion == 0 {
            return Err(InsertError::Full { items: self.items() });
        }
        let index = self.sub_filters();
        let size = self.shape.size_of(index).filter(|_| index < MAX_SUB_FILTERS);
        let size = size.ok_or(InsertError::CannotGrow { sub_filters: index })?;
        limits.check(self.slots().saturating_add(size.bytes))?;
        reserve(&mut self.sub_filters, 1)?;
        self.sub_filters.push(SubFilter::over(&self.shape, size, zeroed(size.bytes)?));
        Ok(())
    }
}

/// Checks a shape and the sizes of so many sub-filters; gives back how many they are.
fn check_sizes(shape: &Shape, sub_filters: u64, limits: &Limits) -> Result<u32, LoadError> {
    const NAME: &str = "number of sub-filters";
    shape.check()?;
    let most = if shape.expansion == 0 { 1 } else { u64::from(MAX_SUB_FILTERS) };
    let expected = if most == 1 { "1, as the filter does not grow" } else { "1 to 65535" };
    number(NAME, sub_filters, |n| (1..=most).contains(&n), expected)?;
    let mut total = 0_u64;
    for index in 0..sub_filters as u32 {
        let expected = "few enough that none has more than 2^32 slots";
        let size = shape.size_of(index);
        let size = size.ok_or(LoadError::Number { name: NAME, found: sub_filters, expected })?;
        total = total.saturating_add(size.bytes);
        limits.check(total)?;
    }
    Ok(sub_filters as u32)
}

impl PeerCuckoo {
    /// The filter with the counts that its dump states. They may be of slots that are yet to come, or
    /// that never came; so all that can be asked is that there is room for the items.
    pub(super) fn with_counts(self, items: u64, deletes: u64) -> Result<Self, LoadError> {
        number("number of items", items, |n| n <= self.slots(), "at most the number of slots")?;
        Ok(Self { items, deletes, ..self })
    }
}
