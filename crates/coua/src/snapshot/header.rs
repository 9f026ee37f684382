//! The header of a snapshot: fixed little-endian fields, checked before anything else is believed.
//!
//! `docs/format.md` is the normative description.

use crate::builder::CuckooFilterBuilder;
use crate::filter::{CuckooFilter, MAX_DEPTH, Policy, WhenFull, deepest};
use crate::hash::{HashAlgorithm, KeyHasher};
use crate::kernel::{Geometry, LOW_BITS, Layout, MAX_BUCKETS, MIN_FINGERPRINT_BITS, Resolution};
use crate::sizing::check_slots;
use crate::snapshot::error::{LoadError, VERSION};
use crate::snapshot::fields::{
    MAGIC, PAGE, Reader, begin, checksum_of, end_of, expect, finish, number_of, put_u32, put_u64,
    wrong,
};

/// A cuckoo filter; other kinds of filters would have other numbers.
const KIND_CUCKOO: u16 = 1;
pub(super) const HEADER_BYTES: usize = 192;
/// Bytes of one row of the segment table.
pub(super) const ROW_BYTES: u64 = 32;
/// Bytes of one entry of the overflow table.
pub(crate) const ENTRY_BYTES: u64 = 24;
pub(super) const TRAILER_BYTES: u64 = 32;
/// Numbers of hash algorithms.
const XXH3: u32 = 1;
const SIPHASH13: u32 = 2;
/// The hash of this text identifies a hasher's key.
const KEY_CHECK_TEXT: &[u8] = b"coua key check";

const LAYOUTS: [(u32, Layout); 2] = [(0, Layout::Buckets), (1, Layout::Overlapping)];
const WHEN_FULL: [(u32, WhenFull); 3] =
    [(0, WhenFull::Grow), (1, WhenFull::Refuse), (2, WhenFull::ExceedRate)];

/// The secret key of a filter, if it has one.
pub(crate) type SecretKey = Option<[u8; 16]>;

/// The fields of a snapshot's header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) hash: StoredHash,
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    /// Items, copies included.
    pub(crate) len: u64,
    pub(crate) stored: u64,
    pub(crate) overflowed: u64,
    pub(crate) segments: u64,
    pub(crate) overflow_entries: u64,
    /// Where the overflow table begins.
    pub(crate) overflow: u64,
}

/// The hash as a snapshot stores it: a secret key is not stored, only how to recognize it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredHash {
    algorithm: u32,
    /// The seed, or the hash of [`KEY_CHECK_TEXT`].
    seed: u64,
}

impl StoredHash {
    pub(super) fn of(hasher: KeyHasher) -> Self {
        let (algorithm, seed) = match hasher.algorithm() {
            HashAlgorithm::Xxh3 { seed } => (XXH3, seed),
            HashAlgorithm::SipHash13 { .. } => (SIPHASH13, hasher.hash(KEY_CHECK_TEXT).to_u64()),
        };
        Self { algorithm, seed }
    }

    /// The hasher, given the secret key if one is needed.
    pub(crate) fn hasher(self, key: SecretKey) -> Result<KeyHasher, LoadError> {
        if self.algorithm == XXH3 {
            return Ok(KeyHasher::xxh3(self.seed));
        }
        let hasher = KeyHasher::siphash13(key.ok_or(LoadError::KeyNeeded)?);
        if Self::of(hasher) == self { Ok(hasher) } else { Err(LoadError::WrongKey) }
    }
}

impl Header {
    pub(super) fn of(filter: &CuckooFilter) -> Self {
        let header = Self {
            hash: StoredHash::of(filter.hasher()),
            geometry: *filter.as_segments().geometry(),
            policy: *filter.policy(),
            len: filter.len(),
            stored: filter.stored(),
            overflowed: filter.overflow().overflowed(),
            segments: filter.segments() as u64,
            overflow_entries: filter.overflow().len() as u64,
            overflow: 0,
        };
        let data = filter.as_segments().slot_bytes();
        Self { overflow: header.first_segment() + data, ..header }
    }

    /// Where the first segment begins.
    pub(crate) fn first_segment(&self) -> u64 {
        let rows = self.segments.saturating_mul(ROW_BYTES);
        rows.saturating_add(HEADER_BYTES as u64).div_ceil(PAGE).saturating_mul(PAGE)
    }

    /// The length of the whole.
    pub(crate) fn end(&self) -> u64 {
        let entries = self.overflow_entries.saturating_mul(ENTRY_BYTES);
        self.overflow.saturating_add(entries).saturating_add(TRAILER_BYTES)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { geometry, policy, overflow, hash: StoredHash { algorithm, seed }, .. } = *self;
        let (resolution, bits) = match geometry.resolution {
            Resolution::Prefix { bits } => (0, bits),
            Resolution::Cells { top_bits } => (1, top_bits),
        };
        let Geometry { slots_per_bucket, base_depth, low_bits, .. } = geometry;
        let mut out = begin(VERSION, KIND_CUCKOO, HEADER_BYTES);
        put_u32(&mut out, &[algorithm, 0]);
        put_u64(&mut out, &[seed, 0]);
        put_u32(&mut out, &[number_of(geometry.layout, &LAYOUTS), slots_per_bucket]);
        put_u64(&mut out, &[geometry.buckets]);
        put_u32(&mut out, &[base_depth, low_bits, resolution, bits]);
        put_u32(&mut out, &[number_of(policy.when_full, &WHEN_FULL), policy.max_evictions]);
        put_u64(&mut out, &[policy.max_items, self.len, self.stored, self.overflowed]);
        put_u64(&mut out, &[self.segments, self.overflow_entries]);
        put_u64(&mut out, &[self.end(), HEADER_BYTES as u64, self.first_segment(), overflow]);
        finish(out, HEADER_BYTES)
    }

    /// Reads and checks everything that can be checked without the rest of the file.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, LoadError> {
        if bytes[..8] != MAGIC {
            return Err(LoadError::NotAFilter);
        }
        let found = Reader(&bytes[8..]).u16();
        if found == 0 || found > VERSION {
            return Err(LoadError::Version { found });
        }
        let mut fields = Reader::of_header(bytes, KIND_CUCKOO)?;
        // Each is read where it stands here.
        let mut header = Self {
            hash: fields.hash()?,
            geometry: fields.geometry()?,
            policy: fields.policy()?,
            len: fields.u64(),
            stored: fields.u64(),
            overflowed: fields.u64(),
            segments: fields.u64(),
            overflow_entries: fields.u64(),
            overflow: 0,
        };
        let end = fields.u64();
        expect("segment table offset", HEADER_BYTES as u64, fields.u64())?;
        let first_segment = fields.u64();
        header.overflow = fields.u64();
        fields.expect_zeros()?;
        // Offsets follow from the counts; the counts are bounded by the length.
        let fits = header.segments >= 1 << header.geometry.base_depth.min(63)
            && header.segments < 1 << MAX_DEPTH
            && first_segment == header.first_segment()
            && header.overflow > first_segment
            && end == header.end()
            && end < u64::MAX
            // Segments are no larger than the one of the base depth, and no smaller than the
            // deepest.
            && header.overflow - first_segment >= 64 * header.segments;
        if fits { Ok(header) } else { wrong("offsets", end) }
    }

    /// Depth that no segment exceeds.
    pub(super) fn deepest(&self) -> u32 {
        deepest(self.segments as usize)
    }
}

/// The end of a snapshot.
pub(super) fn trailer(head: &[u8], rows: &[u8], overflow_sum: u64) -> Vec<u8> {
    end_of(head, [checksum_of(rows), overflow_sum])
}

impl Reader<'_> {
    fn hash(&mut self) -> Result<StoredHash, LoadError> {
        let algorithm = self.u32();
        expect("reserved", 0, self.u32())?;
        let seed = self.u64();
        expect("reserved", 0, self.u64())?;
        if ![XXH3, SIPHASH13].contains(&algorithm) {
            return wrong("hash algorithm", algorithm);
        }
        Ok(StoredHash { algorithm, seed })
    }

    fn geometry(&mut self) -> Result<Geometry, LoadError> {
        let geometry = Geometry {
            layout: self.one_of("layout", &LAYOUTS)?,
            slots_per_bucket: self.u32(),
            buckets: self.u64(),
            base_depth: self.u32(),
            low_bits: self.u32(),
            resolution: match (self.u32(), self.u32()) {
                (0, bits) => Resolution::Prefix { bits },
                (1, top_bits) => Resolution::Cells { top_bits },
                (found, _) => return wrong("resolution", found),
            },
        };
        if is_sound(&geometry) { Ok(geometry) } else { wrong("geometry", geometry.buckets) }
    }

    fn policy(&mut self) -> Result<Policy, LoadError> {
        let when_full = self.one_of("when full", &WHEN_FULL)?;
        let max_evictions = self.u32();
        if max_evictions > CuckooFilterBuilder::MAX_EVICTIONS {
            return wrong("max evictions", max_evictions);
        }
        Ok(Policy { max_items: self.u64(), when_full, max_evictions })
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
        && check_slots(geometry.layout, geometry.slots_per_bucket).is_ok()
        && (1..MAX_BUCKETS).contains(&geometry.buckets)
        && geometry.level(depth).is_some()
}
