//! What a window cannot be.

use thiserror::Error;

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
