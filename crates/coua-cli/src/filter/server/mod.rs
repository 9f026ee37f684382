//! Filters on a server or cluster of Valkey or Redis with the module coua: looked up and changed in batches, created,
//! described, and transferred as a whole.
//!
//! A filter is one key of the server, or one per shard. `requests` go to the nodes of an `address`, which a
//! `cluster` may have: over a `connection` to each, which has limits, and speaks the `protocol`. `operations` encodes operations on keys as
//! commands. The filter of a run (`server_filter`) is built on the `remote_filter`. [`pull`] and [`push`] transfer a
//! whole filter as an `image`.

mod address;
mod cluster;
mod connection;
mod image;
mod operations;
mod protocol;
mod remote_filter;
mod requests;
mod reserve;
mod server_filter;

pub(crate) use address::{Address, FORM};
pub(crate) use image::{pull, push};
pub(crate) use server_filter::{open, report};
