//! What the measurements share: keys, and times of blocks of them.

pub mod keys;
pub mod timing;
