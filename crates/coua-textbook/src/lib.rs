//! The filters of the papers and tutorials, as plainly as they can be written, to be read in half an hour.
//!
//! | type | idea | paper |
//! |---|---|---|
//! | [`BloomFilter`] | each key sets k bits of one row | Bloom 1970 |
//! | [`CountingBloomFilter`] | counters instead of bits, so keys can be removed | Fan, Cao, Almeida, Broder 1998 |
//! | [`CuckooHashSet`] | whole keys in two tables; each key has one slot in each | Pagh, Rodler 2001 |
//! | [`CuckooFilter`] | fingerprints in buckets; each tells its other bucket | Fan, Andersen, Kaminsky, Mitzenmacher 2014 |
//!
//! The filters have the faults of their papers. A program in `examples` shows each fault:
//!
//! | fault | example |
//! |---|---|
//! | a Bloom filter accepts any number of keys, and is wrong more and more often | `bloom_rates` |
//! | two tables fail at half load: their keys kick each other in a circle | `half_load` |
//! | a full cuckoo filter loses a key that it accepted before | `lost_key` |
//! | a cuckoo filter takes at most 2b equal keys: the ninth fails in buckets of 4 | `ninth_insert` |
//! | removing a key that was never inserted removes another one | `wrong_removal` |
//!
//! The library `coua` has none of these faults, except the last, which no filter can avoid. Here nothing is fast, and
//! nothing is packed: a bit, a counter or a fingerprint has an element of a vector to itself.

#![forbid(unsafe_code)]

mod bloom;
mod counting;
mod cuckoo_filter;
mod cuckoo_set;
mod hash;

use std::error::Error;
use std::fmt::{self, Display, Formatter};

pub use bloom::{BloomFilter, bloom_bits, bloom_functions, bloom_rate};
pub use counting::CountingBloomFilter;
pub use cuckoo_filter::{CuckooFilter, Shape, cuckoo_fingerprint_bits, cuckoo_rate};
pub use cuckoo_set::CuckooHashSet;
pub use hash::{HashFunction, fnv1, fnv1a, murmur3, seeded_functions};

/// A parameter with which no filter can be created.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterError {
    /// The name of the parameter.
    pub name: &'static str,
    /// The value of the parameter.
    pub found: f64,
    /// The values that are possible.
    pub expected: &'static str,
}

impl Display for ParameterError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, found, expected } = self;
        write!(f, "{name} is {found}; expected {expected}")
    }
}

impl Error for ParameterError {}

/// Returns an error unless a table can have this number of places, which a hash of 32 bits chooses from.
fn check_places(name: &'static str, places: usize) -> Result<(), ParameterError> {
    if (1..=1 << 32).contains(&(places as u64)) {
        return Ok(());
    }
    Err(ParameterError { name, found: places as f64, expected: "1 to 2^32" })
}

fn check_rate(rate: f64) -> Result<(), ParameterError> {
    if rate > 0.0 && rate < 1.0 {
        return Ok(());
    }
    Err(ParameterError { name: "rate", found: rate, expected: "a number between 0 and 1" })
}

/// Runs the programs in `examples/` as documentation tests.
#[cfg(doctest)]
mod examples {
    macro_rules! run {
        ($($name:ident: $path:literal),*) => {$(
            #[doc = concat!("```\n", include_str!($path), "\n```")]
            struct $name;
        )*};
    }

    run!(
        BloomRates: "../examples/bloom_rates.rs",
        HalfLoad: "../examples/half_load.rs",
        LostKey: "../examples/lost_key.rs",
        NinthInsert: "../examples/ninth_insert.rs",
        WrongRemoval: "../examples/wrong_removal.rs"
    );
}
