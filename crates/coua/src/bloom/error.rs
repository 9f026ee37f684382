//! Why a Bloom filter could not be built, read or combined.

use std::fmt;

/// Most probes per key. At 64 the rate of a well-filled filter is that of the 64-bit hash itself.
pub(crate) const MAX_PROBES: u32 = 64;

/// Why a Bloom filter could not be built, or could not grow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BloomBuildError {
    /// The false-positive rate is not a number between 0 and 1.
    Rate {
        /// The rate asked for.
        rate: f64,
    },
    /// No filter of this kind keeps the rate for so many items.
    OutOfReach {
        /// The items asked for.
        items: u64,
        /// The rate asked for.
        rate: f64,
        /// The lowest rate that can be asked for with so many items; 1 or more if there is none.
        lowest: f64,
    },
    /// A filter needs at least one bit.
    NoBits,
    /// The number of probes, or of hash functions, is zero or too large.
    Probes {
        /// The number asked for.
        probes: usize,
    },
    /// The filter has more bits than can be addressed.
    TooLarge {
        /// The bits that would be needed.
        bits: f64,
    },
    /// There is not enough memory.
    Allocation {
        /// The bytes asked for.
        bytes: u64,
    },
}

impl fmt::Display for BloomBuildError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { rate } => write!(
                out,
                "a false-positive rate of {rate} is not possible: give one above 0 and below 1, \
                 such as 0.01"
            ),
            Self::OutOfReach { items, rate, lowest } => {
                write!(
                    out,
                    "a false-positive rate of {rate:e} for {items} items is out of reach of this \
                     filter: ask for "
                )?;
                if *lowest < 1.0 {
                    write!(out, "{lowest:e} or more, or for ")?;
                }
                out.write_str("fewer items")
            }
            Self::NoBits => write!(out, "a Bloom filter of 0 bits cannot be built: give 1 or more"),
            Self::Probes { probes } => write!(
                out,
                "{probes} probes per key are not possible: give between 1 and {MAX_PROBES}"
            ),
            Self::TooLarge { bits } => write!(
                out,
                "a Bloom filter of {bits:e} bits is larger than memory can address: ask for fewer \
                 items or a higher rate"
            ),
            Self::Allocation { bytes } => write!(
                out,
                "there are no {bytes} bytes of memory for a Bloom filter: ask for fewer items \
                 or a higher rate"
            ),
        }
    }
}

impl std::error::Error for BloomBuildError {}

/// Why two Bloom filters could not be combined. Both are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BloomMergeError {
    /// The filters have different numbers of bits.
    Bits {
        /// Bits of the filter that was to change.
        left: u64,
        /// Bits of the other filter.
        right: u64,
    },
    /// The filters make different numbers of probes per key.
    Probes {
        /// Probes of the filter that was to change.
        left: u32,
        /// Probes of the other filter.
        right: u32,
    },
    /// The filters hash keys with different algorithms or seeds. (The seeds may be secret keys, so
    /// they are not shown.)
    Hash,
}

impl fmt::Display for BloomMergeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits { left, right } => write!(
                out,
                "Bloom filters of {left} and {right} bits cannot be combined: build both with the \
                 same number of bits"
            ),
            Self::Probes { left, right } => write!(
                out,
                "Bloom filters of {left} and {right} probes per key cannot be combined: build both \
                 with the same number of probes"
            ),
            Self::Hash => write!(
                out,
                "Bloom filters that hash keys differently cannot be combined: build both with the \
                 same hash algorithm and seed"
            ),
        }
    }
}

impl std::error::Error for BloomMergeError {}

/// Why bytes are not the bits of a Bloom filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BloomLoadError {
    /// The number of bytes does not fit the number of bits.
    Length {
        /// Bytes given.
        found: u64,
        /// Bytes that the stated geometry takes.
        expected: u64,
    },
    /// The number of bytes is not a whole, non-zero number of 32-byte blocks within the limit.
    Blocks {
        /// Bytes given.
        found: u64,
    },
    /// A bit after the last one of the filter is set.
    StrayBits {
        /// Bits of the filter.
        bits: u64,
    },
    /// No filter of that geometry can be built.
    Build(BloomBuildError),
}

impl fmt::Display for BloomLoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { found, expected } => write!(
                out,
                "{found} bytes are not this Bloom filter, which takes {expected}: check that the \
                 number of bits is the one it was built with"
            ),
            Self::Blocks { found } => write!(
                out,
                "{found} bytes are not a blocked Bloom filter: expected one or more whole blocks \
                 of 32 bytes"
            ),
            Self::StrayBits { bits } => write!(
                out,
                "bits are set after the last one of a Bloom filter of {bits} bits: the bytes are \
                 damaged, or belong to a larger filter"
            ),
            Self::Build(_) => write!(out, "the stated Bloom filter cannot be built"),
        }
    }
}

impl std::error::Error for BloomLoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BloomBuildError> for BloomLoadError {
    fn from(error: BloomBuildError) -> Self {
        Self::Build(error)
    }
}
