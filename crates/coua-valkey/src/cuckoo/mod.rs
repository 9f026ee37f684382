//! CF.*: cuckoo filters.

mod chunks;
pub(crate) mod commands;
mod image;
mod own;
mod request;
mod value;

pub(crate) use value::CuckooValue;
