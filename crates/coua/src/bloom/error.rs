//! Why a Bloom filter could not be built, read or combined.

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
    /// No filter of this kind keeps the rate for so many items.
    #[error(
        "a false-positive rate of {rate:e} for {items} items is out of reach of this filter: ask for {}fewer items",
        if *lowest < 1.0 { format!("{lowest:e} or more, or for ") } else { String::new() }
    )]
    OutOfReach {
        /// The items asked for.
        items: u64,
        /// The rate asked for.
        rate: f64,
        /// The lowest rate that can be asked for with so many items; 1 or more if there is none.
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

/// Why two Bloom filters could not be combined. Both are as they were.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BloomMergeError {
    /// The filters have different numbers of bits.
    #[error(
        "Bloom filters of {left} and {right} bits cannot be combined: build both with the same number of bits"
    )]
    Bits {
        /// Bits of the filter that was to change.
        left: u64,
        /// Bits of the other filter.
        right: u64,
    },
    /// The filters make different numbers of probes per key.
    #[error(
        "Bloom filters of {left} and {right} probes per key cannot be combined: build both with the same number \
         of probes"
    )]
    Probes {
        /// Probes of the filter that was to change.
        left: u32,
        /// Probes of the other filter.
        right: u32,
    },
    /// The filters hash keys with different algorithms or seeds. (The seeds may be secret keys, so
    /// they are not shown.)
    #[error(
        "Bloom filters that hash keys differently cannot be combined: build both with the same hash algorithm \
         and seed"
    )]
    Hash,
}

/// The error of two filters that do not agree about something.
pub(super) fn check_equal<T: PartialEq>(
    left: T,
    right: T,
    error: impl FnOnce(T, T) -> BloomMergeError,
) -> Result<(), BloomMergeError> {
    if left == right { Ok(()) } else { Err(error(left, right)) }
}

/// Why bytes are not the bits of a Bloom filter.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BloomLoadError {
    /// The number of bytes does not fit the number of bits.
    #[error(
        "{found} bytes are not this Bloom filter, which takes {expected}: check that the number of bits is the \
         one it was built with"
    )]
    Length {
        /// Bytes given.
        found: u64,
        /// Bytes that the stated geometry takes.
        expected: u64,
    },
    /// The number of bytes is not a whole, non-zero number of 32-byte blocks within the limit.
    #[error(
        "{found} bytes are not a blocked Bloom filter: expected one or more whole blocks of 32 bytes"
    )]
    Blocks {
        /// Bytes given.
        found: u64,
    },
    /// A bit after the last one of the filter is set.
    #[error(
        "bits are set after the last one of a Bloom filter of {bits} bits: the bytes are damaged, or belong to a \
         larger filter"
    )]
    StrayBits {
        /// Bits of the filter.
        bits: u64,
    },
    /// No filter of that geometry can be built.
    #[error("the stated Bloom filter cannot be built")]
    Build(#[from] BloomBuildError),
}
