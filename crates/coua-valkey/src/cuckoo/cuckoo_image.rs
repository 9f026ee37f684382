//! A cuckoo filter as a stream of bytes: for dump files, append-only files, chunks of dumps,
//! digests.
//!
//! ```text
//! offset  bytes
//!      0      8  magic `CouaKey1`
//!      8      4  kind: 1 = cuckoo filter, 3 = one with few items, 4 = one that forgets
//!     12      4  hash algorithm: 2 = SipHash-1-3; of kinds 1 and 4, which may come from a file, also 1 = XXH3-64
//!     16     16  key of the hash, or its seed in 8 bytes and 8 of zeros
//!     32      4  BUCKETSIZE
//!     36      4  MAXITERATIONS
//!     40      4  EXPANSION
//!     44      4  0
//!     48      8  items removed
//!     56      8  XXH3-64 of the 56 bytes before
//!     64         kinds 1 and 4: the filter, as docs/format.md says
//!     64      8  kind 3: capacity
//!     72      4          bits of a hash that a table remembers
//!     76      4          items, n: 0 .. 4096
//!     80     8w          their hashes, as `sorted_hashes` has them, in words of eight bytes
//!  80+8w      8          XXH3-64 of all after byte 64
//! ```
//!
//! Numbers are little endian.

use std::io::{self, Read, Write};

use coua::window::{AgeFrom, Generations};
use coua::{CuckooFilter, HashAlgorithm, Load};

use super::cuckoo_request::{CuckooSpec, Hints, Precision};
use super::hash_list::{self, HashList};
use super::native_cuckoo::{Form, NativeCuckoo};
use super::sorted_hashes::SortedHashes;
use crate::error::RdbError;
use crate::value::{
    FRONT, FilterImage, MAGIC, MOST_PARTS, PART, SIPHASH_1_3, XXH3, checksum, u32_at, u64_at,
};

/// Bytes before the filter.
const HEAD: usize = 64;
/// Where a filter's file says how many parts it has, and how long it is (docs/format.md, section
/// 1).
const PARTS_AT: usize = 60;
const LENGTH_AT: usize = 104;
const CUCKOO: u32 = 1;
const LIST: u32 = 3;
const WINDOWED: u32 = 4;
/// Bytes between the head and the hashes of few items, and after them.
const LIST_FRONT: usize = 16;
const LIST_SUM: usize = 8;

impl FilterImage for NativeCuckoo {
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut front = Head::of(self)?.encode();
        match self.form() {
            Form::List(list) => {
                front.extend_from_slice(&list_bytes_of(list));
                let rest = usize::try_from(start).ok().and_then(|start| front.get(start..));
                out.write_all(rest.ok_or(io::ErrorKind::InvalidInput)?)
            }
            Form::Table(table) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                table.filter.write_from(start.saturating_sub(HEAD as u64), out)
            }
            Form::Windowed(windowed) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                windowed.filter.write_from(start.saturating_sub(HEAD as u64), out)
            }
        }
    }

    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError> {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&magic);
        input.read_exact(&mut bytes[8..])?;
        let head = Head::decode(&bytes)?;
        if head.kind == LIST {
            return Ok(Self::of_list(read_list(&head, input)?, head.deleted));
        }
        if head.kind == WINDOWED {
            let filter: Generations = Load::new().key(head.secret()).reader(input)?;
            if filter.window().is_none() || head.hints.expansion == 0 {
                return Err(RdbError::Field("window or expansion"));
            }
            // Repeats are not replicated, so none may change a filter.
            if filter.window().is_some_and(|window| window.age_from() == AgeFrom::LastSeen) {
                return Err(RdbError::LastSeen);
            }
            return Ok(Self::of_windowed(filter, head.hints, head.deleted));
        }
        let filter = Load::new().key(head.secret()).reader::<CuckooFilter>(input)?;
        Ok(Self::of_table(filter, head.hints, head.deleted))
    }

    fn image_length(begun: &[u8]) -> Option<u64> {
        if u32_at(begun, 8) == LIST {
            let front = ListFront::decode(begun.get(HEAD..HEAD + LIST_FRONT)?).ok()?;
            return Some((HEAD + front.end() + LIST_SUM) as u64);
        }
        let field = begun.get(HEAD + LENGTH_AT..)?.first_chunk()?;
        Some(u64::from_le_bytes(*field).saturating_add(HEAD as u64))
    }

    fn front(begun: &[u8]) -> u64 {
        let is_windowed = u32_at(begun, 8) == WINDOWED;
        let parts = if is_windowed { u64::from(u32_at(begun, HEAD + PARTS_AT)) } else { 0 };
        FRONT + PART * parts.min(MOST_PARTS)
    }

    fn is_begun(bytes: &[u8]) -> bool {
        bytes.first_chunk().is_some_and(|head| Head::decode(head).is_ok())
    }
}

/// The bytes before the filter.
struct Head {
    kind: u32,
    algorithm: u32,
    hash_key: [u8; 16],
    hints: Hints,
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
        Ok(Self { kind, algorithm, hash_key, hints: native.hints(), deleted: native.deleted() })
    }

    /// The secret key, if there is one: a seed stands in the filter itself.
    fn secret(&self) -> Option<[u8; 16]> {
        (self.algorithm == SIPHASH_1_3).then_some(self.hash_key)
    }

    fn encode(&self) -> Vec<u8> {
        let Hints { bucket_size, max_iterations, expansion } = self.hints;
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&MAGIC);
        head.extend([self.kind, self.algorithm].iter().flat_map(|field| field.to_le_bytes()));
        head.extend_from_slice(&self.hash_key);
        let fields = [bucket_size.into(), max_iterations.into(), expansion.into(), 0_u32];
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
            && hints.expansion <= 32_768
            && number(44) == 0;
        if !sound {
            return Err(RdbError::Field("options"));
        }
        let hash_key = fields[16..32].first_chunk().copied().unwrap_or_default();
        let deleted = u64_at(fields, 48);
        Ok(Self { kind, algorithm, hash_key, hints, deleted })
    }
}

/// What stands after the head of a filter with few items.
fn list_bytes_of(list: &HashList) -> Vec<u8> {
    let hashes = list.hashes();
    let mut bytes = Vec::with_capacity(LIST_FRONT + hashes.words().len() * 8 + LIST_SUM);
    bytes.extend_from_slice(&(list.capacity() as u64).to_le_bytes());
    let counts = [u32::from(hashes.bits()), list.len() as u32];
    bytes.extend(counts.iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(hashes.words().iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// Bits of each hash, and their number, which the rest depends on.
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

    /// Bytes of the front and the hashes.
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
    bytes.resize(end + LIST_SUM, 0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::cuckoo_request::CuckooRequest;
    use crate::cuckoo::table::Copies;

    /// Images of all kinds, with the same items.
    fn images() -> [Vec<u8>; 3] {
        let windowed = image_of_words(&[b"16", b"WINDOWITEMS", b"100", b"GENERATIONS", b"2"]);
        [image_of("0"), image_of("1"), windowed]
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
            let mut again = Vec::new();
            native.write(&mut again).unwrap();
            assert!(again == bytes);
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
    fn few_items_with_impossible_numbers_are_refused_though_their_checksum_fits() {
        for (at, value) in [(64, 1u32), (64, 5_000), (72, 7), (72, 65), (76, 5), (76, 65)] {
            let mut forged = image_of("1");
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let end = forged.len() - LIST_SUM;
            let sum = checksum(&forged[HEAD..end]).to_le_bytes();
            forged[end..].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }

    #[test]
    fn a_head_with_impossible_options_is_refused_though_its_checksum_fits() {
        for (at, value) in
            [(8, 2u32), (12, 1), (32, 0), (32, 256), (36, 65_536), (40, 32_769), (44, 1)]
        {
            let mut forged = image();
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
            forged[HEAD - 8..HEAD].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }
}
