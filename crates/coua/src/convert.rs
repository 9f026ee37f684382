//! Coarser copies, and adding the items of another filter.
//!
//! As in growth, representatives are inserted into another table. But here the target may refuse, and it may distinguish
//! fewer hashes, so that different items become copies of one.

use crate::error::{ConvertError, Full, FullReason};
use crate::filter::{CuckooFilter, IfPresent};
use crate::hash::KeyHash;
use crate::kernel::{Geometry, Resolution, SLOTS};
use crate::sizing::{self, fitted};

/// The target of [`CuckooFilter::convert`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Conversion {
    /// A coarser copy with at most this false-positive rate for the present items.
    Rate(f64),
    /// A coarser copy that remembers this many bits of the hash, 8..=64.
    HashBits(u32),
}

impl CuckooFilter {
    /// Returns a copy that remembers less of every key. O(slots).
    ///
    /// Filters of fixed size (from [`with_capacity`](Self::with_capacity)) can drop whole bits of
    /// their fingerprints, for a higher rate. Filters that grow can take any smaller number of hash
    /// bits.
    ///
    /// # Errors
    ///
    /// [`ConvertError`] if the target would need bits that the filter does not remember, or cannot be
    /// built.
    ///
    /// ```
    /// use coua::{Conversion, CuckooFilter};
    /// let mut exact = CuckooFilter::new();
    /// exact.insert("a")?;
    /// let small = exact.convert(Conversion::Rate(0.001))?;
    /// assert!(small.contains("a") && small.false_positive_rate() <= 0.001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convert(&self, to: Conversion) -> Result<Self, ConvertError> {
        let geometry = match to {
            Conversion::Rate(rate) => self.coarser(rate)?,
            Conversion::HashBits(bits) => self.with_hash_bits(bits)?,
        };
        self.rebuilt(geometry)
    }

    /// The hash bits that the filter remembers; a whole number if it can grow.
    fn remembered(&self) -> Result<u32, ConvertError> {
        match self.as_segments().geometry().resolution {
            Resolution::Prefix { bits } => Ok(bits),
            Resolution::Cells { .. } => {
                Err(ConvertError::FixedSize { smallest: self.smallest_rate() })
            }
        }
    }

    /// Items that a copy is planned for: a full filter may hold more than it was planned for itself.
    fn items_to_copy(&self) -> u64 {
        self.capacity().max(self.stored())
    }

    fn with_hash_bits(&self, bits: u32) -> Result<Geometry, ConvertError> {
        sizing::check_hash_bits(bits).map_err(ConvertError::Build)?;
        let remembered = self.remembered()?;
        if bits > remembered {
            let [wanted, remembered] = [bits, remembered].map(f64::from);
            return Err(ConvertError::Finer { wanted, remembered });
        }
        let resolution = Resolution::Prefix { bits };
        Ok(fitted(Geometry { resolution, ..*self.as_segments().geometry() }, self.items_to_copy()))
    }

    /// The most items that may be in slots of a coarser copy, at least 1.
    fn most_items(&self) -> f64 {
        // Copies from the overflow table may find free slots in the new table.
        let more: u64 =
            self.overflow().iter().map(|(_, entry)| entry.extra.min(SLOTS.into())).sum();
        (self.stored() + more).max(1) as f64
    }

    /// The rate of a copy that drops no bits.
    fn smallest_rate(&self) -> f64 {
        self.most_items() / self.hash_bits().exp2()
    }

    /// The coarsest geometry that keeps `rate` with the items stored now.
    fn coarser(&self, rate: f64) -> Result<Geometry, ConvertError> {
        sizing::check_rate(rate).map_err(ConvertError::Build)?;
        let smallest = self.smallest_rate();
        if rate < smallest {
            return Err(ConvertError::FinerRate { rate, smallest });
        }
        let wanted = (self.most_items() / rate).log2();
        match self.as_segments().geometry().resolution {
            Resolution::Prefix { bits } => {
                self.with_hash_bits((wanted.ceil().max(8.0) as u32).min(bits))
            }
            Resolution::Cells { top_bits } => {
                let spare = self.hash_bits() - wanted;
                let resolution =
                    Resolution::Cells { top_bits: top_bits.saturating_sub(spare as u32) };
                Ok(Geometry { resolution, ..*self.as_segments().geometry() })
            }
        }
    }

    /// Inserts all items of `other`. Its representatives must resolve this filter's cells.
    pub(crate) fn insert_all_of(
        &mut self,
        other: &Self,
        if_present: IfPresent,
    ) -> Result<(), Full> {
        for index in other.as_segments().in_hash_order() {
            let hashes =
                other.representatives(index).map_err(|_| self.full(FullReason::OutOfMemory))?;
            self.insert_all(&hashes, if_present, &mut []).map_err(|stopped| stopped.full)?;
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

    /// The same items in another geometry, or in one like it with more slots.
    fn rebuilt(&self, mut geometry: Geometry) -> Result<Self, ConvertError> {
        let build = |error| ConvertError::Build(crate::BuildError::OutOfMemory(error));
        loop {
            let mut filter = Self::empty(geometry, *self.policy(), self.hasher()).map_err(build)?;
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
