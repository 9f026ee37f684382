//! Versions of the file format.

/// The version written, and the newest one read.
pub(super) const VERSION: u16 = 1;
/// The version of files of generations, of which those of version 1 are parts.
pub(crate) const GENERATIONS_VERSION: u16 = 2;
