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
#[cfg(test)]
mod replicas;
pub(crate) mod request;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod value;
mod window;

pub(crate) use value::CuckooValue;
