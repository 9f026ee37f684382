//! The table of one filter.

use std::io::{Read, Seek, SeekFrom};

pub use crate::filter::OverflowEntry;
use crate::hash::{KeyHash, KeyHasher};
use crate::kernel::{ALTERNATE, CHOICE_BITS};
use crate::snapshot::{Header, LoadError, PartTable};
use crate::table::Table;

/// The table of a filter in a snapshot. Segments are read and checked on request, everything else at once.
#[non_exhaustive]
pub struct TableView {
    header: Header,
    part: PartTable,
    /// The number of the generation; `None` for a filter that is not a generation.
    pub generation: Option<u64>,
    /// Buckets of a segment.
    pub buckets: u64,
    /// Slots of a segment.
    pub segment_slots: u64,
    /// Probability that an absent key is found.
    pub false_positive_rate: f64,
    /// Items, every copy counted.
    pub len: u64,
    /// The segments, in the order of their hashes.
    pub segments: Vec<SegmentInfo>,
    /// The entries of the overflow table, in order: the representative of each key, and its copies without a slot.
    pub overflow: Vec<(KeyHash, OverflowEntry)>,
}

/// An independent run of buckets, which holds the hashes that begin with its prefix.
#[non_exhaustive]
pub struct SegmentInfo {
    /// Bits of the prefix.
    pub depth: u32,
    /// Slots in use.
    pub occupied: u32,
    /// Bits of a slot: of the fingerprint, and one for the choice.
    pub slot_bits: u32,
}

/// A slot in use.
#[non_exhaustive]
pub struct Slot {
    /// The number of the slot in the segment.
    pub number: u64,
    /// The bucket that its item belongs to.
    pub bucket: u64,
    /// The fingerprint stored.
    pub fingerprint: u64,
    /// The choice bit stored: the item is in its alternate bucket.
    pub is_alternate: bool,
    /// The other bucket of the item, to which it may be moved.
    pub other_bucket: u64,
    /// The smallest hash that would be stored like this; nothing else is known of the key.
    pub representative: KeyHash,
}

/// The place of a key, if it is present.
#[non_exhaustive]
pub struct Place {
    /// The number of the segment, in the order of hashes.
    pub segment: usize,
    /// The bucket that follows from the hash.
    pub primary: u64,
    /// The bucket that follows from the primary one and the fingerprint.
    pub alternate: u64,
    /// The stored part of the hash, besides its place.
    pub fingerprint: u64,
    /// The smallest hash that would be stored like this.
    pub representative: KeyHash,
}

impl TableView {
    /// The table of a part of a snapshot, with its overflow entries.
    pub(super) fn new(
        header: Header,
        part: PartTable,
        generation: Option<u64>,
        overflow: impl Iterator<Item = (KeyHash, OverflowEntry)>,
    ) -> Self {
        let segments = part.segments.iter().map(|row| {
            let slot_bits = part.level_of(row).codec.slot_bits;
            SegmentInfo { depth: row.depth, occupied: row.occupied, slot_bits }
        });
        let (geometry, row) = (&part.row.geometry, &part.row);
        Self {
            segments: segments.collect(),
            overflow: overflow.collect(),
            generation,
            buckets: geometry.buckets,
            segment_slots: geometry.segment_slots(),
            false_positive_rate: (row.stored as f64 / geometry.cells()).min(1.0),
            len: row.len,
            header,
            part,
        }
    }

    /// How keys are hashed, with the secret key if one is needed.
    ///
    /// # Errors
    ///
    /// [`LoadError::KeyNeeded`] and [`LoadError::WrongKey`].
    pub fn hasher(&self, key: Option<[u8; 16]>) -> Result<KeyHasher, LoadError> {
        self.header.hash.hasher(key)
    }

    /// The place of the key with this hash, if it is present. O(log segments).
    pub fn locate(&self, hash: KeyHash) -> Place {
        // The first one begins with hash 0.
        let segment = self.part.segments.partition_point(|row| row.prefix <= hash.to_u64()) - 1;
        let row = &self.part.segments[segment];
        let level = self.part.level_of(row);
        let place = level.locate(hash, segment as u32);
        Place {
            segment,
            primary: place.primary,
            alternate: place.alternate,
            fingerprint: place.value >> CHOICE_BITS,
            representative: level.representative(row.prefix, place.primary, place.value),
        }
    }

    /// The used slots of a segment, in order. O(slots of a segment).
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the segment is damaged.
    ///
    /// # Panics
    ///
    /// If the segment does not exist.
    pub fn slots<R: Read + Seek>(
        &self,
        input: &mut R,
        segment: usize,
    ) -> Result<Vec<Slot>, LoadError> {
        let row = &self.part.segments[segment];
        let mut table = self.read(input, segment)?;
        let read = table.segment_mut(0);
        let level = self.part.level_of(row);
        let items = (0..).zip(level.items(&read, 0..level.buckets));
        let items = items.filter(|&(_, (_, value))| value != 0);
        let slots = items.map(|(number, (bucket, value))| Slot {
            number,
            bucket,
            fingerprint: value >> CHOICE_BITS,
            is_alternate: value & ALTERNATE != 0,
            other_bucket: level.on_words().other_bucket(bucket, value),
            representative: level.representative(row.prefix, bucket, value),
        });
        Ok(slots.collect())
    }

    fn read<R: Read + Seek>(&self, input: &mut R, segment: usize) -> Result<Table, LoadError> {
        let row = &self.part.segments[segment];
        let mut table = Table::new(0, row.bytes)?;
        input.seek(SeekFrom::Start(row.offset))?;
        self.part.read_segment(input, segment, &mut table.segment_mut(0))?;
        Ok(table)
    }

    /// Checks all segments, and that the overflow table and the numbers of items match them.
    pub(super) fn check<R: Read + Seek>(&self, input: &mut R) -> Result<(), LoadError> {
        let (mut stored, mut extra, mut last) = (0_u64, 0_u64, None);
        for (number, segment) in self.segments.iter().enumerate() {
            self.read(input, number)?;
            stored = stored.saturating_add(segment.occupied.into());
        }
        for &(hash, entry) in &self.overflow {
            if self.locate(hash).representative != hash || last.replace(hash) >= Some(hash) {
                return Err(LoadError::Field {
                    name: "overflow table entry",
                    found: hash.to_u64(),
                });
            }
            stored = stored.saturating_add(entry.overflowed);
            extra = extra.saturating_add(entry.extra);
        }
        let row = &self.part.row;
        if (stored, stored.saturating_add(extra)) == (row.stored, row.len) {
            Ok(())
        } else {
            Err(LoadError::Field { name: "number of items", found: row.len })
        }
    }
}
