//! A value as a stream of bytes: for dump files, append-only files, chunks of dumps, and digests.
//!
//! ```text
//! offset  bytes
//!      0      8  magic `CouaKey1`
//!      8      4  kind: 1 = cuckoo filter
//!     12      4  hash algorithm: 2 = SipHash-1-3
//!     16     16  key of the hash
//!     32      4  BUCKETSIZE
//!     36      4  MAXITERATIONS
//!     40      4  EXPANSION
//!     44      4  0
//!     48      8  items removed
//!     56      8  XXH3-64 of the 56 bytes before
//!     64         the filter, as docs/format.md says
//! ```
//!
//! Numbers are little endian. Of a filter of which not all chunks have arrived, what has arrived is
//! kept behind the eight bytes `CouaPart`.

use std::io::{self, Read, Write};

use coua::{CuckooFilter, HashAlgorithm, KeyHasher};

use super::own::{Hints, OwnFilter};
use crate::refusal::LoadRefusal;

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"CouaKey1";
/// The first bytes of what is kept of an image that has not arrived as a whole.
pub(crate) const PART_MAGIC: [u8; 8] = *b"CouaPart";
/// Bytes before the filter.
pub(crate) const HEAD: usize = 64;
/// Where a filter's file says how long it is (docs/format.md, section 1).
const LENGTH_AT: usize = 128;
const CUCKOO: u32 = 1;
const SIPHASH_1_3: u32 = 2;

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}

/// Writes the image of a filter.
pub(crate) fn write(own: &OwnFilter, mut out: impl Write) -> io::Result<()> {
    let HashAlgorithm::SipHash13 { key } = own.filter().hasher().algorithm() else {
        return Err(io::Error::other("filters of this module have a keyed hash"));
    };
    let Hints { bucket_size, max_iterations, expansion } = own.hints();
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(&MAGIC);
    head.extend([CUCKOO, SIPHASH_1_3].iter().flat_map(|field| field.to_le_bytes()));
    head.extend_from_slice(&key);
    let fields = [bucket_size, max_iterations, expansion, 0];
    head.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
    head.extend_from_slice(&own.deleted().to_le_bytes());
    head.extend_from_slice(&checksum(&head).to_le_bytes());
    out.write_all(&head)?;
    own.filter().write_to(out)
}

/// What an image holds.
#[expect(clippy::large_enum_variant, reason = "moved once, into the value of a key")]
pub(crate) enum Image {
    /// A filter.
    Filter(OwnFilter),
    /// The beginning of a filter's image.
    Incomplete(Vec<u8>),
}

/// The bytes before the filter, checked.
struct Head {
    hash_key: [u8; 16],
    hints: Hints,
    deleted: u64,
}

impl Head {
    fn decode(bytes: &[u8; HEAD]) -> Result<Self, LoadRefusal> {
        let (fields, sum) = bytes.split_at(HEAD - 8);
        if fields[..8] != MAGIC {
            return Err(LoadRefusal::Field("first bytes"));
        }
        if checksum(fields).to_le_bytes() != *sum {
            return Err(LoadRefusal::Field("checksum"));
        }
        let number = |at: usize| {
            let field = fields[at..at + 4].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(field)
        };
        if number(8) != CUCKOO || number(12) != SIPHASH_1_3 {
            return Err(LoadRefusal::Kind(number(8)));
        }
        let hints =
            Hints { bucket_size: number(32), max_iterations: number(36), expansion: number(40) };
        let sound = (1..=255).contains(&hints.bucket_size)
            && (1..=65_535).contains(&hints.max_iterations)
            && hints.expansion <= 32_768
            && number(44) == 0;
        if !sound {
            return Err(LoadRefusal::Field("options"));
        }
        let hash_key = fields[16..32].first_chunk().copied().unwrap_or_default();
        let deleted = u64::from(number(48)) | u64::from(number(52)) << 32;
        Ok(Self { hash_key, hints, deleted })
    }

    fn value(self, filter: CuckooFilter) -> OwnFilter {
        let mut own = OwnFilter::new(filter, self.hints);
        own.deleted = self.deleted;
        own
    }
}

/// Reads an image. Memory grows with what arrives, and never beyond `limit`.
pub(crate) fn read(mut input: impl Read, limit: Option<u64>) -> Result<Image, LoadRefusal> {
    let mut magic = [0; 8];
    input.read_exact(&mut magic)?;
    let mut limited = Limited { input, left: limit.unwrap_or(u64::MAX), exceeded: false };
    let value = if magic == PART_MAGIC {
        let mut begun = Vec::new();
        limited.read_to_end(&mut begun).map(|_| Image::Incomplete(begun)).map_err(LoadRefusal::Io)
    } else {
        read_filter(magic, &mut limited).map(Image::Filter)
    };
    match limit.filter(|_| limited.exceeded) {
        Some(limit) => Err(LoadRefusal::KeyMemory { limit }),
        None => value,
    }
}

fn read_filter(magic: [u8; 8], input: &mut impl Read) -> Result<OwnFilter, LoadRefusal> {
    let mut bytes = [0; HEAD];
    bytes[..8].copy_from_slice(&magic);
    input.read_exact(&mut bytes[8..])?;
    let head = Head::decode(&bytes)?;
    let filter = CuckooFilter::read_from_with_key(input, head.hash_key)?;
    Ok(head.value(filter))
}

/// Reads an image that is in memory as a whole.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<OwnFilter, LoadRefusal> {
    let (head, filter) = bytes.split_first_chunk().ok_or(LoadRefusal::Field("length"))?;
    let head = Head::decode(head)?;
    let filter = CuckooFilter::from_bytes_with_key(filter, head.hash_key)?;
    Ok(head.value(filter))
}

/// The length of the whole image, once enough of its beginning is there to tell.
pub(crate) fn length(begun: &[u8]) -> Option<u64> {
    let field = begun.get(HEAD + LENGTH_AT..)?.first_chunk()?;
    Some(u64::from_le_bytes(*field).saturating_add(HEAD as u64))
}

/// Whether these bytes begin an image.
pub(crate) fn is_begun(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|head| Head::decode(head).is_ok())
}

/// Ends with an error after a number of bytes.
struct Limited<R> {
    input: R,
    left: u64,
    exceeded: bool,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.exceeded = read as u64 > self.left;
        self.left = self.left.saturating_sub(read as u64);
        if self.exceeded { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(read) }
    }
}
