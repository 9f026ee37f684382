//! Why a Bloom filter could not be read or combined.

use thiserror::Error;

use crate::sizing::bloom::BloomBuildError;

/// Two Bloom filters could not be combined. Both are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BloomMergeError {
    /// The filters have different numbers of bits.
    #[error(
        "cannot combine Bloom filters of {left} and {right} bits; build both with the same number of bits"
    )]
    Bits {
        /// Bits of this filter.
        left: u64,
        /// Bits of the other filter.
        right: u64,
    },
    /// The filters make different numbers of probes per key.
    #[error(
        "cannot combine Bloom filters of {left} and {right} probes per key; build both with the same number \
         of probes"
    )]
    Probes {
        /// Probes of this filter.
        left: u32,
        /// Probes of the other filter.
        right: u32,
    },
    /// The filters hash keys with different algorithms or seeds. (The seeds may be secret keys, so
    /// they are not shown.)
    #[error(
        "cannot combine Bloom filters with different hash algorithms or seeds; build both with the same"
    )]
    Hash,
}

/// Returns an error if `left` and `right` differ.
pub(super) fn check_equal<T: PartialEq>(
    left: T,
    right: T,
    error: impl FnOnce(T, T) -> BloomMergeError,
) -> Result<(), BloomMergeError> {
    if left == right { Ok(()) } else { Err(error(left, right)) }
}

/// Bytes are not the bits of a Bloom filter.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BloomLoadError {
    /// The number of bytes does not fit the number of bits.
    #[error("found {found} bytes, but this Bloom filter has {expected}; check its number of bits")]
    Length {
        /// Bytes given.
        found: u64,
        /// Bytes expected for the stated geometry.
        expected: u64,
    },
    /// The number of bytes is not a whole, non-zero number of 32-byte blocks within the limit.
    #[error(
        "{found} bytes are not a blocked Bloom filter; expected one or more whole blocks of 32 bytes"
    )]
    Blocks {
        /// Bytes given.
        found: u64,
    },
    /// A bit after the last one of the filter is set.
    #[error(
        "bits are set beyond the {bits} bits of this Bloom filter: the bytes are damaged, or belong to a larger filter"
    )]
    StrayBits {
        /// Bits of the filter.
        bits: u64,
    },
    /// No filter of the stated geometry can be built.
    #[error("the stated Bloom filter cannot be built")]
    Build(#[from] BloomBuildError),
}
