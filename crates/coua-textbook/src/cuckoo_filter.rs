//! The cuckoo filter.

use std::mem;

use crate::hash::murmur3;
use crate::{ParameterError, check_places, check_rate};

/// A slot without a fingerprint.
const EMPTY: u32 = 0;

/// The seed of the hash that chooses a key's first bucket.
const BUCKET: u32 = 0;
/// The seed of the hash whose low bits are a key's fingerprint.
const FINGERPRINT: u32 = 1;
/// The seed of the hash of a fingerprint, which leads from a bucket to the other one.
const DISTANCE: u32 = 2;

/// The parameters of a [`CuckooFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of buckets, m: a power of two.
    pub buckets: usize,
    /// Slots of a bucket, b: 1 to 64.
    pub slots: usize,
    /// Bits of a fingerprint, f: 1 to 32.
    pub fingerprint_bits: u32,
    /// Kicks after which an insert gives up: 500 in the paper.
    pub max_kicks: usize,
}

impl Shape {
    /// What the paper recommends for this number of items and this false-positive rate: buckets of 4 slots, full to
    /// 95 %. The number of buckets is rounded up to a power of two, so up to half of the memory is wasted.
    ///
    /// # Errors
    ///
    /// Returns an error as [`cuckoo_fingerprint_bits`], or if there are no items or more than 2^32.
    pub fn for_items(items: usize, rate: f64) -> Result<Self, ParameterError> {
        check_places("items", items)?;
        let (slots, fingerprint_bits) = (4, cuckoo_fingerprint_bits(4, rate)?);
        let buckets = (items as f64 / 0.95 / slots as f64).ceil() as usize;
        let buckets = buckets.next_power_of_two();
        Ok(Self { buckets, slots, fingerprint_bits, max_kicks: 500 })
    }

    fn check(&self) -> Result<(), ParameterError> {
        let &Self { buckets, slots, fingerprint_bits, .. } = self;
        check_places("buckets", buckets)?;
        let refused = |name, found: f64, expected| Err(ParameterError { name, found, expected });
        if !buckets.is_power_of_two() {
            return refused("buckets", buckets as f64, "a power of two");
        }
        if !(1..=64).contains(&slots) {
            return refused("slots", slots as f64, "1 to 64");
        }
        if !(1..=32).contains(&fingerprint_bits) {
            return refused("fingerprint_bits", f64::from(fingerprint_bits), "1 to 32");
        }
        Ok(())
    }
}

/// A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher 2014, "Cuckoo filter: practically better than Bloom").
///
/// A slot holds a fingerprint: a few bits of a key's hash. The fingerprint may be in either of two buckets, and each
/// bucket follows from the other one and the fingerprint: `other = bucket XOR hash(fingerprint)`. So a kicked
/// fingerprint finds its other bucket without its key. XOR stays within the table only if the number of buckets is a
/// power of two. The fingerprint is hashed first, because XOR with its few bits would lead to a bucket nearby.
///
/// ```
/// use coua_textbook::{CuckooFilter, Shape};
///
/// let shape = Shape { buckets: 256, slots: 4, fingerprint_bits: 8, max_kicks: 500 };
/// let mut seen = CuckooFilter::new(shape)?;
/// assert!(seen.insert("kestrel"));
/// assert!(seen.contains("kestrel"));
/// assert!(!seen.contains("osprey"));
/// assert!(seen.remove("kestrel"));
/// assert!(!seen.contains("kestrel"));
/// # Ok::<(), coua_textbook::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuckooFilter {
    shape: Shape,
    /// The slots of all buckets, one bucket after the other.
    table: Vec<u32>,
    random: Random,
}

impl CuckooFilter {
    /// An empty filter.
    ///
    /// # Errors
    ///
    /// Returns an error if a parameter is impossible.
    pub fn new(shape: Shape) -> Result<Self, ParameterError> {
        shape.check()?;
        let table = vec![EMPTY; shape.buckets * shape.slots];
        Ok(Self { shape, table, random: Random(1) })
    }

    /// Inserts a copy of a key. Returns false if no slot was found: then **some key's fingerprint is lost**, seldom the
    /// one of this key, and that key will not be found again.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        let (mut fingerprint, mut bucket) = self.locate(key.as_ref());
        let other = self.other(bucket, fingerprint);
        if self.put(bucket, fingerprint) || self.put(other, fingerprint) {
            return true;
        }
        if self.random.below(2) == 1 {
            bucket = other;
        }
        for _ in 0..self.shape.max_kicks {
            let slot = self.random.below(self.shape.slots);
            mem::swap(&mut fingerprint, &mut self.bucket_mut(bucket)[slot]);
            bucket = self.other(bucket, fingerprint);
            if self.put(bucket, fingerprint) {
                return true;
            }
        }
        false
    }

    /// Whether the key may be present. False is right, unless an insert failed or a wrong key was removed.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let (fingerprint, bucket) = self.locate(key.as_ref());
        let other = self.other(bucket, fingerprint);
        self.bucket(bucket).contains(&fingerprint) || self.bucket(other).contains(&fingerprint)
    }

    /// Removes a copy of a key. Returns false if the key is absent.
    ///
    /// Remove only what was inserted: the fingerprint of a false positive belongs to another key.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> bool {
        let (fingerprint, bucket) = self.locate(key.as_ref());
        let other = self.other(bucket, fingerprint);
        for bucket in [bucket, other] {
            if let Some(slot) = self.bucket_mut(bucket).iter_mut().find(|it| **it == fingerprint) {
                *slot = EMPTY;
                return true;
            }
        }
        false
    }

    /// The share of slots that are taken, 0 to 1.
    pub fn load(&self) -> f64 {
        let taken = self.table.iter().filter(|&&slot| slot != EMPTY).count();
        taken as f64 / self.table.len() as f64
    }

    /// Bits of the table, if fingerprints are packed: m b f.
    pub fn bits(&self) -> usize {
        self.table.len() * self.shape.fingerprint_bits as usize
    }

    /// The fingerprint of a key, and its first bucket.
    fn locate(&self, key: &[u8]) -> (u32, usize) {
        let kept = u32::MAX >> (32 - self.shape.fingerprint_bits);
        let fingerprint = murmur3(key, FINGERPRINT) as u32 & kept;
        (fingerprint.max(EMPTY + 1), self.masked(murmur3(key, BUCKET)))
    }

    fn other(&self, bucket: usize, fingerprint: u32) -> usize {
        bucket ^ self.masked(murmur3(&fingerprint.to_le_bytes(), DISTANCE))
    }

    fn masked(&self, hash: u64) -> usize {
        hash as usize & (self.shape.buckets - 1)
    }

    fn bucket(&self, bucket: usize) -> &[u32] {
        &self.table[bucket * self.shape.slots..][..self.shape.slots]
    }

    fn bucket_mut(&mut self, bucket: usize) -> &mut [u32] {
        &mut self.table[bucket * self.shape.slots..][..self.shape.slots]
    }

    /// Puts a fingerprint into a free slot. Returns whether there was one.
    fn put(&mut self, bucket: usize, fingerprint: u32) -> bool {
        let free = self.bucket_mut(bucket).iter_mut().find(|slot| **slot == EMPTY);
        free.map(|slot| *slot = fingerprint).is_some()
    }
}

/// Random numbers, the same in every run: xorshift (Marsaglia 2003).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Random(u32);

impl Random {
    /// A number from 0 to `bound` - 1.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % bound
    }
}

/// The false-positive rate of a full filter: 1 - (1 - 2^-f)^(2b), about 2b / 2^f. A lookup meets up to 2b fingerprints.
///
/// ```
/// let rates = [8, 12, 16].map(|bits| coua_textbook::cuckoo_rate(4, bits));
/// assert_eq!(rates.map(|rate| format!("{:.3} %", rate * 100.0)), ["3.083 %", "0.195 %", "0.012 %"]);
/// ```
pub fn cuckoo_rate(slots: usize, fingerprint_bits: u32) -> f64 {
    let equal = (-f64::from(fingerprint_bits)).exp2();
    1.0 - (1.0 - equal).powf(2.0 * slots as f64)
}

/// The bits of a fingerprint for a false-positive rate: f = log2(2b / rate), rounded up.
///
/// # Errors
///
/// Returns an error if the rate is not between 0 and 1.
pub fn cuckoo_fingerprint_bits(slots: usize, rate: f64) -> Result<u32, ParameterError> {
    check_rate(rate)?;
    Ok((2.0 * slots as f64 / rate).log2().ceil() as u32)
}
