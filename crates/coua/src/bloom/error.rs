//! Why a Bloom filter could not be read or combined.

use thiserror::Error;

use crate::sizing::bloom::BloomBuildError;

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
