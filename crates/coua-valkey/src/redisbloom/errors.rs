//! Why a dump of the peer is refused, and why an insert is: also for the limits of this server.

use thiserror::Error;

/// A dump is refused; nothing was made of it.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LoadError {
    /// An encoding that is not known, and is not guessed at.
    #[error(
        "encoding {found} of a RedisBloom filter is not known, {oldest} to {newest} are; dump it with a version that \
         writes one of these"
    )]
    Encoding {
        /// The encoding of the dump.
        found: u32,
        /// The oldest one that is read.
        oldest: u32,
        /// The newest one that is read.
        newest: u32,
    },
    /// Something has another length than what was read before says.
    #[error("{what} is {found} bytes long and should be {expected}: dump it again")]
    Length {
        /// What has it.
        what: &'static str,
        /// Its length in bytes.
        found: u64,
        /// The length it must have.
        expected: u64,
    },
    /// A number that no filter of the peer has.
    #[error("{name} is {found} and should be {expected}: dump it again")]
    Number {
        /// Its name.
        name: &'static str,
        /// The number.
        found: u64,
        /// What it must be.
        expected: &'static str,
    },
    /// A number with a fraction that no filter of the peer has.
    #[error("{name} is {found} and should be {expected}: dump it again")]
    Fraction {
        /// Its name.
        name: &'static str,
        /// The number.
        found: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// The filter is larger than a key may be.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There is no memory for the filter.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The dump ends too early, or holds something else than it should.
    #[error("the dump of a RedisBloom filter is cut off or damaged: dump it again")]
    Unreadable,
}

/// The dump ends too early, or holds something else than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A filter would take more bytes than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the filter would take {bytes} bytes, and {limit} are allowed; raise the limit")]
pub struct TooLarge {
    /// Bytes of the filter; of more than 2^64 - 1, that many.
    pub bytes: u64,
    /// Bytes it may have.
    pub limit: u64,
}

impl From<Unreadable> for LoadError {
    fn from(_: Unreadable) -> Self {
        Self::Unreadable
    }
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
#[error("no memory for {bytes} bytes of a filter; free some, or load a smaller one")]
pub struct OutOfMemory {
    /// How much was asked for.
    pub bytes: u64,
}

/// An insert is refused; not one answer of the filter changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InsertError {
    /// There is no room, and the filter was made not to grow.
    #[error("the filter is full with {items} items and was made not to grow; make a larger one")]
    Full {
        /// Items in it.
        items: u64,
    },
    /// The filter has grown as often as it may.
    #[error(
        "the filter has {sub_filters} sub-filters and may have {limit}; raise the limit, or make a larger filter"
    )]
    GrowthLimit {
        /// Sub-filters it has.
        sub_filters: u32,
        /// Sub-filters it may have.
        limit: u32,
    },
    /// The next sub-filter cannot be described in the peer's layout.
    #[error("sub-filter {} would be beyond RedisBloom's layout; make a new filter", sub_filters + 1)]
    CannotGrow {
        /// Sub-filters it has.
        sub_filters: u32,
    },
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
    /// 1 TiB, and the peer's limit of growth.
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
