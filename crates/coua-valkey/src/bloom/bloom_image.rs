//! A chain of Bloom filters as a stream of bytes, for dump files, append-only files, chunks of dumps, and
//! digests.
//!
//! ```text
//! offset  bytes
//!      0      8  magic `CouaKey1`
//!      8      4  kind: 2 = chain of Bloom filters
//!     12      4  hash algorithm: 2 = SipHash-1-3
//!     16     16  key of the hash
//!     32      8  false-positive rate, as a binary64
//!     40      8  items that the first filter holds: 1 .. 2^30
//!     48      4  EXPANSION: 1 .. 32768; 0 = does not grow
//!     52      4  filters, n: 1 .. 1024
//!     56   32 n  of each filter: items it was given (8), bits (8), probes (4), 0 (4),
//!                XXH3-64 of its bits (8)
//!  56+32n     8  XXH3-64 of all before
//!  64+32n        the bits of each filter, in words of eight bytes
//! ```
//!
//! Numbers are little endian.

use std::io::{self, Read, Write};

use coua::KeyHasher;
use coua::bloom::BloomFilter;
use coua::sizing::bloom::BloomPlan;
use xxhash_rust::xxh3::Xxh3;

use super::bloom_request::{BloomSpec, MOST_EXPANSION};
use super::native_bloom::{ChainLink, MOST_LINKS, NativeBloom, plan_of};
use crate::error::RdbError;
use crate::settings;
use crate::value::{FilterImage, MAGIC, SIPHASH_1_3, checksum, first_change, u32_at, u64_at};

const BLOOM: u32 = 2;
const HEAD: usize = 56;
const ROW: usize = 32;
const SUM: usize = 8;

impl FilterImage for NativeBloom {
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let begins = front_bytes(self.links.len()) as u64;
        if start < begins {
            out.write_all(&front_of(self)[start as usize..])?;
        }
        let mut skip = start.saturating_sub(begins);
        for ChainLink { filter, .. } in &self.links {
            let skipped = skip.min(filter.memory_bytes() as u64);
            skip -= skipped;
            filter.write_bytes_from(skipped, &mut *out)?;
        }
        if skip > 0 { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
    }

    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError> {
        let mut front = magic.to_vec();
        read_on(input, &mut front, HEAD - magic.len())?;
        let rows = check_head(&front)?;
        read_on(input, &mut front, rows * ROW + SUM)?;
        let front = Front::decode(&front)?;
        let hasher = KeyHasher::siphash13(front.spec.hash_key);
        let mut links = Vec::new();
        for row in &front.rows {
            let (capacity, _) = plan_of(&front.spec, links.len())
                .map_err(|_| RdbError::Field("number of filters"))?;
            if row.len > capacity {
                return Err(RdbError::Field("number of items"));
            }
            let filter = row.read(hasher, input)?;
            links.reserve_exact(1);
            links.push(ChainLink { filter, capacity, len: row.len });
        }
        Ok(Self { spec: front.spec, links, changes: first_change().into() })
    }

    fn image_length(begun: &[u8]) -> Option<u64> {
        let front = Front::decode(begun).ok()?;
        let begins = front_bytes(front.rows.len()) as u64;
        Some(front.rows.iter().fold(begins, |sum, row| sum.saturating_add(row.plan.bytes())))
    }

    fn is_begun(bytes: &[u8]) -> bool {
        Front::decode(bytes).is_ok()
    }
}

/// The length of the front for this many filters.
fn front_bytes(links: usize) -> usize {
    HEAD + links * ROW + SUM
}

/// The front: all before the bits, with their checksums.
fn front_of(chain: &NativeBloom) -> Vec<u8> {
    let BloomSpec { capacity, rate, expansion, hash_key } = &chain.spec;
    let mut front = Vec::with_capacity(front_bytes(chain.links.len()));
    front.extend_from_slice(&MAGIC);
    front.extend([BLOOM, SIPHASH_1_3].iter().flat_map(|field| field.to_le_bytes()));
    front.extend_from_slice(hash_key);
    front.extend([rate.to_bits(), *capacity].iter().flat_map(|field| field.to_le_bytes()));
    let counts = [expansion.unwrap_or(0), chain.links.len() as u32];
    front.extend(counts.iter().flat_map(|field| field.to_le_bytes()));
    for ChainLink { filter, len, .. } in &chain.links {
        front.extend([*len, filter.bits()].iter().flat_map(|field| field.to_le_bytes()));
        front.extend([filter.probes(), 0].iter().flat_map(|field| field.to_le_bytes()));
        front.extend_from_slice(&checksum_of_bits(filter).to_le_bytes());
    }
    front.extend_from_slice(&checksum(&front).to_le_bytes());
    front
}

/// The checksum of a filter's bits, without copying them: they may be half of the server's memory.
fn checksum_of_bits(filter: &BloomFilter) -> u64 {
    let mut sum = Xxh3::new();
    // Writing to the sum cannot fail.
    filter.write_bytes_from(0, &mut sum).ok();
    sum.digest()
}

/// Reads `more` bytes. Memory grows with the bytes that arrive.
fn read_on(input: &mut dyn Read, bytes: &mut Vec<u8>, more: usize) -> Result<(), RdbError> {
    let read = input.take(more as u64).read_to_end(bytes)?;
    if read == more { Ok(()) } else { Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()) }
}

/// Checks the head, and returns the number of filters.
fn check_head(bytes: &[u8]) -> Result<usize, RdbError> {
    if bytes.len() < HEAD || bytes[..8] != MAGIC {
        return Err(RdbError::Field("first bytes"));
    }
    if u32_at(bytes, 8) != BLOOM || u32_at(bytes, 12) != SIPHASH_1_3 {
        return Err(RdbError::Kind(u32_at(bytes, 8)));
    }
    let count = u32_at(bytes, 52);
    if (1..=MOST_LINKS).contains(&count) {
        Ok(count as usize)
    } else {
        Err(RdbError::Field("number of filters"))
    }
}

/// The checked front.
struct Front {
    spec: BloomSpec,
    rows: Vec<Row>,
}

/// A filter of the chain.
struct Row {
    len: u64,
    plan: BloomPlan,
    checksum: u64,
}

impl Front {
    fn decode(bytes: &[u8]) -> Result<Self, RdbError> {
        let count = check_head(bytes)?;
        let end = HEAD + count * ROW;
        let covered = bytes.get(..end).ok_or(RdbError::Field("length"))?;
        if bytes.len() < end + SUM || u64_at(bytes, end) != checksum(covered) {
            return Err(RdbError::Field("checksum"));
        }
        let rate = f64::from_bits(u64_at(bytes, 32));
        let capacity = u64_at(bytes, 40);
        let expansion = Some(u32_at(bytes, 48)).filter(|&expansion| expansion > 0);
        let is_sound = rate > 0.0
            && rate < 1.0
            && (1..=settings::MOST_CAPACITY.unsigned_abs()).contains(&capacity)
            && expansion.map_or(count == 1, |expansion| expansion <= MOST_EXPANSION);
        if !is_sound {
            return Err(RdbError::Field("options"));
        }
        let hash_key = covered[16..32].first_chunk().copied().unwrap_or_default();
        let spec = BloomSpec { capacity, rate, expansion, hash_key };
        let rows = covered[HEAD..].chunks_exact(ROW).map(Row::decode).collect::<Result<_, _>>()?;
        Ok(Self { spec, rows })
    }
}

impl Row {
    fn decode(bytes: &[u8]) -> Result<Self, RdbError> {
        let plan = BloomPlan::new(u64_at(bytes, 8), u32_at(bytes, 16))
            .map_err(|_| RdbError::Field("number of bits"))?;
        if u32_at(bytes, 20) != 0 {
            return Err(RdbError::Field("reserved field"));
        }
        Ok(Self { len: u64_at(bytes, 0), plan, checksum: u64_at(bytes, 24) })
    }

    fn read(&self, hasher: KeyHasher, input: &mut dyn Read) -> Result<BloomFilter, RdbError> {
        let bytes = usize::try_from(self.plan.bytes()).map_err(|_| RdbError::Field("size"))?;
        let mut bits = Vec::new();
        read_on(input, &mut bits, bytes)?;
        if checksum(&bits) != self.checksum {
            return Err(RdbError::Field("checksum of bits"));
        }
        BloomFilter::from_bytes(self.plan, hasher, &bits).map_err(|_| RdbError::Field("bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::NativeFilter as _;

    fn image() -> (NativeBloom, Vec<u8>) {
        let spec = BloomSpec { capacity: 10, rate: 0.1, expansion: Some(2), hash_key: [9; 16] };
        let mut chain = NativeBloom::new(spec, None).unwrap();
        for key in 0..50u32 {
            chain.insert(&[&key.to_le_bytes()], None);
        }
        let mut bytes = Vec::new();
        chain.write(&mut bytes).unwrap();
        (chain, bytes)
    }

    fn read(bytes: &[u8]) -> Result<NativeBloom, RdbError> {
        let (magic, mut rest) = bytes.split_first_chunk().ok_or(RdbError::Field("length"))?;
        NativeBloom::read(*magic, &mut rest)
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        let (chain, bytes) = image();
        let loaded = read(&bytes).unwrap();
        assert_eq!((loaded.len(), loaded.capacity()), (chain.len(), chain.capacity()));
        let mut again = Vec::new();
        loaded.write(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(NativeBloom::image_length(&bytes), Some(bytes.len() as u64));
    }

    #[test]
    fn an_image_can_be_written_from_any_byte_on() {
        let (native, bytes) = image();
        for start in 0..=bytes.len() {
            let mut rest = Vec::new();
            native.write_from(start as u64, &mut rest).unwrap();
            assert!(rest == bytes[start..], "from {start}");
        }
        let beyond = native.write_from(bytes.len() as u64 + 1, &mut Vec::new()).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::InvalidInput);
    }

    /// As in the words of commands.
    #[test]
    fn options_beyond_their_ranges_are_refused() {
        let (_, bytes) = image();
        let (capacity, expansion) = (40..48, 48..52);
        for (field, most) in [(capacity, 1_u64 << 30), (expansion, 32_768)] {
            for (value, is_good) in [(most, true), (most + 1, false), (u64::MAX, false)] {
                let mut forged = bytes.clone();
                forged[field.clone()].copy_from_slice(&value.to_le_bytes()[..field.len()]);
                let end = HEAD + u32_at(&bytes, 52) as usize * ROW;
                let sum = checksum(&forged[..end]);
                forged[end..end + SUM].copy_from_slice(&sum.to_le_bytes());
                assert_eq!(NativeBloom::is_begun(&forged), is_good, "{field:?}: {value}");
            }
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        let (_, bytes) = image();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            assert!(read(&damaged).is_err(), "byte {at}");
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
