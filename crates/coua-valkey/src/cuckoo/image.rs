//! A cuckoo filter as a stream of bytes: for dump files, append-only files, chunks of dumps, digests.
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
//!     76      4          items, n: 0 .. 64
//!     80     8n          the hash of each item, in the order in which they came
//!  80+8n      8          XXH3-64 of all after byte 64
//! ```
//!
//! Numbers are little endian.

use std::io::{self, Read, Write};

use coua::window::Generations;
use coua::{CuckooFilter, HashAlgorithm, Load};

use super::blueprint::{Blueprint, Hints, Precision};
use super::few::{self, Few};
use super::own::{Form, OwnCuckoo};
use crate::refusal::LoadRefusal;
use crate::value::image::{MAGIC, SIPHASH_1_3, XXH3, checksum, u32_at, u64_at};
use crate::value::{FRONT, MOST_PARTS, OwnFilter, PART};

/// Bytes before the filter.
const HEAD: usize = 64;
/// Where a filter's file says how many parts it has, and how long it is (docs/format.md, section 1).
const PARTS_AT: usize = 60;
const LENGTH_AT: usize = 104;
const CUCKOO: u32 = 1;
const FEW: u32 = 3;
const AGING: u32 = 4;
/// Bytes between the head and the hashes of few items, and after them.
const FEW_FRONT: usize = 16;
const FEW_SUM: usize = 8;

impl OwnFilter for OwnCuckoo {
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut front = Head::of(self)?.encode();
        match self.form() {
            Form::Few(few) => {
                front.extend(few_bytes(few)?);
                let rest = usize::try_from(start).ok().and_then(|start| front.get(start..));
                out.write_all(rest.ok_or(io::ErrorKind::InvalidInput)?)
            }
            Form::Table(table) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                table.filter.write_from(start.saturating_sub(HEAD as u64), out)
            }
            Form::Aging(aging) => {
                out.write_all(front.get(start as usize..).unwrap_or_default())?;
                aging.filter.write_from(start.saturating_sub(HEAD as u64), out)
            }
        }
    }

    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, LoadRefusal> {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&magic);
        input.read_exact(&mut bytes[8..])?;
        let head = Head::decode(&bytes)?;
        if head.kind == FEW {
            return Ok(Self::of_few(read_few(&head, input)?, head.deleted));
        }
        if head.kind == AGING {
            let filter: Generations = Load::new().key(head.secret()).reader(input)?;
            if filter.window().is_none() || head.hints.expansion == 0 {
                return Err(LoadRefusal::Field("window or expansion"));
            }
            return Ok(Self::of_aging(filter, head.hints, head.deleted));
        }
        let filter = Load::new().key(head.secret()).reader::<CuckooFilter>(input)?;
        Ok(Self::of_table(filter, head.hints, head.deleted))
    }

    fn image_length(begun: &[u8]) -> Option<u64> {
        if u32_at(begun, 8) == FEW {
            let front = begun.get(HEAD..HEAD + FEW_FRONT)?;
            let bytes = FEW_FRONT + few_len(front).ok()? * size_of::<u64>() + FEW_SUM;
            return Some((HEAD + bytes) as u64);
        }
        let field = begun.get(HEAD + LENGTH_AT..)?.first_chunk()?;
        Some(u64::from_le_bytes(*field).saturating_add(HEAD as u64))
    }

    fn front(begun: &[u8]) -> u64 {
        let is_aging = u32_at(begun, 8) == AGING;
        let parts = if is_aging { u64::from(u32_at(begun, HEAD + PARTS_AT)) } else { 0 };
        FRONT + PART * parts.min(MOST_PARTS)
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

    fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes()
    }

    fn pieces(&self) -> usize {
        match self.form() {
            Form::Few(_) => 1,
            Form::Table(table) => table.filter.segments(),
            Form::Aging(aging) => aging.filter.segments() as usize,
        }
    }

    fn try_clone(&self) -> Option<Self> {
        self.try_clone().ok()
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
    fn of(own: &OwnCuckoo) -> io::Result<Self> {
        let (kind, hasher) = match own.form() {
            Form::Few(few) => (FEW, few.blueprint.hasher()),
            Form::Table(table) => (CUCKOO, table.filter.hasher()),
            Form::Aging(aging) => (AGING, aging.hasher()),
        };
        let (algorithm, hash_key) = match hasher.algorithm() {
            HashAlgorithm::SipHash13 { key } => (SIPHASH_1_3, key),
            HashAlgorithm::Xxh3 { seed } => (XXH3, u128::from(seed).to_le_bytes()),
            _ => return Err(io::Error::other("the hash has no number in this layout")),
        };
        Ok(Self { kind, algorithm, hash_key, hints: own.hints(), deleted: own.deleted() })
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
        let (kind, algorithm) = (number(8), number(12));
        let is_known = match kind {
            FEW => algorithm == SIPHASH_1_3,
            CUCKOO | AGING => [SIPHASH_1_3, XXH3].contains(&algorithm),
            _ => false,
        };
        if !is_known {
            return Err(LoadRefusal::Kind(kind));
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
        Ok(Self { kind, algorithm, hash_key, hints, deleted })
    }
}

/// What stands after the head of a filter with few items.
fn few_bytes(few: &Few) -> io::Result<Vec<u8>> {
    let Precision::HashBits(bits) = few.blueprint.precision else {
        return Err(io::Error::other("a filter that grows remembers whole bits"));
    };
    let mut bytes = few.blueprint.capacity.to_le_bytes().to_vec();
    let counts = [bits, few.hashes().len() as u32];
    bytes.extend(counts.iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(few.hashes().iter().flat_map(|hash| hash.to_le_bytes()));
    bytes.extend(checksum(&bytes).to_le_bytes());
    Ok(bytes)
}

/// The number of hashes, which the rest depends on.
fn few_len(front: &[u8]) -> Result<usize, LoadRefusal> {
    let len = u32_at(front, 12) as usize;
    if len <= few::MOST { Ok(len) } else { Err(LoadRefusal::Field("number of items")) }
}

fn read_few(head: &Head, input: &mut dyn Read) -> Result<Few, LoadRefusal> {
    let mut bytes = vec![0; FEW_FRONT];
    input.read_exact(&mut bytes)?;
    let end = FEW_FRONT + few_len(&bytes)? * size_of::<u64>();
    bytes.resize(end + FEW_SUM, 0);
    input.read_exact(&mut bytes[FEW_FRONT..])?;
    if checksum(&bytes[..end]) != u64_at(&bytes, end) {
        return Err(LoadRefusal::Field("checksum"));
    }
    let blueprint = Blueprint {
        capacity: u64_at(&bytes, 0),
        hints: head.hints,
        precision: Precision::HashBits(u32_at(&bytes, 8)),
        hash_key: head.hash_key,
        window: None,
    };
    let is_too_small = blueprint.capacity < 2 * u64::from(head.hints.bucket_size);
    if is_too_small || !Few::suits(&blueprint) {
        return Err(LoadRefusal::Field("capacity or number of hash bits"));
    }
    let hashes = (FEW_FRONT..end).step_by(size_of::<u64>()).map(|at| u64_at(&bytes, at));
    Ok(Few::new(blueprint, hashes.collect()))
}

#[cfg(test)]
mod tests;
