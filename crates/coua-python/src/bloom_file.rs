//! Bloom filters as bytes: docs/format.md, section 10.

use coua::bloom::BloomFilter;
use coua::sizing::bloom::BloomPlan;
use coua::{HashAlgorithm, KeyHasher};
use pyo3::prelude::*;

use crate::error::LoadError;

const MAGIC: [u8; 8] = *b"\x89COUA\r\n\x1a";
const VERSION_AND_KIND: u32 = 1 | 2 << 16;
const HEADER: usize = 64;
/// Of the header, without its checksum.
const CHECKED: usize = HEADER - 8;

pub(crate) fn to_bytes(filter: &BloomFilter) -> Vec<u8> {
    let bits = filter.to_bytes();
    let (algorithm, seed) = identity(filter.hasher());
    let mut bytes = Vec::with_capacity(HEADER + bits.len());
    bytes.extend(MAGIC);
    for number in [VERSION_AND_KIND, HEADER as u32, 0, algorithm] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [seed, filter.bits(), u64::from(filter.probes()), checksum(&bits)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes.extend(bits);
    bytes
}

pub(crate) fn from_bytes(bytes: &[u8], key: Option<[u8; 16]>) -> PyResult<BloomFilter> {
    let Some((header, bits)) =
        bytes.split_at_checked(HEADER).filter(|(it, _)| it.starts_with(&MAGIC))
    else {
        return Err(LoadError::new_err("not a Coua filter"));
    };
    let number =
        |at: usize| header[at..].first_chunk().map_or(0, |field| u64::from_le_bytes(*field));
    if number(8) >> 16 & 0xffff == 1 {
        return Err(LoadError::new_err(
            "a cuckoo filter: coua.CuckooFilter or coua.Window loads it",
        ));
    }
    if number(CHECKED) != checksum(&header[..CHECKED]) {
        return Err(LoadError::new_err("the header of the Bloom filter is damaged"));
    }
    if number(8) != u64::from(VERSION_AND_KIND) | (HEADER as u64) << 32
        || number(16) & 0xffff_ffff != 0
    {
        return Err(LoadError::new_err("a newer coua wrote this filter: update coua"));
    }
    let hasher = match (number(16) >> 32, key) {
        (2, Some(key)) => KeyHasher::siphash13(key),
        (2, None) => {
            return Err(LoadError::new_err("the filter has a secret key: give it by key="));
        }
        (_, Some(_)) => {
            return Err(LoadError::new_err("the filter has no secret key: leave key out"));
        }
        (_, None) => KeyHasher::xxh3(number(24)),
    };
    if number(24) != identity(hasher).1 {
        return Err(LoadError::new_err("the filter was made with another secret key"));
    }
    if number(48) != checksum(bits) {
        return Err(LoadError::new_err("the bits of the Bloom filter are damaged"));
    }
    let probes = u32::try_from(number(40)).unwrap_or(u32::MAX);
    let damaged = |error: &dyn std::fmt::Display| LoadError::new_err(error.to_string());
    let plan = BloomPlan::new(number(32), probes).map_err(|error| damaged(&error))?;
    BloomFilter::from_bytes(plan, hasher, bits).map_err(|error| damaged(&error))
}

/// The algorithm, and the seed or what tells one key from another.
fn identity(hasher: KeyHasher) -> (u32, u64) {
    match hasher.algorithm() {
        HashAlgorithm::Xxh3 { seed } => (1, seed),
        _ => (2, hasher.hash(b"coua key check").to_u64()),
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}
