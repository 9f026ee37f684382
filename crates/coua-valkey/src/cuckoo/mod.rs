//! CF.*: cuckoo filters.

mod blueprint;
pub(crate) mod commands;
mod few;
mod image;
mod imported;
pub(crate) mod own;
pub(crate) mod request;
pub(crate) mod value;

pub(crate) use value::CuckooValue;
