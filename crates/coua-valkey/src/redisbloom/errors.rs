//! Errors of loading RedisBloom's dumps, and of inserting into its filters.

use thiserror::Error;

/// A dump is refused, and no filter was created.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LoadError {
    /// An unknown encoding.
    #[error(
        "unknown encoding {found} of a RedisBloom filter (expected at most {newest}); dump it with a version that writes \
         one of these"
    )]
    Encoding {
        /// The encoding of the dump.
        found: u32,
        /// The newest one that is read.
        newest: u32,
    },
    /// A length that contradicts earlier fields.
    #[error("{what} is {found} bytes long, expected {expected}; dump it again")]
    Length {
        /// The part with this length.
        what: &'static str,
        /// Its length in bytes.
        found: u64,
        /// The length it must have.
        expected: u64,
    },
    /// A number that no RedisBloom filter has.
    #[error("{name} is {found}, expected {expected}; dump it again")]
    Number {
        /// Its name.
        name: &'static str,
        /// The number.
        found: u64,
        /// What it must be.
        expected: &'static str,
    },
    /// The filter is larger than a key may be.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There is no memory for the filter.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The dump ends too early, or contains something unexpected.
    #[error("the dump of a RedisBloom filter is truncated or damaged; dump it again")]
    Unreadable,
}

/// A filter would exceed its limit of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the filter would take {bytes} bytes, but the limit is {limit}; raise the limit")]
pub struct TooLarge {
    /// Bytes of the filter, or 2^64 - 1 if more.
    pub bytes: u64,
    /// The limit in bytes.
    pub limit: u64,
}

/// Refuses a number that no filter of the peer has.
pub(super) fn number(
    name: &'static str,
    found: impl Into<u64>,
    holds: impl FnOnce(u64) -> bool,
    expected: &'static str,
) -> Result<(), LoadError> {
    let found = found.into();
    if holds(found) { Ok(()) } else { Err(LoadError::Number { name, found, expected }) }
}

/// There is no memory for an array of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("out of memory for {bytes} bytes of a filter; free some memory, or load a smaller filter")]
pub struct OutOfMemory {
    /// Bytes requested.
    pub bytes: u64,
}

/// An insert is refused, and no answer of the filter changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InsertError {
    /// There is no room, and the filter does not grow.
    #[error("the filter is full and does not grow")]
    Full,
    /// The filter has grown as often as it may, or as RedisBloom's layout permits.
    #[error("the filter has grown as often as it may")]
    GrowthLimit,
    /// The filter would be larger than a key may be.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There is no memory for the next sub-filter.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Limits of the server that holds the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that all sub-filters together may take.
    pub bytes: u64,
    /// Sub-filters with which an insert is refused; the peer's `cf-max-expansions`.
    pub sub_filters: u32,
}

impl Default for Limits {
    /// 1 TiB, and RedisBloom's limit of growth.
    fn default() -> Self {
        Self { bytes: 1 << 40, sub_filters: 32 }
    }
}

impl Limits {
    /// Returns an error if a filter may not take `bytes` bytes.
    pub(super) fn check(&self, bytes: u64) -> Result<(), TooLarge> {
        if bytes <= self.bytes { Ok(()) } else { Err(TooLarge { bytes, limit: self.bytes }) }
    }
}
