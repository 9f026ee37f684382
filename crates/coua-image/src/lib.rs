//! An image: a filter as one stream of bytes, with its secret key, notes, and numbers that its holder keeps beside it.
//!
//! ```text
//! offset  bytes
//!      0      8  magic `CouaKey1`
//!      8      4  body: 1 = filter, 3 = list of hashes, 4 = filter with a window
//!     12      4  hash algorithm: 2 = SipHash-1-3; of bodies 1 and 4 also 1 = XXH3-64
//!     16     16  key of the hash, or its seed in 8 bytes and 8 of zeros
//!     32      4  hints: bucket size, 1 .. 255
//!     36      4  most iterations, 1 .. 65535
//!     40      4  expansion, 0 .. 32768; 0 = the filter does not grow
//!     44      4  bytes of notes, n: 0 .. 4096
//!     48      8  items removed
//!     56      8  XXH3-64 of the 56 bytes before
//!     64    n+8  if there are notes: of each, the bytes of its name and of its value (2 bytes each), and these;
//!                then XXH3-64 of them all
//! Behind that, bodies 1 and 4: the snapshot, as docs/format.md says. Body 3:
//!      0      8  capacity
//!      8      4  bits of a hash that are kept, h: 8 .. 64
//!     12      4  hashes, m: 0 .. 4096
//!     16     8w  the highest h bits of each, sorted, as `HashLayout` has them, in words of 8 bytes
//!  16+8w      8  XXH3-64 of all of this before
//! ```
//!
//! Numbers are little endian.

#![forbid(unsafe_code)]

mod hashes;
mod whole;

use std::array;
use std::io::Read;
use std::ops::RangeInclusive;

use coua::{KeyHasher, LoadError};

pub use hashes::{HashLayout, ListedHashes, MOST_LISTED, bits_at};
pub use whole::{decode, encode};

/// The first bytes.
pub const MAGIC: [u8; 8] = *b"CouaKey1";
/// Bytes before the notes and the body.
pub const HEAD_BYTES: usize = 64;
/// The most bytes of all notes, including their lengths.
pub const MOST_NOTES: usize = 4096;
/// Bytes of the lengths before a note's name and value.
pub const NOTE_LENGTHS: usize = 4;
const SUM_BYTES: usize = 8;
/// Offsets in the head.
const BODY_AT: usize = 8;
const ALGORITHM_AT: usize = 12;
const KEY_AT: usize = 16;
const HINTS_AT: usize = 32;
const NOTES_AT: usize = 44;
const REMOVED_AT: usize = 48;
/// Offsets in the header of a snapshot (docs/format.md, section 1).
const PARTS_AT: usize = 60;
const LENGTH_AT: usize = 104;
const XXH3: u32 = 1;
const SIPHASH13: u32 = 2;

/// The content after the head and the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The snapshot of a filter without a window.
    Filter = 1,
    /// A list of hashes.
    Hashes = 3,
    /// The snapshot of a filter with a window.
    Windowed = 4,
}

/// Options with which the filter was created. Its geometry does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// Slots of a bucket.
    pub bucket_size: u16,
    /// The most relocations of an insert.
    pub max_iterations: u16,
    /// The ratio of growth. Only 0 has a meaning: the filter does not grow.
    pub expansion: u16,
}

/// The fixed fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// The content after the head.
    pub body: Body,
    /// The hash function, with its key.
    pub hasher: KeyHasher,
    /// Options.
    pub hints: Hints,
    /// Items removed since the filter was created or compacted.
    pub removed: u64,
    /// Bytes of the notes.
    pub note_bytes: usize,
}

impl Head {
    /// Writes the fixed fields.
    pub fn encode(&self) -> Vec<u8> {
        let (mut algorithm, mut key) = (SIPHASH13, self.secret().unwrap_or_default());
        if let KeyHasher::Xxh3 { seed } = self.hasher {
            (algorithm, key) = (XXH3, u128::from(seed).to_le_bytes());
        }
        let Hints { bucket_size, max_iterations, expansion } = self.hints;
        let hints = [bucket_size, max_iterations, expansion].map(u32::from);
        let mut head = MAGIC.to_vec();
        put_u32(&mut head, &[self.body as u32, algorithm]);
        head.extend_from_slice(&key);
        put_u32(&mut head, &hints);
        put_u32(&mut head, &[self.note_bytes as u32]);
        put_u64(&mut head, &[self.removed]);
        sealed(head)
    }

    /// Reads the fixed fields.
    ///
    /// # Errors
    ///
    /// The bytes are of no image, or of an image that a later version wrote.
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<Self, LoadError> {
        if bytes[..BODY_AT] != MAGIC {
            return Err(LoadError::NotAFilter);
        }
        let fields = unsealed(bytes)?;
        // All fields lie within the head.
        let field = |at| u32_at(fields, at).unwrap_or_default();
        let body = match field(BODY_AT) {
            1 => Body::Filter,
            3 => Body::Hashes,
            4 => Body::Windowed,
            found => return Err(LoadError::Features { found }),
        };
        let key: [u8; 16] = array::from_fn(|at| fields[KEY_AT + at]);
        let seed = u128::from_le_bytes(key) as u64;
        let hasher = match field(ALGORITHM_AT) {
            SIPHASH13 => KeyHasher::SipHash13 { key },
            XXH3 if body != Body::Hashes => KeyHasher::Xxh3 { seed },
            found => return bad_field("hash algorithm", found),
        };
        let hints = Hints {
            bucket_size: within("bucket size", field(HINTS_AT), 1..=255)?,
            max_iterations: within("most iterations", field(HINTS_AT + 4), 1..=65_535)?,
            expansion: within("expansion", field(HINTS_AT + 8), 0..=32_768)?,
        };
        let note_bytes = within("bytes of notes", field(NOTES_AT), 0..=MOST_NOTES as u32)?.into();
        let removed = u64_at(fields, REMOVED_AT).unwrap_or_default();
        Ok(Self { body, hasher, hints, removed, note_bytes })
    }

    /// The secret key of the hash, if it has one.
    pub fn secret(&self) -> Option<[u8; 16]> {
        let KeyHasher::SipHash13 { key } = self.hasher else { return None };
        Some(key)
    }

    /// Reads the notes that follow the head, as in the image.
    ///
    /// # Errors
    ///
    /// The bytes are damaged, or reading fails.
    pub fn read_notes(&self, mut input: impl Read) -> Result<Vec<u8>, LoadError> {
        if self.note_bytes == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; self.note_bytes + SUM_BYTES];
        input.read_exact(&mut bytes)?;
        unsealed(&bytes).map(<[u8]>::to_vec)
    }
}

fn within(name: &'static str, found: u32, allowed: RangeInclusive<u32>) -> Result<u16, LoadError> {
    if allowed.contains(&found) { Ok(found as u16) } else { bad_field(name, found) }
}

/// Encodes notes for an image: those bytes, and their checksum.
pub fn encode_notes(notes: &[u8]) -> Vec<u8> {
    if notes.is_empty() { Vec::new() } else { sealed(notes.to_vec()) }
}

/// Encodes a note, whose name and value have at most [`MOST_NOTES`] bytes together.
pub fn encode_note(name: &[u8], value: &[u8]) -> Vec<u8> {
    let lengths = [name, value].map(|part| (part.len() as u16).to_le_bytes());
    [lengths.as_flattened(), name, value].concat()
}

/// The first note's name and value, and the rest; `None` if the bytes do not begin with a note.
pub fn split_note(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (lengths, rest) = bytes.split_first_chunk::<NOTE_LENGTHS>()?;
    let [name, value] = [0, 2].map(|at| u16::from_le_bytes([lengths[at], lengths[at + 1]]));
    let (name, rest) = rest.split_at_checked(name.into())?;
    let (value, rest) = rest.split_at_checked(value.into())?;
    Some((name, value, rest))
}

/// The length of the image that begins with these bytes, if enough of them are there.
pub fn length(begun: &[u8]) -> Option<u64> {
    let body_at = body_at(begun)?;
    let body = begun.get(body_at..)?;
    let length = if u32_at(begun, BODY_AT)? == Body::Hashes as u32 {
        ListedHashes::length(body)?
    } else {
        u64_at(body, LENGTH_AT)?
    };
    Some(length.saturating_add(body_at as u64))
}

/// The least bytes of memory of a filter of whose image `len` bytes have arrived, which begin with these.
pub fn least_memory(begun: &[u8], len: u64) -> u64 {
    let parts = || u32_at(begun, body_at(begun)? + PARTS_AT);
    let is_windowed = u32_at(begun, BODY_AT) == Some(Body::Windowed as u32);
    let overhead = overhead_of(if is_windowed { parts().unwrap_or(0) } else { 0 });
    // An entry of the overflow table has 24 bytes in an image, and at least 16 in memory.
    len.saturating_sub(overhead) / 3 * 2
}

/// The most bytes of an image of a filter that takes so many bytes of memory.
pub fn most_bytes(memory: u64) -> u64 {
    memory.saturating_add(memory / 2).saturating_add(overhead_of(MOST_GENERATIONS))
}

/// An upper bound of the bytes of an image that are not of slots, nor of the overflow table.
pub fn overhead_of(generations: u32) -> u64 {
    /// The bytes before the first segment (docs/format.md, sections 1 and 2) exceed the segments' own by less than 1 kB.
    const FRONT: u64 = 16 << 10;
    /// A row of the part table.
    const ROW: u64 = 64;
    FRONT + ROW * u64::from(generations.min(MOST_GENERATIONS))
}

/// Generations of a filter, and its template.
const MOST_GENERATIONS: u32 = 1002;

/// The offset of the body.
fn body_at(begun: &[u8]) -> Option<usize> {
    Some(match u32_at(begun, NOTES_AT)? as usize {
        0 => HEAD_BYTES,
        notes => HEAD_BYTES + notes.min(MOST_NOTES) + SUM_BYTES,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn put_u32(out: &mut Vec<u8>, numbers: &[u32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put_u64(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn checksum_of(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

/// The bytes, and their checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum_of(&bytes);
    put_u64(&mut bytes, &[sum]);
    bytes
}

/// The bytes before a checksum that is theirs.
fn unsealed(bytes: &[u8]) -> Result<&[u8], LoadError> {
    let (covered, sum) = bytes.split_at(bytes.len() - SUM_BYTES);
    let is_right = u64_at(sum, 0) == Some(checksum_of(covered));
    if is_right { Ok(covered) } else { Err(LoadError::Checksum { part: "header".to_owned() }) }
}

fn bad_field<T>(name: &'static str, found: u32) -> Result<T, LoadError> {
    Err(LoadError::Field { name, found: found.into() })
}
