//! CF.*: cuckoo filters.

pub(crate) mod commands;
mod image;
mod imported;
mod own;
mod request;
mod value;

pub(crate) use value::CuckooValue;

#[cfg(test)]
pub(crate) use {own::Copies, own::OwnCuckoo, request::Request, value::Cuckoo};
