//! Filters on a server or cluster of Valkey or Redis with the module coua: looked up and changed in batches, created,
//! described, and transferred as a whole.
//!
//! A filter is one key of the server, or one per shard. A `connection` speaks the protocol, and has limits. The
//! `requests` of a filter go to the nodes of an `address`, possibly a cluster, and are sent again. A filter is created
//! with options, and has a `description`. The filter of a run (`server_filter`) and the transfer of a whole filter as an
//! `image` are built on it.

mod address;
mod connection;
mod description;
mod image;
mod requests;
mod server_filter;

pub(crate) use address::{Address, FORM};
pub(crate) use image::{pull, push};
pub(crate) use server_filter::{open, report};
