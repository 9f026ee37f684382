//! Coarser copies, and adding the items of another filter.
//!
//! As in growth, representatives are inserted into another table. But here the target may refuse, and it may distinguish
//! fewer hashes, so that different items become copies of one.

use crate::error::{ConvertError, Full, FullReason, with_room};
use crate::filter::{CuckooFilter, IfPresent};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, Resolution, SLOTS};
use crate::segments::Segments;
use crate::sizing::{self, fitted};

impl CuckooFilter {
    /// Returns a copy that remembers less of every key: the coarsest with at most this false-positive rate for the present
    /// items. O(slots). Whole bits are dropped, so the rate may be lower.
    ///
    /// # Errors
    ///
    /// [`ConvertError`] if the copy would need bits that the filter does not remember, or cannot be built.
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// let mut exact = CuckooFilter::new();
    /// exact.insert("a")?;
    /// let small = exact.convert(0.001)?;
    /// assert!(small.contains("a") && small.false_positive_rate() <= 0.001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convert(&self, rate: f64) -> Result<Self, ConvertError> {
        self.rebuilt(self.coarser(rate)?)
    }

    /// The most items that may be in slots of a coarser copy, at least 1.
    fn most_items(&self) -> f64 {
        // Copies from the overflow table may find free slots in the new table.
        let more: u64 =
            self.overflow().iter().map(|(_, entry)| entry.extra.min(SLOTS.into())).sum();
        (self.stored() + more).max(1) as f64
    }

    /// The coarsest geometry that keeps `rate` with the items stored now.
    fn coarser(&self, rate: f64) -> Result<Geometry, ConvertError> {
        sizing::check_rate(rate).map_err(ConvertError::Build)?;
        // The rate of a copy that drops no bits.
        let smallest = self.most_items() / self.hash_bits().exp2();
        if rate < smallest {
            return Err(ConvertError::Finer { rate, smallest });
        }
        let wanted = (self.most_items() / rate).log2();
        let geometry = *self.as_segments().geometry();
        Ok(match geometry.resolution {
            Resolution::Prefix { bits } => {
                let bits = (wanted.ceil().max(8.0) as u32).min(bits);
                let resolution = Resolution::Prefix { bits };
                // A full filter may hold more than it was planned for.
                let items = self.capacity().max(self.stored());
                fitted(Geometry { resolution, ..geometry }, items)
            }
            Resolution::Cells { top_bits } => {
                let spare = self.hash_bits() - wanted;
                let top_bits = top_bits.saturating_sub(spare as u32);
                Geometry { resolution: Resolution::Cells { top_bits }, ..geometry }
            }
        })
    }

    /// Inserts all items of `other`. Its representatives must resolve this filter's cells.
    pub(crate) fn insert_all_of(
        &mut self,
        other: &Self,
        if_present: IfPresent,
    ) -> Result<(), Full> {
        let segments = other.as_segments();
        let is_used = |&index: &u32| segments.get(index).occupied() > 0;
        for index in segments.in_hash_order().filter(is_used) {
            let list = with_room(segments.get(index).occupied() as usize);
            let mut hashes = list.map_err(|_| self.full(FullReason::OutOfMemory))?;
            hashes.extend(segments.representatives(index));
            self.insert_all(&hashes, if_present, &mut [], None).map_err(|stopped| stopped.full)?;
        }
        // Items that count against the limit come first.
        for (hash, entry) in other.overflow().iter().filter(|(_, entry)| entry.overflowed > 0) {
            match if_present {
                IfPresent::AddCopy => self.insert_copies(hash, entry.overflowed)?,
                IfPresent::Skip => self.insert_unique(hash).map(drop)?,
            }
        }
        if if_present == IfPresent::AddCopy {
            self.reserve_overflow(other.overflow().len());
            for (hash, entry) in other.overflow().iter() {
                self.insert_copies(hash, entry.extra)?;
            }
        }
        Ok(())
    }

    fn insert_copies(&mut self, hash: KeyHash, copies: u64) -> Result<(), Full> {
        for left in (1..=copies).rev() {
            let place = self.as_segments().locate(hash);
            let segments = self.as_segments();
            let most = Self::slots_for_copies(segments.level_of(place.segment));
            if segments.copies(&place) >= most || self.overflow_copies(&place) > 0 {
                self.add_copies(&place, left);
                return Ok(());
            }
            self.insert(hash)?;
        }
        Ok(())
    }

    /// A filter with these items in another geometry, or in one like it with more slots.
    fn rebuilt(&self, mut geometry: Geometry) -> Result<Self, ConvertError> {
        let build = |error| ConvertError::Build(crate::BuildError::OutOfMemory(error));
        loop {
            let segments = Segments::empty(geometry).map_err(build)?;
            let mut filter = Self::of_segments(segments, *self.policy(), self.hasher());
            let Err(full) = filter.insert_all_of(self, IfPresent::AddCopy) else {
                return Ok(filter);
            };
            // Duplicates compete for two buckets, and small tables vary; retry with more slots.
            let larger = fitted(geometry, geometry.slots());
            let may_try =
                matches!(full.reason, FullReason::NoRoom) && geometry.slots() < 2 * self.slots();
            if !may_try || larger.slots() <= geometry.slots() {
                return Err(ConvertError::Full(full));
            }
            geometry = larger;
        }
    }
}
