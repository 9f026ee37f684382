//! BF.*: Bloom filters that grow.

mod chain;
pub(crate) mod commands;
mod image;
mod imported;
pub(crate) mod request;
pub(crate) mod value;

pub(crate) use value::BloomValue;
