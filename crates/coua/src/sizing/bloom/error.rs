//! Errors of building Bloom filters.

use thiserror::Error;

use crate::error::OutOfMemory;

/// Most probes per key. At 64 the rate of a well-filled filter is that of the 64-bit hash itself.
pub(crate) const MAX_PROBES: u32 = 64;

/// A Bloom filter could not be built, or could not grow.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BloomBuildError {
    /// The false-positive rate is not a number between 0 and 1.
    #[error(
        "a false-positive rate of {rate} is not possible; use one above 0 and below 1, such as 0.01"
    )]
    Rate {
        /// The rate asked for.
        rate: f64,
    },
    /// No filter of this kind keeps the rate for these items.
    #[error(
        "a false-positive rate of {rate:e} for {items} items is too low for this filter; use {}fewer items",
        if *lowest < 1.0 { format!("{lowest:e} or more, or ") } else { String::new() }
    )]
    OutOfReach {
        /// The items asked for.
        items: u64,
        /// The rate asked for.
        rate: f64,
        /// The lowest rate possible for these items; 1 or more if there is none.
        lowest: f64,
    },
    /// A filter needs at least one bit.
    #[error("a Bloom filter needs at least 1 bit")]
    NoBits,
    /// The number of probes, or of hash functions, is zero or too large.
    #[error("{probes} probes per key are not possible; use 1 to {MAX_PROBES}")]
    Probes {
        /// The number asked for.
        probes: usize,
    },
    /// The filter has more bits than can be addressed.
    #[error(
        "a Bloom filter of {bits:e} bits is too large to address; use fewer items or a higher rate"
    )]
    TooLarge {
        /// The bits that would be needed.
        bits: f64,
    },
    /// There is not enough memory.
    #[error("out of memory for a Bloom filter of {bytes} bytes; use fewer items or a higher rate")]
    Allocation {
        /// The bytes asked for.
        bytes: u64,
    },
}

impl From<OutOfMemory> for BloomBuildError {
    fn from(refused: OutOfMemory) -> Self {
        Self::Allocation { bytes: refused.bytes }
    }
}
