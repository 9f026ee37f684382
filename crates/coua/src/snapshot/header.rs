//! The header of a snapshot: fixed little-endian fields, checked before anything else is believed.
//!
//! `docs/format.md` is the normative description.

use crate::builder::CuckooFilterBuilder;
use crate::cuckoo::{self, CuckooFilter, MAX_DEPTH, Policy, WhenFull};
use crate::hash::{HashAlgorithm, KeyHasher};
use crate::kernel::{
    Geometry, LOW_BITS, Layout, LevelGeometry, MAX_BUCKETS, MIN_FINGERPRINT_BITS, Resolution,
};
use crate::sizing::check_slots;
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::version::VERSION;

pub(crate) const MAGIC: [u8; 8] = *b"\x89COUA\r\n\x1a";
/// A cuckoo filter; other kinds of filters would have other numbers.
const KIND_CUCKOO: u16 = 1;
pub(super) const HEADER_BYTES: usize = 192;
/// Bytes of one row of the segment table.
pub(super) const ROW_BYTES: u64 = 32;
/// Bytes of one entry of the overflow table.
pub(crate) const ENTRY_BYTES: u64 = 24;
pub(super) const TRAILER_BYTES: u64 = 32;
/// The first segment begins at a multiple of this, so that a file can be mapped and used in place.
const PAGE: u64 = 4096;
/// The last bytes of a snapshot.
pub(crate) const END_MAGIC: [u8; 8] = *b"COUA-END";
/// The hash of this text identifies a hasher's key.
const KEY_CHECK_TEXT: &[u8] = b"coua key check";

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
    pub(crate) places: Places,
}

/// The hash as a snapshot stores it: a secret key is not stored, only how to recognize it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredHash {
    Xxh3 { seed: u64 },
    SipHash13 { check: u64 },
}

/// Where the parts begin, and the length of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) first_segment: u64,
    pub(crate) overflow: u64,
    pub(crate) end: u64,
}

impl StoredHash {
    pub(super) fn of(hasher: KeyHasher) -> Self {
        match hasher.algorithm() {
            HashAlgorithm::Xxh3 { seed } => Self::Xxh3 { seed },
            HashAlgorithm::SipHash13 { .. } => {
                Self::SipHash13 { check: hasher.hash(KEY_CHECK_TEXT).to_u64() }
            }
        }
    }

    /// The hasher, given the secret key if one is needed.
    pub(crate) fn hasher(self, key: Option<[u8; 16]>) -> Result<KeyHasher, LoadError> {
        match (self, key) {
            (Self::Xxh3 { seed }, _) => Ok(KeyHasher::xxh3(seed)),
            (Self::SipHash13 { .. }, None) => Err(LoadError::KeyNeeded),
            (Self::SipHash13 { .. }, Some(key)) => {
                let hasher = KeyHasher::siphash13(key);
                if Self::of(hasher) == self { Ok(hasher) } else { Err(LoadError::WrongKey) }
            }
        }
    }
}

impl Header {
    pub(super) fn of(filter: &CuckooFilter) -> Self {
        let segments = filter.segments() as u64;
        let overflow_entries = filter.overflow().len() as u64;
        let first_segment = first_segment(segments);
        let data: u64 = filter.table().iter().map(|it| filter.segment_bytes(it)).sum();
        let overflow = first_segment + data;
        Self {
            hash: StoredHash::of(filter.hasher()),
            geometry: *filter.geometry(),
            policy: *filter.policy(),
            len: filter.len(),
            stored: filter.stored(),
            overflowed: filter.overflow().overflowed(),
            segments,
            overflow_entries,
            places: Places {
                first_segment,
                overflow,
                end: overflow + overflow_entries * ENTRY_BYTES + TRAILER_BYTES,
            },
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { geometry, policy, places, .. } = self;
        let (algorithm, seed) = match self.hash {
            StoredHash::Xxh3 { seed } => (1, seed),
            StoredHash::SipHash13 { check } => (2, check),
        };
        let (resolution, bits) = match geometry.resolution {
            Resolution::Prefix { bits } => (0, bits),
            Resolution::Cells { top_bits } => (1, top_bits),
        };
        let layout = u32::from(geometry.layout == Layout::Overlapping);
        let when_full = match policy.when_full {
            WhenFull::Grow => 0,
            WhenFull::Refuse => 1,
            WhenFull::ExceedRate => 2,
        };
        let Geometry { slots_per_bucket, base_depth, low_bits, .. } = *geometry;
        let mut out = begin(VERSION, KIND_CUCKOO);
        put_u32(&mut out, &[HEADER_BYTES as u32, algorithm, 0]);
        put_u64(&mut out, &[seed, 0]);
        put_u32(&mut out, &[layout, slots_per_bucket]);
        put_u64(&mut out, &[geometry.buckets]);
        put_u32(&mut out, &[base_depth, low_bits, resolution, bits]);
        put_u32(&mut out, &[when_full, policy.max_evictions]);
        put_u64(&mut out, &[policy.max_items, self.len, self.stored, self.overflowed]);
        put_u64(&mut out, &[self.segments, self.overflow_entries]);
        put_u64(
            &mut out,
            &[places.end, HEADER_BYTES as u64, places.first_segment, places.overflow],
        );
        finish(out, HEADER_BYTES)
    }

    /// Reads and checks everything that can be checked without the rest of the file.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, LoadError> {
        if bytes[..8] != MAGIC {
            return Err(LoadError::NotAFilter);
        }
        let mut fields = Reader { bytes, at: 8 };
        let version = fields.u16();
        if version == 0 || version > VERSION {
            return Err(LoadError::Version { found: version });
        }
        let checksum = Reader { bytes, at: HEADER_BYTES - 8 }.u64();
        if checksum != checksum_of(&bytes[..HEADER_BYTES - 8]) {
            return Err(LoadError::Checksum { part: Part::Header });
        }
        fields.expect("kind", u64::from(KIND_CUCKOO), |f| u64::from(f.u16()))?;
        fields.expect("header length", HEADER_BYTES as u64, |f| u64::from(f.u32()))?;
        let hash = fields.hash()?;
        let geometry = fields.geometry()?;
        let policy = fields.policy()?;
        let (len, stored, overflowed) = (fields.u64(), fields.u64(), fields.u64());
        let (segments, overflow_entries, end) = (fields.u64(), fields.u64(), fields.u64());
        fields.expect("segment table offset", HEADER_BYTES as u64, Reader::u64)?;
        let header = Self {
            hash,
            geometry,
            policy,
            len,
            stored,
            overflowed,
            segments,
            overflow_entries,
            places: Places { first_segment: fields.u64(), overflow: fields.u64(), end },
        };
        while fields.at < HEADER_BYTES - 8 {
            fields.expect("reserved", 0, Reader::u64)?;
        }
        header.check_places()?;
        Ok(header)
    }

    /// Offsets follow from the counts; the counts are bounded by the length.
    fn check_places(&self) -> Result<(), LoadError> {
        let Places { first_segment: first, overflow, end } = self.places;
        let overflow_bytes = self.overflow_entries.saturating_mul(ENTRY_BYTES);
        let fits = self.segments >= 1 << self.geometry.base_depth.min(63)
            && self.segments < 1 << MAX_DEPTH
            && first == first_segment(self.segments)
            && overflow > first
            && overflow.checked_add(overflow_bytes).and_then(|at| at.checked_add(TRAILER_BYTES)) == Some(end)
            // Segments are no larger than the one of the base depth, and no smaller than the
            // deepest.
            && overflow - first >= 64 * self.segments;
        if fits { Ok(()) } else { wrong("offsets", end) }
    }

    /// Depth that no segment exceeds.
    pub(super) fn deepest(&self) -> u32 {
        cuckoo::deepest(self.segments as usize)
    }

    /// The levels of all depths; at least the base depth's, because the geometry was checked.
    pub(super) fn levels(&self) -> Vec<LevelGeometry> {
        self.geometry.levels()
    }
}

/// The error of a field with this value.
pub(crate) fn wrong<T>(name: &'static str, found: impl Into<u64>) -> Result<T, LoadError> {
    Err(LoadError::Field { name, found: found.into() })
}

fn first_segment(segments: u64) -> u64 {
    (HEADER_BYTES as u64)
        .saturating_add(segments.saturating_mul(ROW_BYTES))
        .div_ceil(PAGE)
        .saturating_mul(PAGE)
}

pub(crate) fn checksum_of(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

/// The end of a snapshot: checksums of its parts, and a mark.
pub(super) fn trailer(head: &[u8], rows: &[u8], overflow_sum: u64) -> Vec<u8> {
    end_of(head, [checksum_of(rows), overflow_sum])
}

/// Two numbers, the checksum of a header and these, and a mark.
pub(crate) fn end_of(head: &[u8], numbers: [u64; 2]) -> Vec<u8> {
    let numbers = numbers.map(u64::to_le_bytes).concat();
    let whole = checksum_of(&[head, &numbers].concat());
    [&numbers[..], &whole.to_le_bytes(), &END_MAGIC].concat()
}

/// How a header begins.
pub(crate) fn begin(version: u16, kind: u16) -> Vec<u8> {
    [&MAGIC[..], &version.to_le_bytes(), &kind.to_le_bytes()].concat()
}

pub(crate) fn put_u32(out: &mut Vec<u8>, numbers: &[u32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

pub(crate) fn put_u64(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// A header of so many bytes: zeros up to the checksum, and the checksum.
pub(crate) fn finish(mut header: Vec<u8>, bytes: usize) -> Vec<u8> {
    header.resize(bytes - 8, 0);
    let sum = checksum_of(&header);
    put_u64(&mut header, &[sum]);
    header
}

/// Fields in reading order.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut value = [0; N];
        value.copy_from_slice(&self.bytes[self.at..self.at + N]);
        self.at += N;
        value
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    pub(crate) fn expect(
        &mut self,
        name: &'static str,
        wanted: u64,
        read: impl FnOnce(&mut Self) -> u64,
    ) -> Result<(), LoadError> {
        let found = read(self);
        if found == wanted { Ok(()) } else { wrong(name, found) }
    }

    fn hash(&mut self) -> Result<StoredHash, LoadError> {
        let algorithm = self.u32();
        self.expect("reserved", 0, |f| u64::from(f.u32()))?;
        let seed = self.u64();
        self.expect("reserved", 0, Self::u64)?;
        match algorithm {
            1 => Ok(StoredHash::Xxh3 { seed }),
            2 => Ok(StoredHash::SipHash13 { check: seed }),
            found => wrong("hash algorithm", found),
        }
    }

    fn geometry(&mut self) -> Result<Geometry, LoadError> {
        let layout = match self.u32() {
            0 => Layout::Buckets,
            1 => Layout::Overlapping,
            found => return wrong("layout", found),
        };
        let (slots_per_bucket, buckets) = (self.u32(), self.u64());
        let (base_depth, low_bits) = (self.u32(), self.u32());
        let (kind, bits) = (self.u32(), self.u32());
        let resolution = match kind {
            0 => Resolution::Prefix { bits },
            1 => Resolution::Cells { top_bits: bits },
            found => return wrong("resolution", found),
        };
        let geometry =
            Geometry { layout, slots_per_bucket, buckets, base_depth, low_bits, resolution };
        if is_sound(&geometry) { Ok(geometry) } else { wrong("geometry", buckets) }
    }

    fn policy(&mut self) -> Result<Policy, LoadError> {
        let when_full = match self.u32() {
            0 => WhenFull::Grow,
            1 => WhenFull::Refuse,
            2 => WhenFull::ExceedRate,
            found => return wrong("when full", found),
        };
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
    if depth >= MAX_DEPTH {
        return false;
    }
    let within_limits = match geometry.resolution {
        Resolution::Prefix { bits } => {
            geometry.low_bits == LOW_BITS
                && (8..=64).contains(&bits)
                && depth <= bits
                && bits - depth <= 63
        }
        Resolution::Cells { top_bits } => {
            (MIN_FINGERPRINT_BITS..=LOW_BITS).contains(&geometry.low_bits)
                && top_bits < 64
                && geometry.cells() <= 64f64.exp2()
        }
    };
    within_limits
        && check_slots(geometry.layout, geometry.slots_per_bucket).is_ok()
        && (1..MAX_BUCKETS).contains(&geometry.buckets)
        && geometry.level(depth).is_some()
}
