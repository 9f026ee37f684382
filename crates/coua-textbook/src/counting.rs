//! The counting Bloom filter.

use crate::ParameterError;
use crate::bloom::check_row;
use crate::hash::{HashFunction, places};

/// The highest value of a counter of four bits.
const STUCK: u8 = 15;

/// A counting Bloom filter (Fan, Cao, Almeida, Broder 1998 and 2000, "Summary cache: a scalable wide-area web cache
/// sharing protocol"): four times the memory of a [`BloomFilter`](crate::BloomFilter), and keys can be removed.
///
/// A counter of four bits takes the place of each bit. A counter that reaches 15 stays there for ever: its true number
/// is unknown, and to count down from 15 might lose a key.
///
/// ```
/// use coua_textbook::{CountingBloomFilter, seeded_functions};
///
/// let mut seen = CountingBloomFilter::new(1000, seeded_functions(7))?;
/// seen.insert("kestrel");
/// assert!(seen.remove("kestrel"));
/// assert!(!seen.contains("kestrel"));
/// # Ok::<(), coua_textbook::ParameterError>(())
/// ```
pub struct CountingBloomFilter {
    /// 0 to 15 each.
    counters: Vec<u8>,
    functions: Vec<HashFunction>,
}

impl CountingBloomFilter {
    /// A filter with this number of counters, and with these hash functions.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no counters or more than 2^32, or if there are no functions.
    pub fn new(counters: usize, functions: Vec<HashFunction>) -> Result<Self, ParameterError> {
        check_row("counters", counters, &functions)?;
        Ok(Self { counters: vec![0; counters], functions })
    }

    /// Inserts a copy of a key.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) {
        for place in places(&self.functions, key.as_ref(), self.counters.len()) {
            let counter = &mut self.counters[place];
            *counter = STUCK.min(*counter + 1);
        }
    }

    /// Whether the key may be present. False is always right.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        places(&self.functions, key.as_ref(), self.counters.len())
            .all(|place| self.counters[place] > 0)
    }

    /// Removes a copy of a key. Returns false, and changes nothing, if the key is certainly absent.
    ///
    /// Remove only what was inserted: removing a false positive takes the counts of other keys.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        if !self.contains(key) {
            return false;
        }
        for place in places(&self.functions, key, self.counters.len()) {
            let counter = &mut self.counters[place];
            if *counter < STUCK {
                // Zero only here: a false positive with two functions at one counter.
                *counter = counter.saturating_sub(1);
            }
        }
        true
    }

    /// The row.
    pub fn counters(&self) -> &[u8] {
        &self.counters
    }
}
