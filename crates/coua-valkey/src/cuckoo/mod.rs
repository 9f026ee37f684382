//! CF.*: cuckoo filters.

mod aging;
mod blueprint;
mod clock;
pub(crate) mod commands;
mod compaction;
mod creation;
mod few;
mod figures;
mod forgotten;
mod image;
mod imported;
pub(crate) mod inserts;
pub(crate) mod own;
pub(crate) mod request;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;
pub(crate) mod value;
mod window;

pub(crate) use value::CuckooValue;
