//! The Bloom filter.

use std::f64::consts::LN_2;

use crate::hash::{HashFunction, places, seeded_functions};
use crate::{ParameterError, check_places, check_rate};

/// A Bloom filter (Bloom 1970, "Space/time trade-offs in hash coding with allowable errors").
///
/// A row of m bits, and k hash functions. Inserting a key sets its k bits. A key is present if its k bits are set: false
/// is always right; true is wrong if other keys have set them all. Keys share bits, so none can be removed.
///
/// ```
/// use coua_textbook::{BloomFilter, fnv1, fnv1a, murmur3};
///
/// let mut seen = BloomFilter::new(
///     1 << 18, // bits: 32 KiB
///     vec![Box::new(fnv1), Box::new(fnv1a), Box::new(|key| murmur3(key, 0))],
/// )?;
/// seen.insert("kestrel");
/// assert!(seen.contains("kestrel"));
/// assert!(!seen.contains("osprey"));
/// # Ok::<(), coua_textbook::ParameterError>(())
/// ```
pub struct BloomFilter {
    bits: Vec<bool>,
    functions: Vec<HashFunction>,
}

impl BloomFilter {
    /// A filter with this number of bits, and with these hash functions.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no bits or more than 2^32, or if there are no functions.
    pub fn new(bits: usize, functions: Vec<HashFunction>) -> Result<Self, ParameterError> {
        check_row("bits", bits, &functions)?;
        Ok(Self { bits: vec![false; bits], functions })
    }

    /// A filter with the least bits that keep the false-positive rate up to this number of items.
    ///
    /// ```
    /// let seen = coua_textbook::BloomFilter::for_items(1000, 0.01)?;
    /// assert_eq!((seen.bits().len(), seen.functions()), (9586, 7));
    /// # Ok::<(), coua_textbook::ParameterError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error as [`bloom_bits`], or if more than 2^32 bits are needed.
    pub fn for_items(items: usize, rate: f64) -> Result<Self, ParameterError> {
        let bits = bloom_bits(items, rate)?;
        Self::new(bits, seeded_functions(bloom_functions(bits, items)))
    }

    /// Inserts a key.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) {
        for place in places(&self.functions, key.as_ref(), self.bits.len()) {
            self.bits[place] = true;
        }
    }

    /// Whether the key may have been inserted. False is always right.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        places(&self.functions, key.as_ref(), self.bits.len()).all(|place| self.bits[place])
    }

    /// The row.
    pub fn bits(&self) -> &[bool] {
        &self.bits
    }

    /// The number of hash functions, k.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }
}

/// Returns an error unless a row of bits or counters is possible.
pub(crate) fn check_row(
    name: &'static str,
    length: usize,
    functions: &[HashFunction],
) -> Result<(), ParameterError> {
    check_places(name, length)?;
    if functions.is_empty() {
        return Err(ParameterError { name: "functions", found: 0.0, expected: "at least 1" });
    }
    Ok(())
}

/// The bits that a Bloom filter needs: m = -n ln(rate) / (ln 2)^2, rounded up.
///
/// # Errors
///
/// Returns an error if there are no items or more than 2^32, or if the rate is not between 0 and 1.
pub fn bloom_bits(items: usize, rate: f64) -> Result<usize, ParameterError> {
    check_places("items", items)?;
    check_rate(rate)?;
    Ok((-(items as f64) * rate.ln() / LN_2.powi(2)).ceil() as usize)
}

/// The best number of hash functions: k = (m / n) ln 2, rounded, and at least 1. Then half of the bits are set.
pub fn bloom_functions(bits: usize, items: usize) -> usize {
    let best = bits as f64 / items as f64 * LN_2;
    (best.round() as usize).max(1)
}

/// The false-positive rate: (1 - e^(-k n / m))^k.
///
/// ```
/// // Three functions over 2^18 bits: the rate climbs with the items.
/// let rates = [10_000, 30_000, 100_000].map(|items| coua_textbook::bloom_rate(1 << 18, 3, items));
/// assert_eq!(rates.map(|rate| format!("{:.2} %", rate * 100.0)), ["0.13 %", "2.45 %", "31.66 %"]);
/// ```
pub fn bloom_rate(bits: usize, functions: usize, items: usize) -> f64 {
    let (m, k, n) = (bits as f64, functions as f64, items as f64);
    (1.0 - (-k * n / m).exp()).powf(k)
}
