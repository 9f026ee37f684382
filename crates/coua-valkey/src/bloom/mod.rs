//! BF.*: Bloom filters that grow.

mod chain;
pub(crate) mod commands;
mod image;
mod imported;
mod request;
mod value;

pub(crate) use value::BloomValue;
