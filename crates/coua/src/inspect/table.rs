//! The table of one filter.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use crate::cuckoo::WhenFull;
use crate::hash::{KeyHash, KeyHasher};
use crate::kernel::{ALTERNATE, Layout, LevelGeometry, Resolution};
use crate::snapshot::{
    ENTRY_BYTES, Front, LoadError, Part, Reader, Row, StoredHash, checksum_of, in_use,
    wrong_occupied,
};
use crate::table::Table;

/// The table of a filter in a snapshot: all but the segments is read and checked at once, and a segment when
/// it is asked for.
pub struct TableView {
    front: Front,
    segments: Vec<SegmentInfo>,
    overflow: Vec<Overflow>,
}

/// What a filter was made with, and how many items it holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameters {
    /// How keys are hashed; `None` if that takes a secret key.
    pub hasher: Option<KeyHasher>,
    /// Disjoint or overlapping buckets.
    pub layout: Layout,
    /// Slots of a bucket.
    pub slots_per_bucket: u32,
    /// Buckets of a segment.
    pub buckets: u64,
    /// Slots of a segment.
    pub segment_slots: u64,
    /// Bits of every hash that are remembered: the false-positive rate is `stored` / 2^`hash_bits`.
    pub hash_bits: f64,
    /// Whether the filter can be rebuilt to any size.
    pub is_resizable: bool,
    /// What happens when there is no slot for an item.
    pub when_full: WhenFull,
    /// Steps after which an eviction chain gives up.
    pub max_evictions: u32,
    /// Items up to which the rate holds; `u64::MAX`: no limit.
    pub max_items: u64,
    /// Items, every copy counted.
    pub len: u64,
    /// Items in slots, and overflowed ones.
    pub stored: u64,
}

/// An independent run of buckets, which holds the hashes that begin with its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// The smallest hash that belongs here.
    pub prefix: u64,
    /// Bits of the prefix.
    pub depth: u32,
    /// Slots in use.
    pub occupied: u32,
    /// Bits of a slot.
    pub slot_bits: u32,
    /// Bits of a fingerprint.
    pub fingerprint_bits: u32,
    /// The bytes of the file.
    pub bytes: Range<u64>,
}

/// Which of its two buckets an item lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one that follows from the hash.
    Primary,
    /// The one that follows from the primary bucket and the fingerprint.
    Alternate,
}

/// A slot in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slot {
    /// Its number in the segment.
    pub number: u64,
    /// The bucket that its item belongs to.
    pub bucket: u64,
    /// The fingerprint stored.
    pub fingerprint: u64,
    /// The choice bit stored.
    pub choice: Choice,
    /// The other bucket of the item, to which it may be moved.
    pub other_bucket: u64,
    /// The smallest hash that would be stored like this: all that is known of the key.
    pub representative: KeyHash,
}

/// Where a key lies, if it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The number of the segment, in the order of hashes.
    pub segment: usize,
    /// The bucket that follows from the hash.
    pub primary: u64,
    /// The bucket that follows from the primary one and the fingerprint.
    pub alternate: u64,
    /// What is stored of the hash, besides its place.
    pub fingerprint: u64,
    /// The smallest hash that would be stored like this.
    pub representative: KeyHash,
}

/// An entry of the overflow table: exact counts of copies that have no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overflow {
    /// What is known of the key.
    pub representative: KeyHash,
    /// Copies of an item that has slots.
    pub extra: u64,
    /// Copies for which no slot was found.
    pub without_slot: u64,
}

impl TableView {
    /// Opens the filter in these bytes of a file, which [`Contents`](super::Contents) names.
    /// O(segments + overflow table).
    ///
    /// # Errors
    ///
    /// [`LoadError`]: a part other than the segments is damaged.
    pub fn open<R: Read + Seek>(input: &mut R, bytes: &Range<u64>) -> Result<Self, LoadError> {
        input.seek(SeekFrom::Start(bytes.start))?;
        let front = Front::read(input, bytes.end - bytes.start)?;
        input.seek(SeekFrom::Start(bytes.start + front.header.places.overflow))?;
        let entries = front.overflow_bytes(input)?;
        let overflow = entries.chunks_exact(ENTRY_BYTES as usize).map(|entry| {
            let mut fields = Reader { bytes: entry, at: 0 };
            Overflow {
                representative: KeyHash::from_u64(fields.u64()),
                extra: fields.u64(),
                without_slot: fields.u64(),
            }
        });
        let overflow = overflow.collect();
        let segments = segments_of(&front, bytes.start);
        Ok(Self { front, segments, overflow })
    }

    /// What the filter was made with, and how many items it holds.
    pub fn parameters(&self) -> Parameters {
        let header = &self.front.header;
        let hasher = match header.hash {
            StoredHash::Xxh3 { seed } => Some(KeyHasher::xxh3(seed)),
            StoredHash::SipHash13 { .. } => None,
        };
        Parameters {
            hasher,
            layout: header.geometry.layout,
            slots_per_bucket: header.geometry.slots_per_bucket,
            buckets: header.geometry.buckets,
            segment_slots: header.geometry.segment_slots(),
            hash_bits: header.geometry.cells().log2(),
            is_resizable: matches!(header.geometry.resolution, Resolution::Prefix { .. }),
            when_full: header.policy.when_full,
            max_evictions: header.policy.max_evictions,
            max_items: header.policy.max_items,
            len: header.len,
            stored: header.stored,
        }
    }

    /// How keys are hashed, with the secret key if that takes one.
    ///
    /// # Errors
    ///
    /// [`LoadError::KeyNeeded`] and [`LoadError::WrongKey`].
    pub fn hasher(&self, key: Option<[u8; 16]>) -> Result<KeyHasher, LoadError> {
        self.front.header.hash.hasher(key)
    }

    /// The segments, in the order of their hashes.
    pub fn segments(&self) -> &[SegmentInfo] {
        &self.segments
    }

    /// The entries of the overflow table, in the order of their hashes.
    pub fn overflow(&self) -> &[Overflow] {
        &self.overflow
    }

    /// Where the key with this hash lies, if it is there. O(1).
    pub fn locate(&self, hash: KeyHash) -> Place {
        let segment = self.front.directory.segment_of(hash);
        let level = self.level_of(segment as usize);
        let probe = level.locate(hash, segment);
        let prefix = self.segments[segment as usize].prefix;
        Place {
            segment: segment as usize,
            primary: probe.primary,
            alternate: probe.alternate,
            fingerprint: level.fingerprint(probe.value),
            representative: level.representative(prefix, probe.primary, probe.value),
        }
    }

    /// The slots in use of a segment, in their order. O(slots of a segment).
    ///
    /// # Errors
    ///
    /// [`LoadError`]: the segment is damaged.
    ///
    /// # Panics
    ///
    /// If there is no such segment.
    pub fn slots<R: Read + Seek>(
        &self,
        input: &mut R,
        segment: usize,
    ) -> Result<Vec<Slot>, LoadError> {
        let (info, row) = (&self.segments[segment], &self.front.rows[segment]);
        let length = info.bytes.end - info.bytes.start;
        let mut table = Table::new(0, length)?;
        let mut read = table.segment_mut(0);
        input.seek(SeekFrom::Start(info.bytes.start))?;
        input.read_exact(read.bytes_mut(length as usize))?;
        if checksum_of(read.bytes(length as usize)) != row.checksum {
            return Err(LoadError::Checksum { part: Part::Segment(segment as u64) });
        }
        let level = self.level_of(segment);
        if in_use(level, &read) != Some(u64::from(row.occupied)) {
            return Err(wrong_occupied(row));
        }
        let (mut slots, mut number) = (Vec::new(), 0);
        level.for_each_slot_in(&read, 0..level.slots(), |bucket, value| {
            if value != 0 {
                slots.push(slot_of(level, info.prefix, (number, bucket), value));
            }
            number += 1;
        });
        Ok(slots)
    }

    fn level_of(&self, segment: usize) -> &LevelGeometry {
        let level = self.segments[segment].depth - self.front.header.geometry.base_depth;
        &self.front.levels[level as usize]
    }
}

fn slot_of(level: &LevelGeometry, prefix: u64, (number, bucket): (u64, u64), value: u64) -> Slot {
    Slot {
        number,
        bucket,
        fingerprint: level.fingerprint(value),
        choice: if value & ALTERNATE == 0 { Choice::Primary } else { Choice::Alternate },
        other_bucket: level.alternate(bucket, value).0,
        representative: level.representative(prefix, bucket, value),
    }
}

/// The segments of a snapshot that begins at `begin` of its file.
fn segments_of(front: &Front, begin: u64) -> Vec<SegmentInfo> {
    let mut at = begin + front.header.places.first_segment;
    let mut prefix = 0u64;
    let segment = |row: &Row| {
        let level = row.depth - front.header.geometry.base_depth;
        let codec = front.levels[level as usize].codec();
        // The choice bit, and in overlapping buckets the position.
        let tag_bits = 1 + u32::from(codec.overlap());
        let (start, first) = (at, prefix);
        at += front.segment_bytes(row);
        // The last prefix of all overflows to zero, and is not used.
        prefix = prefix.wrapping_add(1u64.checked_shl(64 - row.depth).unwrap_or(0));
        SegmentInfo {
            prefix: first,
            depth: row.depth,
            occupied: row.occupied,
            slot_bits: codec.slot_bits(),
            fingerprint_bits: codec.slot_bits() - tag_bits,
            bytes: start..at,
        }
    };
    front.rows.iter().map(segment).collect()
}
