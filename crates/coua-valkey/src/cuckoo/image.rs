//! A cuckoo filter as a stream of bytes: for dump files, append-only files, chunks of dumps, digests.
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
//! Numbers are little endian.

use std::io::{self, Read, Write};

use coua::{CuckooFilter, HashAlgorithm, Load};

use super::own::{Hints, OwnCuckoo};
use crate::refusal::LoadRefusal;
use crate::value::OwnFilter;
use crate::value::image::{MAGIC, SIPHASH_1_3, checksum, u32_at, u64_at};

/// Bytes before the filter.
const HEAD: usize = 64;
/// Where a filter's file says how long it is (docs/format.md, section 1).
const LENGTH_AT: usize = 128;
const CUCKOO: u32 = 1;

impl OwnFilter for OwnCuckoo {
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let head = Head::of(self)?.encode();
        out.write_all(head.get(start as usize..).unwrap_or_default())?;
        self.filter().write_from(start.saturating_sub(HEAD as u64), out)
    }

    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, LoadRefusal> {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&magic);
        input.read_exact(&mut bytes[8..])?;
        let head = Head::decode(&bytes)?;
        let filter = Load::new().key(head.hash_key).reader::<CuckooFilter>(input)?;
        let mut own = Self::new(filter, head.hints);
        own.deleted = head.deleted;
        Ok(own)
    }

    fn image_length(begun: &[u8]) -> Option<u64> {
        let field = begun.get(HEAD + LENGTH_AT..)?.first_chunk()?;
        Some(u64::from_le_bytes(*field).saturating_add(HEAD as u64))
    }

    fn is_begun(bytes: &[u8]) -> bool {
        bytes.first_chunk().is_some_and(|head| Head::decode(head).is_ok())
    }

    fn changes(&self) -> u64 {
        self.changes()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }

    fn pieces(&self) -> usize {
        self.filter().segments()
    }

    fn try_clone(&self) -> Option<Self> {
        self.try_clone().ok()
    }
}

/// The bytes before the filter.
struct Head {
    hash_key: [u8; 16],
    hints: Hints,
    deleted: u64,
}

impl Head {
    fn of(own: &OwnCuckoo) -> io::Result<Self> {
        let HashAlgorithm::SipHash13 { key } = own.filter().hasher().algorithm() else {
            return Err(io::Error::other("filters of this module have a keyed hash"));
        };
        Ok(Self { hash_key: key, hints: own.hints(), deleted: own.deleted() })
    }

    fn encode(&self) -> Vec<u8> {
        let Hints { bucket_size, max_iterations, expansion } = self.hints;
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&MAGIC);
        head.extend([CUCKOO, SIPHASH_1_3].iter().flat_map(|field| field.to_le_bytes()));
        head.extend_from_slice(&self.hash_key);
        let fields = [bucket_size, max_iterations, expansion, 0];
        head.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        head.extend_from_slice(&self.deleted.to_le_bytes());
        head.extend_from_slice(&checksum(&head).to_le_bytes());
        head
    }

    fn decode(bytes: &[u8; HEAD]) -> Result<Self, LoadRefusal> {
        let (fields, sum) = bytes.split_at(HEAD - 8);
        if fields[..8] != MAGIC {
            return Err(LoadRefusal::Field("first bytes"));
        }
        if checksum(fields).to_le_bytes() != *sum {
            return Err(LoadRefusal::Field("checksum"));
        }
        let number = |at| u32_at(fields, at);
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
        let deleted = u64_at(fields, 48);
        Ok(Self { hash_key, hints, deleted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::own::Copies;
    use crate::cuckoo::request::Request;

    fn image() -> Vec<u8> {
        let words: [&[u8]; 3] = [b"16", b"EXPANSION", b"0"];
        let blueprint = Request::of_reserve(&words).unwrap().complete([5; 16]).unwrap();
        let mut own = blueprint.build().unwrap();
        own.insert(&[b"a", b"b", b"b", b"b", b"b", b"b", b"b"], Copies::Add, None);
        own.remove(&[b"a"]);
        let mut bytes = Vec::new();
        own.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<OwnCuckoo, LoadRefusal> {
        let (magic, mut rest) = bytes.split_first_chunk().ok_or(LoadRefusal::Field("length"))?;
        OwnCuckoo::read(*magic, &mut rest)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        let bytes = image();
        let own = read(&bytes).unwrap();
        assert_eq!((own.filter().count("b"), own.deleted()), (6, 1));
        let mut again = Vec::new();
        own.write(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(OwnCuckoo::image_length(&bytes), Some(bytes.len() as u64));
    }

    #[test]
    fn an_image_can_be_written_from_any_byte_on() {
        let bytes = image();
        let own = read(&bytes).unwrap();
        for start in 0..=bytes.len() {
            let mut rest = Vec::new();
            own.write_from(start as u64, &mut rest).unwrap();
            assert!(rest == bytes[start..], "from {start}");
        }
        let beyond = own.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        let bytes = image();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            assert!(read(&damaged).is_err(), "byte {at}");
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_head_may_state_any_number_of_removals() {
        let mut forged = image();
        forged[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
        let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
        forged[HEAD - 8..HEAD].copy_from_slice(&sum);
        let mut own = read(&forged).unwrap();
        assert_eq!((own.remove(&[b"b"]), own.deleted()), (vec![true], u64::MAX));
    }

    #[test]
    fn a_head_with_impossible_options_is_refused_though_its_checksum_fits() {
        for (at, value) in
            [(8, 3u32), (12, 1), (32, 0), (32, 256), (36, 65_536), (40, 32_769), (44, 1)]
        {
            let mut forged = image();
            forged[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let sum = checksum(&forged[..HEAD - 8]).to_le_bytes();
            forged[HEAD - 8..HEAD].copy_from_slice(&sum);
            assert!(read(&forged).is_err(), "{value} at {at}");
        }
    }
}
