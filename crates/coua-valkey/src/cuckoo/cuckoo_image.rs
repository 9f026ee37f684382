//! A cuckoo filter as a stream of bytes, for dump files, append-only files, chunks of dumps, and
//! digests.
//!
//! ```text
//! offset  bytes
//!      0      8  magic `CouaKey1`
//!      8      4  kind: 1 = cuckoo filter, 3 = one with few items, 4 = one with a window
//!     12      4  hash algorithm: 2 = SipHash-1-3; of kinds 1 and 4, which may come from a file, also 1 = XXH3-64
//!     16     16  key of the hash, or its seed in 8 bytes and 8 of zeros
//!     32      4  BUCKETSIZE
//!     36      4  MAXITERATIONS
//!     40      4  EXPANSION
//!     44      4  bytes of notes, n: 0 .. 4096
//!     48      8  items removed
//!     56      8  XXH3-64 of the 56 bytes before
//!     64    n+8  if there are notes: of each, the bytes of its name and of its value (2 bytes each), and these;
//!                then XXH3-64 of them all
//! Behind that, kinds 1 and 4: the filter, as docs/format.md says. Kind 3:
//!      0      8  capacity
//!      8      4  bits of a hash that a table remembers
//!     12      4  items, m: 0 .. 4096
//!     16     8w  their hashes, as `sorted_hashes` has them, in words of eight bytes
//!  16+8w      8  XXH3-64 of all of this before
//! ```
//!
//! Numbers are little endian.

use std::io::{self, Read, Write};

use coua::window::{AgeFrom, Generations};
use coua::{CuckooFilter, HashAlgorithm, KeyHasher, Load};

use super::cuckoo_request::{CuckooSpec, Hints, Precision};
use super::hash_list::{self, HashList};
use super::native_cuckoo::{Form, NativeCuckoo};
use super::notes::{self, Notes};
use super::sorted_hashes::SortedHashes;
use crate::error::RdbError;

/// An upper bound of the bytes by which an image may exceed its filter's memory: in a cuckoo filter
/// the bytes before the first segment (docs/format.md, sections 1 and 2) exceed the segments' own by less than 1 kB.
pub(crate) const FRONT: u64 = 16 << 10;
/// The same for each generation: its row of the part table.
pub(crate) const PART: u64 = 64;
/// Generations of a filter, and its template.
pub(crate) const MOST_PARTS: u64 = 1002;

/// The first bytes of every image.
const MAGIC: [u8; 8] = *b"CouaKey1";

/// The hash of all filters that are created here.
const SIPHASH_1_3: u32 = 2;
/// The hash of filters without a secret, which come from files.
const XXH3: u32 = 1;

/// Bytes before the notes and the filter.
const HEAD: usize = 64;
/// Where a filter's file says how many parts it has, and how long it is (docs/format.md, section
/// 1).
const PARTS_AT: usize = 60;
const LENGTH_AT: usize = 104;
/// Where the head says how many bytes of notes follow.
const NOTES_AT: usize = 44;
const CUCKOO: u32 = 1;
const LIST: u32 = 3;
const WINDOWED: u32 = 4;
/// Bytes between the head and the hashes of few items, and after them.
const LIST_FRONT: usize = 16;
/// A checksum.
const SUM: usize = 8;

impl NativeCuckoo {
    /// Writes the complete image without the first `start` bytes. Returns `InvalidInput` if it is shorter.
    pub(crate) fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut front = Head::of(self)?.encode();
        let notes = self.notes().bytes();
        if !notes.is_empty() {
            front.extend_from_slice(notes);
            front.extend(checksum(notes).to_le_bytes());
        }
        let rest = start.saturating_sub(front.len() as u64);
        match self.form() {
            Form::List(list) => {
                front.extend_from_slice(&list_bytes_of(list));
                let rest = usize::try_from(start).ok().and_then(|start| front.get(start..));
                out.write_all(rest.ok_or(io::ErrorKind::InvalidInput)?)
            }
            Form::Table(table) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                table.filter.write_from(rest, out)
            }
            Form::Windowed(windowed) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                windowed.filter.write_from(rest, out)
            }
        }
    }

    /// Writes the image.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image whose magic was already read. Memory grows with the bytes that arrive.
    pub(crate) fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError> {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&magic);
        input.read_exact(&mut bytes[8..])?;
        let head = Head::decode(&bytes)?;
        let notes = read_notes(head.notes, input)?;
        Ok(read_filter(&head, input)?.with_notes(notes))
    }

    /// The length of the whole image, if enough of its beginning is available.
    pub(crate) fn image_length(begun: &[u8]) -> Option<u64> {
        let behind = begun.get(front_of(begun)..)?;
        let length = if u32_at(begun, 8) == LIST {
            let front = ListFront::decode(behind.get(..LIST_FRONT)?).ok()?;
            (front.end() + SUM) as u64
        } else {
            u64::from_le_bytes(*behind.get(LENGTH_AT..)?.first_chunk()?)
        };
        Some(length.saturating_add(front_of(begun) as u64))
    }

    /// Bytes by which the image that begins with these bytes may exceed its filter's memory.
    pub(crate) fn front(begun: &[u8]) -> u64 {
        let is_windowed = u32_at(begun, 8) == WINDOWED;
        let parts = u64::from(u32_at(begun, front_of(begun) + PARTS_AT));
        FRONT + PART * if is_windowed { parts.min(MOST_PARTS) } else { 0 }
    }

    /// Whether these bytes begin an image.
    pub(crate) fn is_begun(bytes: &[u8]) -> bool {
        bytes.first_chunk().is_some_and(|head| Head::decode(head).is_ok())
    }
}

/// Whether these bytes look like the beginning of an image, even if some are damaged.
pub(crate) fn begins_image(bytes: &[u8]) -> bool {
    let alike = bytes.iter().zip(MAGIC).filter(|&(&found, expected)| found == expected);
    alike.count() * 2 > MAGIC.len()
}

/// Where the filter begins, from the part of the head that has arrived.
fn front_of(begun: &[u8]) -> usize {
    match u32_at(begun, NOTES_AT) as usize {
        0 => HEAD,
        notes => HEAD + notes.min(notes::MOST) + SUM,
    }
}

fn read_notes(length: usize, input: &mut dyn Read) -> Result<Notes, RdbError> {
    if length == 0 {
        return Ok(Notes::default());
    }
    let mut bytes = vec![0; length + SUM];
    input.read_exact(&mut bytes)?;
    let sum = u64_at(&bytes, length);
    bytes.truncate(length);
    bytes.shrink_to_fit();
    if checksum(&bytes) != sum {
        return Err(RdbError::Field("checksum"));
    }
    Notes::decode(bytes).ok_or(RdbError::Field("notes"))
}

fn read_filter(head: &Head, input: &mut dyn Read) -> Result<NativeCuckoo, RdbError> {
    match head.kind {
        LIST => Ok(NativeCuckoo::of_list(read_list(head, input)?, head.deleted)),
        WINDOWED => {
            let filter: Generations = Load::new().key(head.secret()).reader(input)?;
            if filter.window().is_none() || head.hints.expansion == 0 {
                return Err(RdbError::Field("window or expansion"));
            }
            // Repeats are not replicated, so none may change a filter.
            if filter.window().is_some_and(|window| window.age_from() == AgeFrom::LastSeen) {
                return Err(RdbError::LastSeen);
            }
            Ok(NativeCuckoo::of_windowed(filter, head.hints, head.deleted))
        }
        _ => {
            let filter = Load::new().key(head.secret()).reader::<CuckooFilter>(input)?;
            Ok(NativeCuckoo::of_table(filter, head.hints, head.deleted))
        }
    }
}

/// The bytes before the notes and the filter.
struct Head {
    kind: u32,
    algorithm: u32,
    hash_key: [u8; 16],
    hints: Hints,
    /// Bytes of the notes.
    notes: usize,
    deleted: u64,
}

impl Head {
    fn of(native: &NativeCuckoo) -> io::Result<Self> {
        let (kind, hasher) = match native.form() {
            Form::List(list) => (LIST, list.hasher()),
            Form::Table(table) => (CUCKOO, table.filter.hasher()),
            Form::Windowed(windowed) => (WINDOWED, windowed.hasher()),
        };
        let (algorithm, hash_key) = match hasher.algorithm() {
            HashAlgorithm::SipHash13 { key } => (SIPHASH_1_3, key),
            HashAlgorithm::Xxh3 { seed } => (XXH3, u128::from(seed).to_le_bytes()),
            _ => return Err(io::Error::other("the hash has no number in this layout")),
        };
        let (hints, notes) = (native.hints(), native.notes().bytes().len());
        Ok(Self { kind, algorithm, hash_key, hints, notes, deleted: native.deleted() })
    }

    /// The secret key, if there is one; a seed is in the filter itself.
    fn secret(&self) -> Option<[u8; 16]> {
        (self.algorithm == SIPHASH_1_3).then_some(self.hash_key)
    }

    fn encode(&self) -> Vec<u8> {
        let Hints { bucket_size, max_iterations, expansion } = self.hints;
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&MAGIC);
        head.extend([self.kind, self.algorithm].iter().flat_map(|field| field.to_le_bytes()));
        head.extend_from_slice(&self.hash_key);
        let fields =
            [bucket_size.into(), max_iterations.into(), expansion.into(), self.notes as u32];
        head.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        head.extend_from_slice(&self.deleted.to_le_bytes());
        head.extend_from_slice(&checksum(&head).to_le_bytes());
        head
    }

    fn decode(bytes: &[u8; HEAD]) -> Result<Self, RdbError> {
        let (fields, sum) = bytes.split_at(HEAD - 8);
        if fields[..8] != MAGIC {
            return Err(RdbError::Field("first bytes"));
        }
        if checksum(fields).to_le_bytes() != *sum {
            return Err(RdbError::Field("checksum"));
        }
        let number = |at| u32_at(fields, at);
        let (kind, algorithm) = (number(8), number(12));
        let is_known = match kind {
            LIST => algorithm == SIPHASH_1_3,
            CUCKOO | WINDOWED => [SIPHASH_1_3, XXH3].contains(&algorithm),
            _ => false,
        };
        if !is_known {
            return Err(RdbError::Kind(kind));
        }
        let hint = |at| u16::try_from(number(at)).map_err(|_| RdbError::Field("options"));
        let hints =
            Hints { bucket_size: hint(32)?, max_iterations: hint(36)?, expansion: hint(40)? };
        let sound = (1..=255).contains(&hints.bucket_size)
            && hints.max_iterations > 0
            && hints.expansion <= 32_768;
        if !sound {
            return Err(RdbError::Field("options"));
        }
        let notes = number(NOTES_AT) as usize;
        if notes > notes::MOST {
            return Err(RdbError::Field("length of notes"));
        }
        let hash_key = fields[16..32].first_chunk().copied().unwrap_or_default();
        let deleted = u64_at(fields, 48);
        Ok(Self { kind, algorithm, hash_key, hints, notes, deleted })
    }
}

/// The bytes after the head of a filter with few items.
fn list_bytes_of(list: &HashList) -> Vec<u8> {
    let hashes = list.hashes();
    let mut bytes = Vec::with_capacity(LIST_FRONT + hashes.words().len() * 8 + SUM);
    bytes.extend_from_slice(&(list.capacity() as u64).to_le_bytes());
    let counts = [u32::from(hashes.bits()), list.len() as u32];
    bytes.extend(counts.iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(hashes.words().iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// The hash bits and the number of hashes, from which the lengths follow.
struct ListFront {
    bits: u8,
    len: usize,
}

impl ListFront {
    fn decode(front: &[u8]) -> Result<Self, RdbError> {
        let (bits, len) = (u32_at(front, 8), u32_at(front, 12) as usize);
        match u8::try_from(bits) {
            Ok(bits @ 8..=64) if len <= hash_list::MOST => Ok(Self { bits, len }),
            _ => Err(RdbError::Field("number of hash bits or items")),
        }
    }

    /// The length of the front and the hashes.
    fn end(&self) -> usize {
        LIST_FRONT + SortedHashes::words_for(self.bits, self.len) * size_of::<u64>()
    }
}

fn read_list(head: &Head, input: &mut dyn Read) -> Result<HashList, RdbError> {
    /// Most lists have fewer bytes.
    const ROOM: usize = 512;
    let mut bytes = Vec::with_capacity(ROOM);
    bytes.resize(LIST_FRONT, 0);
    input.read_exact(&mut bytes)?;
    let front = ListFront::decode(&bytes)?;
    let end = front.end();
    bytes.resize(end + SUM, 0);
    input.read_exact(&mut bytes[LIST_FRONT..])?;
    if checksum(&bytes[..end]) != u64_at(&bytes, end) {
        return Err(RdbError::Field("checksum"));
    }
    let spec = CuckooSpec {
        capacity: u64_at(&bytes, 0),
        hints: head.hints,
        precision: Precision::HashBits(front.bits.into()),
        hash_key: head.hash_key,
        window: None,
    };
    let is_too_small = spec.capacity < 2 * u64::from(head.hints.bucket_size);
    if is_too_small || !HashList::suits(&spec) {
        return Err(RdbError::Field("capacity or number of hash bits"));
    }
    let words = (LIST_FRONT..end).step_by(size_of::<u64>()).map(|at| u64_at(&bytes, at)).collect();
    let hashes = SortedHashes::from_words(front.bits, front.len, words);
    HashList::new(&spec, hashes.ok_or(RdbError::Field("list of hashes"))?)
        .map_err(|_| RdbError::Io(io::ErrorKind::OutOfMemory.into()))
}

/// XXH3-64 with seed 0.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}

/// The number at an offset, little endian; 0 if the bytes are too short.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

/// The number at an offset, little endian.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::cuckoo_request::CuckooRequest;
    use crate::cuckoo::table::Copies;

    /// Images of all kinds, with the same items, without notes and with some.
    fn images() -> Vec<Vec<u8>> {
        let windowed = image_of_words(&[b"16", b"WINDOWITEMS", b"100", b"GENERATIONS", b"2"]);
        let images = [image_of("0"), image_of("1"), windowed];
        let noted = images.iter().map(|image| {
            let mut native = read(image).unwrap();
            assert_eq!(native.set_note(b"coua/keys", b"{}", None), Ok(true));
            written(&native)
        });
        noted.collect::<Vec<_>>().into_iter().chain(images).collect()
    }

    fn image() -> Vec<u8> {
        image_of("0")
    }

    fn image_of(expansion: &str) -> Vec<u8> {
        image_of_words(&[b"16", b"EXPANSION", expansion.as_bytes()])
    }

    fn image_of_words(words: &[&[u8]]) -> Vec<u8> {
        let spec = CuckooRequest::of_reserve(words).unwrap().complete([5; 16]).unwrap();
        let mut native = NativeCuckoo::of(spec).unwrap();
        native.insert(&[b"a", b"b", b"b", b"b", b"b", b"b", b"b"], Copies::Add, None);
        native.remove(&[b"a"]);
        written(&native)
    }

    fn written(native: &NativeCuckoo) -> Vec<u8> {
        let mut bytes = Vec::new();
        native.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<NativeCuckoo, RdbError> {
        let (magic, mut rest) = bytes.split_first_chunk().ok_or(RdbError::Field("length"))?;
        NativeCuckoo::read(*magic, &mut rest)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        for bytes in images() {
            let native = read(&bytes).unwrap();
            assert_eq!((native.count_all(&[b"b"]), native.deleted()), (vec![6], 1));
            assert!(written(&native) == bytes);
            assert_eq!(NativeCuckoo::image_length(&bytes), Some(bytes.len() as u64));
        }
    }

    #[test]
    fn an_image_can_be_written_from_any_byte_on() {
        for bytes in images() {
            let native = read(&bytes).unwrap();
            for start in 0..=bytes.len() {
                let mut rest = Vec::new();
                native.write_from(start as u64, &mut rest).unwrap();
                assert!(rest == bytes[start..], "from {start}");
            }
            let beyond = native.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
            assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        for bytes in images() {
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x55;
                assert!(read(&damaged).is_err(), "byte {at}");
                assert!(read(&bytes[..at]).is_err(), "cut at {at}");
            }
        }
    }

    #[test]
    fn a_head_may_state_any_number_of_removals() {
        let mut forged = image();
        forged[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
        let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
        forged[HEAD - 8..HEAD].copy_from_slice(&sum);
        let mut native = read(&forged).unwrap();
        assert_eq!((native.remove(&[b"b"]), native.deleted()), (vec![true], u64::MAX));
    }

    #[test]
    fn notes_that_are_none_are_refused_though_their_checksum_fits() {
        for image in images().into_iter().take(3) {
            let length = u32_at(&image, NOTES_AT) as usize;
            for at in HEAD..HEAD + 4 {
                let mut forged = image.clone();
                forged[at] ^= 0x41;
                let sum = checksum(&forged[HEAD..HEAD + length]);
                forged[HEAD + length..][..SUM].copy_from_slice(&sum.to_le_bytes());
                assert!(matches!(read(&forged), Err(RdbError::Field("notes"))), "byte {at}");
            }
        }
    }

    #[test]
    fn few_items_with_impossible_numbers_are_refused_though_their_checksum_fits() {
        for (at, value) in [(64, 1u32), (64, 5_000), (72, 7), (72, 65), (76, 5), (76, 65)] {
            let mut forged = image_of("1");
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let end = forged.len() - SUM;
            let sum = checksum(&forged[HEAD..end]).to_le_bytes();
            forged[end..].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }

    #[test]
    fn a_head_with_impossible_options_is_refused_though_its_checksum_fits() {
        for (at, value) in
            [(8, 2u32), (12, 1), (32, 0), (32, 256), (36, 65_536), (40, 32_769), (44, 4097)]
        {
            let mut forged = image();
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
            forged[HEAD - 8..HEAD].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }
}
