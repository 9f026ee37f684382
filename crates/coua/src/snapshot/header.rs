//! The header of a snapshot and the rows of its part table: fixed little-endian fields, checked before anything
//! else is used.
//!
//! `docs/format.md` is the normative description.

use crate::builder::CuckooFilterBuilder;
use crate::filter::{CuckooFilter, MAX_DEPTH, Policy, WhenFull, deepest};
use crate::hash::KeyHasher;
use crate::kernel::{Geometry, LOW_BITS, MAX_BUCKETS, MIN_FINGERPRINT_BITS, Resolution, SLOTS};
use crate::snapshot::error::{LoadError, VERSION};
use crate::snapshot::fields::{
    MAGIC, Reader, bad_field, checksum_of, named, number_of, put_u32, put_u64, require_checksum,
    require_eq,
};

/// The number of the kind of filter: the only one.
const KIND_CUCKOO: u16 = 1;
/// The features that this reader knows. None exist yet.
const KNOWN_FEATURES: u32 = 0;
pub(super) const HEADER_BYTES: usize = 192;
/// Bytes of one row of the part table.
pub(super) const PART_BYTES: u64 = 64;
/// Bytes of one row of the segment table.
pub(super) const ROW_BYTES: u64 = 32;
/// Bytes of one entry of the overflow table.
pub(super) const ENTRY_BYTES: u64 = 24;
pub(super) const TRAILER_BYTES: u64 = 32;
/// Segments begin at a multiple of this, a cache line.
const ALIGNMENT: u64 = 64;
/// The template, 1000 generations of a window, and the present one.
const MOST_PARTS: u32 = 1002;
/// Numbers of hash algorithms.
const XXH3: u32 = 1;
const SIPHASH13: u32 = 2;
/// The hash of this text identifies a hasher's key.
const KEY_CHECK_TEXT: &[u8] = b"coua key check";

/// The number of disjoint buckets, the only layout.
const DISJOINT: u32 = 0;
const WHEN_FULL: [(u32, WhenFull); 3] =
    [(0, WhenFull::Grow), (1, WhenFull::Refuse), (2, WhenFull::ExceedRate)];

/// The secret key of a filter, if it has one.
pub(crate) type SecretKey = Option<[u8; 16]>;

/// The hash as a snapshot stores it: instead of a secret key, a value that recognizes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredHash {
    algorithm: u32,
    /// The seed, or the hash of [`KEY_CHECK_TEXT`].
    seed: u64,
}

impl StoredHash {
    fn of(hasher: KeyHasher) -> Self {
        let (algorithm, seed) = match hasher {
            KeyHasher::Xxh3 { seed } => (XXH3, seed),
            KeyHasher::SipHash13 { .. } => (SIPHASH13, hasher.hash(KEY_CHECK_TEXT).to_u64()),
        };
        Self { algorithm, seed }
    }

    /// The hasher, given the secret key if one is needed.
    pub(crate) fn hasher(self, key: SecretKey) -> Result<KeyHasher, LoadError> {
        if self.algorithm == XXH3 {
            return Ok(KeyHasher::Xxh3 { seed: self.seed });
        }
        let hasher = KeyHasher::SipHash13 { key: key.ok_or(LoadError::KeyNeeded)? };
        if Self::of(hasher) == self { Ok(hasher) } else { Err(LoadError::WrongKey) }
    }
}

/// The window of a filter, as a snapshot stores it. [`window`](crate::window) interprets and checks the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct StoredWindow {
    /// Not 0; in a filter without a window, all fields are 0.
    pub(crate) clock: u32,
    pub(crate) generations: u32,
    pub(crate) length: u64,
    pub(crate) time: u64,
    pub(crate) age_from: u32,
}

/// The fields of a snapshot's header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) hash: StoredHash,
    /// 0: [`Resolution::Prefix`], 1: [`Resolution::Cells`].
    resolution: u32,
    pub(crate) policy: Policy,
    pub(crate) window: Option<StoredWindow>,
    pub(super) parts: u32,
    /// Of all parts.
    pub(super) segments: u64,
    pub(crate) overflow_entries: u64,
    /// Where the overflow table begins.
    pub(crate) overflow: u64,
}

/// The data of one filter in a snapshot, besides its segments and its copies without a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PartRow {
    /// The number of the generation; 0 for a filter without a window.
    pub(crate) number: u64,
    pub(crate) geometry: Geometry,
    pub(super) segments: u64,
    pub(crate) overflow_entries: u64,
    /// Items, copies included.
    pub(crate) len: u64,
    pub(crate) stored: u64,
}

impl Header {
    /// The header of filters like the first, with these rows and `data` bytes of segments.
    pub(super) fn of(
        first: &CuckooFilter,
        window: Option<StoredWindow>,
        rows: &[PartRow],
        data: u64,
    ) -> Self {
        let resolution = rows[0].geometry.resolution;
        let header = Self {
            hash: StoredHash::of(first.hasher()),
            resolution: u32::from(matches!(resolution, Resolution::Cells { .. })),
            policy: *first.policy(),
            window,
            parts: rows.len() as u32,
            segments: rows.iter().map(|row| row.segments).sum(),
            overflow_entries: rows.iter().map(|row| row.overflow_entries).sum(),
            overflow: 0,
        };
        Self { overflow: header.first_segment() + data, ..header }
    }

    /// Where the segment table ends.
    pub(super) fn tables_end(&self) -> u64 {
        let parts = u64::from(self.parts) * PART_BYTES + HEADER_BYTES as u64;
        self.segments.saturating_mul(ROW_BYTES).saturating_add(parts)
    }

    /// Where the first segment begins.
    pub(super) fn first_segment(&self) -> u64 {
        self.tables_end().div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT)
    }

    /// The length of the snapshot.
    pub(crate) fn length(&self) -> u64 {
        let entries = self.overflow_entries.saturating_mul(ENTRY_BYTES);
        self.overflow.saturating_add(entries).saturating_add(TRAILER_BYTES)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { policy, hash: StoredHash { algorithm, seed }, .. } = *self;
        let StoredWindow { clock, generations, length, time, age_from } =
            self.window.unwrap_or_default();
        let mut out = MAGIC.to_vec();
        out.extend([VERSION, KIND_CUCKOO].map(u16::to_le_bytes).concat());
        put_u32(&mut out, &[HEADER_BYTES as u32, 0, algorithm]);
        put_u64(&mut out, &[seed, 0]);
        put_u32(&mut out, &[DISJOINT, SLOTS]);
        put_u32(&mut out, &[self.resolution, number_of(policy.when_full, &WHEN_FULL)]);
        put_u32(&mut out, &[policy.max_evictions, self.parts]);
        put_u64(&mut out, &[policy.max_items, self.segments, self.overflow_entries]);
        put_u64(&mut out, &[self.first_segment(), self.overflow, self.length()]);
        put_u32(&mut out, &[clock, generations]);
        put_u64(&mut out, &[length, time]);
        put_u32(&mut out, &[age_from]);
        out.resize(HEADER_BYTES - 8, 0);
        let sum = checksum_of(&out);
        put_u64(&mut out, &[sum]);
        out
    }

    /// Reads and checks everything that can be checked without the rest of the snapshot.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, LoadError> {
        let (covered, sum) = bytes.split_at(HEADER_BYTES - 8);
        let Some(fields) = covered.strip_prefix(&MAGIC) else { return Err(LoadError::NotAFilter) };
        let mut fields = Reader(fields);
        let (found, kind) = (fields.u16(), fields.u16());
        if found != VERSION {
            return Err(LoadError::Version { found });
        }
        require_checksum(&Reader(sum).u64(), &checksum_of(covered), "header")?;
        require_eq("kind", u64::from(KIND_CUCKOO), kind)?;
        require_eq("header length", HEADER_BYTES as u64, fields.u32())?;
        let found = fields.u32();
        if found & !KNOWN_FEATURES != 0 {
            return Err(LoadError::Features { found });
        }
        let hash = fields.hash()?;
        require_eq("layout", u64::from(DISJOINT), fields.u32())?;
        require_eq("slots per bucket", u64::from(SLOTS), fields.u32())?;
        let resolution = named("resolution", fields.u32(), &[(0, 0), (1, 1)])?;
        let when_full = named("when full", fields.u32(), &WHEN_FULL)?;
        let (max_evictions, parts) = (fields.u32(), fields.u32());
        let policy = Policy { max_items: fields.u64(), when_full, max_evictions };
        let (segments, overflow_entries) = (fields.u64(), fields.u64());
        let (first_segment, overflow, length) = (fields.u64(), fields.u64(), fields.u64());
        let window = fields.window(parts)?;
        fields.reserved(fields.0.len())?;
        if max_evictions > CuckooFilterBuilder::MAX_EVICTIONS {
            return bad_field("max evictions", max_evictions);
        }
        let header =
            Self { hash, resolution, policy, window, parts, segments, overflow_entries, overflow };
        // Offsets follow from the counts; the counts are bounded by the length.
        let fits = first_segment == header.first_segment()
            && length == header.length()
            && length < u64::MAX
            // No segment has fewer bytes.
            && overflow.checked_sub(first_segment) >= Some(segments.saturating_mul(64));
        if fits { Ok(header) } else { bad_field("offsets", length) }
    }
}

impl PartRow {
    pub(super) fn of(number: u64, filter: &CuckooFilter) -> Self {
        Self {
            number,
            geometry: *filter.as_segments().geometry(),
            segments: filter.segments() as u64,
            overflow_entries: filter.overflow().len() as u64,
            len: filter.len(),
            stored: filter.stored(),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let Geometry { buckets, base_depth, low_bits, resolution, .. } = self.geometry;
        let (Resolution::Prefix { bits } | Resolution::Cells { top_bits: bits }) = resolution;
        put_u64(out, &[self.number, buckets]);
        put_u32(out, &[base_depth, low_bits, bits, 0]);
        put_u64(out, &[self.segments, self.overflow_entries, self.len, self.stored]);
    }

    pub(super) fn decode(bytes: &[u8], header: &Header) -> Result<Self, LoadError> {
        let mut fields = Reader(bytes);
        let (number, buckets) = (fields.u64(), fields.u64());
        let (base_depth, low_bits, bits) = (fields.u32(), fields.u32(), fields.u32());
        fields.reserved(4)?;
        let resolution = match header.resolution {
            0 => Resolution::Prefix { bits },
            _ => Resolution::Cells { top_bits: bits },
        };
        let geometry = Geometry { buckets, base_depth, low_bits, resolution };
        let segments = fields.u64();
        if !is_sound(&geometry) {
            return bad_field("geometry", buckets);
        }
        if !(1 << base_depth..1 << MAX_DEPTH).contains(&segments) {
            return bad_field("segments", segments);
        }
        if header.window.is_none() && number != 0 {
            return bad_field("part number", number);
        }
        let overflow_entries = fields.u64();
        let (len, stored) = (fields.u64(), fields.u64());
        Ok(Self { number, geometry, segments, overflow_entries, len, stored })
    }

    /// The maximum depth of a segment.
    pub(super) fn deepest(&self) -> u32 {
        deepest(self.segments as usize)
    }
}

impl Reader<'_> {
    fn hash(&mut self) -> Result<StoredHash, LoadError> {
        let (algorithm, seed) = (self.u32(), self.u64());
        self.reserved(8)?;
        if ![XXH3, SIPHASH13].contains(&algorithm) {
            return bad_field("hash algorithm", algorithm);
        }
        Ok(StoredHash { algorithm, seed })
    }

    /// The window of a snapshot with `parts` parts.
    fn window(&mut self, parts: u32) -> Result<Option<StoredWindow>, LoadError> {
        let (clock, generations) = (self.u32(), self.u32());
        let (length, time, age_from) = (self.u64(), self.u64(), self.u32());
        let most = if clock == 0 { 1 } else { generations.saturating_add(2).min(MOST_PARTS) };
        if !(1..=most).contains(&parts) {
            return bad_field("parts", parts);
        }
        if clock != 0 {
            return Ok(Some(StoredWindow { clock, generations, length, time, age_from }));
        }
        require_eq("generations", 0, generations)?;
        require_eq("window length", 0, length)?;
        require_eq("time", 0, time)?;
        require_eq("age from", 0, age_from).map(|()| None)
    }
}

/// Whether all arithmetic on this geometry stays within its limits.
fn is_sound(geometry: &Geometry) -> bool {
    let depth = geometry.base_depth;
    let is_within_limits = || match geometry.resolution {
        Resolution::Prefix { bits } => {
            geometry.low_bits == LOW_BITS
                && (8..=64).contains(&bits)
                && (bits.saturating_sub(63)..=bits).contains(&depth)
        }
        Resolution::Cells { top_bits } => {
            (MIN_FINGERPRINT_BITS..=LOW_BITS).contains(&geometry.low_bits)
                && top_bits < 64
                && geometry.cells() <= 64f64.exp2()
        }
    };
    depth < MAX_DEPTH
        && is_within_limits()
        && (1..MAX_BUCKETS).contains(&geometry.buckets)
        && geometry.level(depth).is_some()
}
