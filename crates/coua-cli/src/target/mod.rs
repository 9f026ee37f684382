//! Where the filter of a run lives: in memory, in a file, on a server.

pub(crate) mod collisions;
pub(crate) mod estimate;
pub(crate) mod file;
pub(crate) mod memory;
