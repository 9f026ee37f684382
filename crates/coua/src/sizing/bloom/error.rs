//! Why a Bloom filter cannot be as described.

use thiserror::Error;

use crate::error::OutOfMemory;

/// Most probes per key. At 64 the rate of a well-filled filter is that of the 64-bit hash itself.
pub(crate) const MAX_PROBES: u32 = 64;

/// Why a Bloom filter could not be built, or could not grow.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BloomBuildError {
    /// The false-positive rate is not a number between 0 and 1.
    #[error(
        "a false-positive rate of {rate} is not possible: give one above 0 and below 1, such as 0.01"
    )]
    Rate {
        /// The rate asked for.
        rate: f64,
    },
    /// No filter of this kind keeps the rate for these items.
    #[error(
        "a false-positive rate of {rate:e} for {items} items is out of reach of this filter: ask for {}fewer items",
        if *lowest < 1.0 { format!("{lowest:e} or more, or for ") } else { String::new() }
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
    #[error("a Bloom filter of 0 bits cannot be built: give 1 or more")]
    NoBits,
    /// The number of probes, or of hash functions, is zero or too large.
    #[error("{probes} probes per key are not possible: give between 1 and {MAX_PROBES}")]
    Probes {
        /// The number asked for.
        probes: usize,
    },
    /// The filter has more bits than can be addressed.
    #[error(
        "a Bloom filter of {bits:e} bits is larger than memory can address: ask for fewer items or a higher rate"
    )]
    TooLarge {
        /// The bits that would be needed.
        bits: f64,
    },
    /// There is not enough memory.
    #[error(
        "there are no {bytes} bytes of memory for a Bloom filter: ask for fewer items or a higher rate"
    )]
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
