//! A cuckoo filter of the peer, kept in its own layout.
//!
//! Tables of buckets of 8-bit fingerprints, each larger than the one before by the expansion. An
//! item is put into the newest table with room; if none has room, fingerprints of the newest are
//! relocated; if that fails, a table is added. The same inserts lead to the same bytes as in the
//! peer.

use coua::IfPresent;

use super::bytes::reserve;
use super::errors::{InsertError, Limits, LoadError, OutOfMemory, number};
use super::sub_filter::{FINGERPRINTS, Place, Shape, Size, SubFilter};

/// A cuckoo filter in the layout of RedisBloom (`MBbloomCF`).
#[derive(Debug)]
pub struct PeerCuckoo {
    pub(super) shape: Shape,
    /// As in its dump, plus changes, but never more than the slots: a dump with more would be
    /// refused.
    items: u64,
    pub(super) deletes: u64,
    /// At least one, from the oldest to the newest.
    pub(super) sub_filters: Vec<SubFilter>,
}

impl PeerCuckoo {
    /// Builds a filter of sub-filters from `sub_filter`. All sizes are checked before its first call.
    pub(super) fn build(
        shape: Shape,
        sub_filters: u64,
        limits: &Limits,
        mut sub_filter: impl FnMut(&Shape, Size) -> Result<SubFilter, LoadError>,
    ) -> Result<Self, LoadError> {
        let count = check_sizes(&shape, sub_filters, limits)?;
        let mut filter = Self { shape, items: 0, deletes: 0, sub_filters: Vec::new() };
        for size in shape.sizes().take(count as usize) {
            filter.push(sub_filter(&shape, size)?)?;
        }
        Ok(filter)
    }

    fn push(&mut self, sub_filter: SubFilter) -> Result<(), OutOfMemory> {
        reserve(&mut self.sub_filters, 1)?;
        self.sub_filters.push(sub_filter);
        Ok(())
    }

    /// Adds an item, and returns whether it was added: another with its fingerprint may be present.
    ///
    /// # Errors
    /// There is no room, and none can be made; nothing has changed.
    pub fn insert(
        &mut self,
        item: &[u8],
        if_present: IfPresent,
        limits: &Limits,
    ) -> Result<bool, InsertError> {
        // At the limit the peer refuses everything, even if there is room.
        if self.sub_filters() >= limits.sub_filters {
            return Err(InsertError::GrowthLimit);
        }
        if if_present == IfPresent::Skip && self.contains(item) {
            return Ok(false);
        }
        let place = self.shape.place(item);
        if !self.put(place) {
            self.grow(limits)?;
            let is_in = self.put(place);
            debug_assert!(is_in, "a new sub-filter has room in every bucket");
        }
        // A dump may count as many items as slots, though these are empty.
        self.items = self.items.saturating_add(1).min(self.slots());
        Ok(true)
    }

    /// Whether the item may be present.
    pub fn contains(&self, item: &[u8]) -> bool {
        let place = self.shape.place(item);
        self.sub_filters.iter().any(|sub_filter| sub_filter.contains(place))
    }

    /// Counts the copies of the item, including other items with its fingerprint.
    pub fn count(&self, item: &[u8]) -> u64 {
        let place = self.shape.place(item);
        self.sub_filters.iter().map(|sub_filter| sub_filter.count(place)).sum()
    }

    /// Removes one copy of the item, and returns whether there was one. Compacts a small filter after more
    /// than a tenth of its items were removed.
    pub fn remove(&mut self, item: &[u8]) -> bool {
        let place = self.shape.place(item);
        if !self.sub_filters.iter_mut().rev().any(|sub_filter| sub_filter.take(place)) {
            return false;
        }
        // A dump may count fewer items than it holds.
        self.items = self.items.saturating_sub(1);
        self.deletes = self.deletes.saturating_add(1);
        self.compact_after_removal();
        true
    }

    /// Puts a fingerprint into an existing sub-filter, if one has room or can make room.
    fn put(&mut self, place: Place) -> bool {
        if self.sub_filters.iter_mut().rev().any(|sub_filter| sub_filter.place(place)) {
            return true;
        }
        let newest = self.sub_filters.last_mut();
        newest.is_some_and(|newest| newest.relocate(place, self.shape.max_iterations))
    }

    fn grow(&mut self, limits: &Limits) -> Result<(), InsertError> {
        if self.shape.expansion == 0 {
            return Err(InsertError::Full);
        }
        let most = self.shape.most_sub_filters();
        let newest = self.sub_filters.last().filter(|_| u64::from(self.sub_filters()) < most);
        let size = newest.and_then(|newest| self.shape.size_after(newest.size));
        let size = size.ok_or(InsertError::GrowthLimit)?;
        limits.check(size.end())?;
        Ok(self.push(SubFilter::empty(&self.shape, size)?)?)
    }

    /// The filter with the counts of its dump. Its slots may arrive later, or never, so the only check is
    /// that the items fit.
    pub(super) fn with_counts(self, items: u64, deletes: u64) -> Result<Self, LoadError> {
        number("number of items", items, |n| n <= self.slots(), "at most the number of slots")?;
        Ok(Self { items, deletes, ..self })
    }

    /// The number of items: that of its dump, plus later changes.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The number of sub-filters.
    pub fn sub_filters(&self) -> u32 {
        self.sub_filters.len() as u32
    }

    /// Slots of all sub-filters, a byte each.
    pub fn slots(&self) -> u64 {
        self.sub_filters.last().map_or(0, |newest| newest.size.end())
    }

    /// Slots in use, 0 to 1.
    pub fn load_factor(&self) -> f64 {
        self.used() as f64 / self.slots() as f64
    }

    /// Whether it has fewer fingerprints than its header counts items, as while its chunks are loaded. Its empty
    /// sub-filters are still needed then.
    pub fn lacks_items(&self) -> bool {
        self.used() < self.items
    }

    fn used(&self) -> u64 {
        self.sub_filters.iter().map(SubFilter::used).sum()
    }

    /// The current false-positive rate: an absent item is compared with the fingerprints of two buckets in each
    /// sub-filter.
    pub fn false_positive_rate(&self) -> f64 {
        let met: f64 = self.sub_filters.iter().map(SubFilter::load_factor).sum::<f64>()
            * 2.0
            * f64::from(self.shape.bucket_size);
        (met / FINGERPRINTS).min(1.0)
    }

    /// The hash bits with which a filter of this module has the same rate.
    pub fn hash_bits(&self) -> f64 {
        let (load, rate) = (self.load_factor(), self.false_positive_rate());
        let cells = if rate > 0.0 {
            load * self.slots() as f64 / rate
        } else {
            self.slots() as f64 * FINGERPRINTS / (2.0 * f64::from(self.shape.bucket_size))
        };
        cells.log2()
    }

    /// The slots of each sub-filter, from the oldest to the newest.
    pub fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.sub_filters.iter().map(SubFilter::slots)
    }

    /// Bytes of memory it takes.
    pub fn memory_bytes(&self) -> u64 {
        let list = self.sub_filters.len() * size_of::<SubFilter>();
        self.slots() + (size_of::<Self>() + list) as u64
    }

    /// A copy.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self { sub_filters: Vec::new(), ..*self };
        reserve(&mut copy.sub_filters, self.sub_filters.len())?;
        for sub_filter in &self.sub_filters {
            copy.sub_filters.push(sub_filter.try_clone()?);
        }
        Ok(copy)
    }

    /// What the peer reports of such a filter: its bytes, buckets of the first sub-filter, sub-filters, items, items
    /// removed since the last compaction, slots of a bucket, the ratio of growth (0: it never grows), and the most
    /// relocations of an insert.
    pub fn info(&self) -> [u64; 8] {
        const FILTER_BYTES: u64 = 40;
        const SUB_FILTER_BYTES: u64 = 16;
        let sub_filters = self.sub_filters().into();
        let bytes = FILTER_BYTES + SUB_FILTER_BYTES * sub_filters + self.slots();
        let Shape { buckets, bucket_size, max_iterations, expansion, .. } = self.shape;
        let [slots, growth, most] = [bucket_size, expansion, max_iterations].map(u64::from);
        [bytes, buckets, sub_filters, self.items, self.deletes, slots, growth, most]
    }
}

/// Checks a shape and the sizes of `sub_filters` sub-filters; returns their number.
fn check_sizes(shape: &Shape, sub_filters: u64, limits: &Limits) -> Result<u32, LoadError> {
    const NAME: &str = "number of sub-filters";
    shape.check()?;
    let most = shape.most_sub_filters();
    let expected = match most {
        1 => "1, as the filter does not grow",
        _ => "1 to 128, or 8192 divided by the bucket size",
    };
    number(NAME, sub_filters, |n| (1..=most).contains(&n), expected)?;
    let mut sizes = shape.sizes();
    for _ in 0..sub_filters {
        let expected = "few enough that none has more than 2^32 slots";
        let refused = LoadError::Number { name: NAME, found: sub_filters, expected };
        limits.check(sizes.next().ok_or(refused)?.end())?;
    }
    Ok(sub_filters as u32)
}

/// `remove` compacts if that searches at most this many pairs of buckets of [`SMALL_BUCKET`] slots, or fewer
/// larger ones: a few milliseconds. The peer has no such limit, and stalls its server.
const MAX_COMPACTION: u64 = 1 << 19;
/// Buckets of fewer slots take as long to search, because of memory latency.
const SMALL_BUCKET: u64 = 8;
/// A step examines this many slots, or searches older sub-filters for room for 32 times fewer
/// fingerprints.
const STEP: u64 = 1 << 19;
/// Searching an older sub-filter takes as long as examining this many slots, because its buckets are not in the
/// processor's caches.
const ASKING: u64 = 32;

/// Where a compaction continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionPosition {
    /// The number of the sub-filter that is being emptied, or of a generation.
    pub part: u64,
    /// Its slot.
    pub from: u64,
}

/// The result of a compaction step.
#[derive(Debug)]
pub struct CompactionStep {
    /// Whether an item was moved, or memory freed.
    pub has_changed: bool,
    /// Where the next step begins; `None` after the last one.
    pub next: Option<CompactionPosition>,
    /// Unused memory. Freeing it may take the system a while.
    pub freed: Vec<Vec<u8>>,
}

impl PeerCuckoo {
    /// Moves items from newer sub-filters into older ones, from a position on, or from the beginning, and frees empty
    /// ones at the end: some milliseconds at most. The step depends only on the filter and the position.
    pub fn compact_step(&mut self, from: Option<CompactionPosition>) -> CompactionStep {
        let mut done = CompactionStep { has_changed: false, next: None, freed: Vec::new() };
        let mut left = STEP;
        let newest = self.sub_filters.len() - 1;
        let (mut number, mut slot) = (newest, 0);
        if let Some(from) = from {
            number = from.part.min(newest as u64) as usize;
            slot = from.from as usize;
        }
        while number > 0 {
            let before = self.sub_filters[number].used();
            let stopped = self.drain(number, slot, &mut left);
            done.has_changed |= self.sub_filters[number].used() < before;
            done.freed.extend(self.free_empty());
            if let Some(slot) = stopped {
                done.next = Some(CompactionPosition { part: number as u64, from: slot as u64 });
                break;
            }
            // Several may have been empty.
            (number, slot) = ((number - 1).min(self.sub_filters.len() - 1), 0);
        }
        done.has_changed |= !done.freed.is_empty();
        if done.next.is_none() {
            done.has_changed |= self.end_compaction();
        }
        done
    }

    /// Compacts a small filter after more than a tenth of its items were removed, up to the first sub-filter
    /// that cannot be emptied, because those before it cannot be freed.
    fn compact_after_removal(&mut self) {
        // A header may count fewer items than there are: compactions would never end.
        let is_due = self.deletes as f64 > self.items.max(self.used()) as f64 * 0.10;
        let is_slow = self.pairs() > MAX_COMPACTION;
        if self.sub_filters.len() == 1 || !is_due || is_slow || self.lacks_items() {
            return;
        }
        let mut newest = self.sub_filters.len() - 1;
        while newest > 0 {
            self.drain(newest, 0, &mut { u64::MAX });
            if self.sub_filters[newest].used() > 0 {
                break;
            }
            self.free_empty();
            newest = self.sub_filters.len() - 1;
        }
        self.end_compaction();
    }

    /// The most pairs of small buckets that a compaction searches.
    fn pairs(&self) -> u64 {
        let slots = self.sub_filters.iter().map(|sub_filter| sub_filter.slots().len() as u64);
        slots
            .zip(0..)
            .map(|(slots, older)| slots.saturating_mul(older))
            .fold(0, u64::saturating_add)
            .saturating_mul(u64::from(self.shape.bucket_size).max(SMALL_BUCKET))
            / SMALL_BUCKET
    }

    /// Moves fingerprints out of a sub-filter, from a slot on, until no time is `left`. Returns the next
    /// slot.
    fn drain(&mut self, number: usize, slot: usize, left: &mut u64) -> Option<usize> {
        let bucket_size = u64::from(self.shape.bucket_size).max(SMALL_BUCKET);
        let asking = ASKING * number as u64 * bucket_size / SMALL_BUCKET;
        let (older, rest) = self.sub_filters.split_at_mut(number);
        let drained = rest.first_mut()?;
        for slot in slot..drained.slots().len() {
            if drained.used() == 0 {
                break;
            }
            if *left == 0 {
                return Some(slot);
            }
            let is_used = drained.move_into(older, slot);
            *left = left.saturating_sub(if is_used { asking } else { 1 });
        }
        None
    }

    /// Removes the newest sub-filters while they are empty, but not the first.
    fn free_empty(&mut self) -> Vec<Vec<u8>> {
        let used = self.sub_filters.iter().rposition(|sub_filter| sub_filter.used() > 0);
        let left = used.map_or(1, |newest| newest + 1);
        let freed = self.sub_filters.drain(left..).map(SubFilter::into_slots).collect();
        self.sub_filters.shrink_to_fit();
        freed
    }

    /// Records the end of a compaction, and returns whether that changes anything.
    fn end_compaction(&mut self) -> bool {
        let before = (self.items, self.deletes);
        self.items = self.items.min(self.slots());
        self.deletes = 0;
        (self.items, self.deletes) != before
    }
}
