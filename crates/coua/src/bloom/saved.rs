//! A Bloom filter as bytes, with its size and hash. `docs/format.md`, section 10, is the normative text.

use std::io::{self, Write};

use super::error::BloomLoadError;
use super::filter::BloomFilter;
use crate::error::OutOfMemory;
use crate::sizing::bloom::{BloomBuildError, BloomPlan};
use crate::snapshot::{
    KIND_BLOOM, KIND_CUCKOO, LoadError, MAGIC, Part, Reader, StoredHash, VERSION, checksum_of,
    expect, intact, put_u32, put_u64, wrong,
};

const HEADER_BYTES: usize = 64;

impl BloomFilter {
    /// Writes the filter with its size and hash, in the format of [`load`](Self::load) and of the packages for Python
    /// and JavaScript. O(bits).
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to<W: Write>(&self, mut out: W) -> io::Result<()> {
        let (bits, hash) = (self.to_bytes(), StoredHash::of(self.hasher()));
        let mut header = MAGIC.to_vec();
        header.extend([VERSION, KIND_BLOOM].map(u16::to_le_bytes).concat());
        put_u32(&mut header, &[HEADER_BYTES as u32, 0, hash.algorithm()]);
        let probes = u64::from(self.probes());
        put_u64(&mut header, &[hash.seed(), self.bits(), probes, checksum_of(&bits)]);
        let sum = checksum_of(&header);
        put_u64(&mut header, &[sum]);
        out.write_all(&header)?;
        out.write_all(&bits)
    }

    /// Reads a filter that [`write_to`](Self::write_to) wrote. `secret_key` is the key of its hash, if it has one.
    /// O(bits).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for every damaged or foreign byte.
    ///
    /// ```
    /// use coua::bloom::BloomFilter;
    ///
    /// let (seen, mut bytes) = (BloomFilter::with_capacity(1000, 0.01)?, Vec::new());
    /// seen.insert_unique("kestrel");
    /// seen.write_to(&mut bytes)?;
    /// assert!(BloomFilter::load(&bytes, None)?.contains("kestrel"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(bytes: &[u8], secret_key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(LoadError::NotAFilter);
        }
        let Some((header, bits)) = bytes.split_at_checked(HEADER_BYTES) else {
            let (expected, found) = (HEADER_BYTES as u64, bytes.len() as u64);
            return Err(LoadError::Length { expected, found });
        };
        let (hash, plan, sum) = decode(header)?;
        let (expected, found) = (plan.bits().div_ceil(64) * 8, bits.len() as u64);
        if found != expected {
            let whole = |bits| HEADER_BYTES as u64 + bits;
            return Err(LoadError::Length { expected: whole(expected), found: whole(found) });
        }
        intact(&checksum_of(bits), &sum, Part::Bits)?;
        Self::from_bytes(plan, hash.hasher(secret_key)?, bits).map_err(|error| match error {
            BloomLoadError::Build(BloomBuildError::Allocation { bytes }) => {
                OutOfMemory { bytes }.into()
            }
            _ => LoadError::Field { name: "bits", found: plan.bits() },
        })
    }
}

/// The hash and the size of a filter, and the checksum of its bits.
fn decode(header: &[u8]) -> Result<(StoredHash, BloomPlan, u64), LoadError> {
    let (covered, sum) = header.split_at(HEADER_BYTES - 8);
    let mut fields = Reader(&covered[MAGIC.len()..]);
    let (found, kind) = (fields.u16(), fields.u16());
    if found != VERSION {
        return Err(LoadError::Version { found });
    }
    if kind == KIND_CUCKOO {
        return Err(LoadError::Kind { found: "cuckoo", expected: "Bloom" });
    }
    intact(&checksum_of(covered), &Reader(sum).u64(), Part::Header)?;
    expect("kind", u64::from(KIND_BLOOM), kind)?;
    expect("header length", HEADER_BYTES as u64, fields.u32())?;
    let found = fields.u32();
    if found != 0 {
        return Err(LoadError::Features { found });
    }
    let hash = StoredHash::new(fields.u32(), fields.u64())?;
    let (bits, probes, sum) = (fields.u64(), fields.u64(), fields.u64());
    let plan = BloomPlan::new(bits, u32::try_from(probes).unwrap_or(u32::MAX));
    plan.map_or_else(|_| wrong("probes", probes), |plan| Ok((hash, plan, sum)))
}
