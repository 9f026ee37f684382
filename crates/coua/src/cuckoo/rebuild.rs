//! Rebuilding the whole filter without the keys: reserving memory, giving it back.
//!
//! A slot's cell has a representative hash. Putting it into another geometry that tells the same hashes apart
//! gives the same answers.

use super::{CuckooFilter, WhenFull};
use crate::error::{Full, FullReason, OutOfMemory, with_room};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, Resolution};
use crate::sizing::{self, OVERFLOW_ENTRY_BYTES, fitted};
use crate::table::Segment;

impl CuckooFilter {
    /// The representatives of all slots in use of a segment.
    pub(crate) fn representatives(&self, index: u32) -> Result<Vec<KeyHash>, OutOfMemory> {
        let mut hashes = with_room(self.table.segment(index).occupied() as usize)?;
        self.hashes_in_slots(index).for_each(|hash| hashes.push(hash));
        Ok(hashes)
    }

    /// The representative of every item, once for each copy: the smallest hash that the filter cannot tell from
    /// the key's. A filter of as many hash bits into which they are inserted gives the same answers.
    pub fn iter_hashes(&self) -> impl Iterator<Item = KeyHash> + '_ {
        let in_slots = self.directory.in_hash_order().flat_map(|index| self.hashes_in_slots(index));
        let in_overflow = self.overflow.iter().flat_map(|(hash, entry)| {
            (0..entry.extra).chain(0..entry.overflowed).map(move |_| hash)
        });
        in_slots.chain(in_overflow)
    }

    fn hashes_in_slots(&self, index: u32) -> impl Iterator<Item = KeyHash> + '_ {
        let (segment, level) = (self.table.segment(index), self.level_of(index));
        let items = level.items(segment, 0..level.slots()).filter(|&(_, value)| value != 0);
        items.map(|(bucket, value)| level.representative(segment.prefix(), bucket, value))
    }

    /// The geometry that fits `items` and tells the same hashes apart as this filter.
    fn geometry_for(&self, items: u64) -> Geometry {
        match self.geometry.resolution {
            Resolution::Prefix { .. } => fitted(self.geometry, items),
            Resolution::Cells { top_bits } => {
                let load = sizing::design_load(&self.geometry);
                let wanted = items as f64 / load / self.geometry.segment_slots() as f64;
                let depth = (wanted.max(1.0).log2().ceil() as u32).min(self.geometry.base_depth);
                let top_bits = top_bits + self.geometry.base_depth - depth;
                let joined = Geometry {
                    base_depth: depth,
                    resolution: Resolution::Cells { top_bits },
                    ..self.geometry
                };
                if joined.level(depth).is_some() { joined } else { self.geometry }
            }
        }
    }

    /// Takes the memory for `additional` items at once, and no more than they need. O(slots).
    ///
    /// A filter that can grow, and whose keys cover only a part of all hashes (because they came in the order
    /// of their hashes), is left to grow by itself.
    ///
    /// A filter of fixed size has its memory already, unless it was [compacted](Self::compact); for it this
    /// only checks the limits.
    ///
    /// # Errors
    ///
    /// [`Full`] if `max_items` or the limit of memory would be exceeded, the size is fixed and too small,
    /// or there is not enough memory.
    pub fn reserve(&mut self, additional: u64) -> Result<(), Full> {
        let items = self.stored.saturating_add(additional);
        if items > self.policy.limit() {
            return Err(self.full(FullReason::MaxItems));
        }
        if items <= self.capacity() {
            return Ok(());
        }
        if self.policy.when_full == WhenFull::Refuse {
            return Err(self.full(FullReason::NoRoom));
        }
        let geometry = self.geometry_for(items);
        if geometry.slots() <= self.slots() || !self.is_even_in(&geometry) {
            return Ok(());
        }
        if self.bytes_to_become(&geometry) > self.memory_left() {
            return Err(self.full(FullReason::MemoryLimit));
        }
        self.move_to(geometry).map_err(|_| self.full(FullReason::OutOfMemory))
    }

    /// Gives memory back after removals: rebuilds the filter for the items it holds now.
    ///
    /// O(slots); the old and the new table exist at the same time for a while. A filter of fixed size shrinks by
    /// halves, others to measure. Nothing changes if there is no memory for the smaller table, if it would have
    /// more bytes, or if the hashes are too unevenly spread to fit. Copies of a key have only two buckets: where
    /// most keys have several copies, the filter stays larger.
    pub fn compact(&mut self) {
        let mut last = None;
        // In quarters of the items, for copies that need more slots.
        for quarters in 4..=8 {
            let geometry = self.geometry_for(self.stored.saturating_mul(quarters) / 4);
            // Fixed sizes are halves of each other.
            let is_tried = last.replace(geometry) == Some(geometry);
            // Without memory for the smaller table, or for trying it, the larger one stays.
            if !is_tried && self.gains_by(&geometry).unwrap_or(false) {
                self.move_to(geometry).ok();
                return;
            }
        }
    }

    /// Whether the filter would be smaller in another geometry, with few enough overflowed items. Tries that with
    /// a sixteenth of the items. O(slots).
    fn gains_by(&self, geometry: &Geometry) -> Result<bool, OutOfMemory> {
        // Fewer segments have wider slots.
        let is_smaller = |more| geometry.slot_bytes().saturating_add(more) < self.slot_bytes();
        if geometry.slots() >= self.slots() || !is_smaller(0) || !self.is_even_in(geometry) {
            return Ok(false);
        }
        let mut trial = Self::empty(*geometry, self.policy, self.hasher)?;
        let (mut last, mut tried) = (0, 0);
        for index in self.directory.in_hash_order() {
            let prefix = self.table.segment(index).prefix();
            let target = prefix.unbounded_shr(64 - geometry.base_depth);
            if target != last && tried >= self.stored / 16 {
                break;
            }
            let hashes = self.representatives(index)?;
            trial.reinsert_batch(&hashes);
            (last, tried) = (target, tried + hashes.len() as u64);
        }
        let overflowed = u128::from(trial.overflow.overflowed()) * u128::from(self.stored);
        let overflowed = (overflowed / u128::from(tried.max(1))) as u64;
        Ok(overflowed <= trial.overflow_limit() / 4
            && is_smaller(overflowed.saturating_mul(OVERFLOW_ENTRY_BYTES as u64)))
    }

    /// Whether each segment of another geometry has enough slots for the items whose hashes begin with its
    /// prefix.
    fn is_even_in(&self, geometry: &Geometry) -> bool {
        let target = |prefix: u64| prefix.unbounded_shr(64 - geometry.base_depth);
        let (mut last, mut items) = (0, 0);
        self.directory.in_hash_order().all(|index| {
            let segment = self.table.segment(index);
            if target(segment.prefix()) != last {
                (last, items) = (target(segment.prefix()), 0);
            }
            // A segment that becomes several gives each a share.
            let depth = self.level_of(index).depth;
            items += u64::from(segment.occupied()) >> geometry.base_depth.saturating_sub(depth);
            items <= geometry.segment_slots()
        })
    }

    /// Bytes of the slots of all segments: equal in equal filters, however they became so.
    fn slot_bytes(&self) -> u64 {
        self.table.iter().map(|segment| self.segment_bytes(segment)).sum()
    }

    /// Splits segments in which evictions failed, as far as that is allowed, until few items are overflowed or
    /// there would be more slots, or bytes of them, than these. The limit of memory has no say: with and
    /// without it, what is rebuilt must have the same bytes.
    fn split_overfull(&mut self, most_slots: u64, most_bytes: u64) {
        let slots = self.geometry.segment_slots();
        let mut bytes = self.slot_bytes();
        let mut index = 0;
        while (index as usize) < self.table.len()
            && self.overflow.overflowed() > self.overflow_limit() / 2
        {
            let segment = self.table.segment(index);
            let is_tried = segment.is_overfull() && self.policy.when_full != WhenFull::Refuse;
            if !(is_tried && self.may_split(index)) {
                index += 1;
                continue;
            }
            let level = usize::from(segment.level());
            let [whole, half] = [level, level + 1].map(|level| self.levels[level].bytes(slots));
            bytes += 2 * half - whole;
            let is_allowed = bytes <= most_bytes && self.slots() + slots <= most_slots;
            // Without memory they stay as they are.
            if !is_allowed || self.split(index).is_err() {
                break;
            }
        }
    }

    /// Moves all items to a table of another geometry that tells the same hashes apart. Takes all
    /// memory before it begins, and then cannot fail; memory before all segments that are still to be
    /// moved is given back.
    pub(crate) fn move_to(&mut self, geometry: Geometry) -> Result<(), OutOfMemory> {
        let mut target = Self::empty(geometry, self.policy, self.hasher)?;
        let fullest = self.table.iter().map(Segment::occupied).max();
        let mut hashes = with_room(fullest.unwrap_or(0) as usize)?;
        target.splits = self.splits + 1;
        target.memory_limit = self.memory_limit;
        target.stored = self.stored;
        target.overflow = std::mem::take(&mut self.overflow);
        let order: Vec<u32> = self.directory.in_hash_order().collect();
        let lowest = self.table.lowest_from(&order);
        let mut tolerable = target.overflow_limit() / 2;
        // A filter that shrinks stays smaller.
        let shrinks = target.slots() < self.slots();
        let [slots, bytes] =
            if shrinks { [self.slots(), self.slot_bytes()] } else { [u64::MAX; 2] };
        for (number, &index) in order.iter().enumerate() {
            hashes.clear();
            self.hashes_in_slots(index).for_each(|hash| hashes.push(hash));
            target.reinsert_batch(&hashes);
            if target.overflow.overflowed() > tolerable {
                target.split_overfull(slots, bytes);
                tolerable = target.overflow.overflowed() + target.overflow_limit() / 2;
            }
            if let Some(&address) = lowest.get(number + 1) {
                self.table.discard_before(address);
            }
        }
        target.reinsert_overflowed(0, 0);
        for (hash, _) in target.overflow.iter() {
            let segment = target.directory.segment_of(hash);
            target.table.segment_mut(segment).mark_overflow();
        }
        *self = target;
        Ok(())
    }
}
