//! What can go wrong with windows.

use thiserror::Error;

use crate::error::MergeError;

/// A window cannot be as described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// No generation, or too many.
    #[error("a window of {found} generations is not possible: 1 to {most} are")]
    Generations {
        /// The number asked for.
        found: u32,
        /// The most that are possible.
        most: u32,
    },
    /// Too short to be divided into generations, or too long.
    #[error(
        "a window of length {found} cannot be divided into {generations} generations: it must be at least as long \
         as there are generations, and shorter than 2^62"
    )]
    Length {
        /// The length asked for.
        found: u64,
        /// The generations asked for.
        generations: u32,
    },
}

/// Filters cannot be merged; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WindowMergeError {
    /// Their windows differ, or one has none.
    #[error(
        "the filters forget differently: only filters with the same window, the same generations and the same kind \
         of time can be merged"
    )]
    Window,
    /// Their time is the count of their own items, so they have no common time.
    #[error("the window counts the items of one filter alone: such filters cannot be merged")]
    Count,
    /// Generations of the same time cannot be merged.
    #[error("{0}")]
    Filter(#[from] MergeError),
}
