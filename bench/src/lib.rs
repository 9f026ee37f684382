//! Keys, and times of blocks of keys, for all measurements.

pub mod keys;
pub mod timing;
