//! Filters on a server or cluster of Valkey or Redis with the module coua: looked up and changed in batches, created,
//! described, and transferred as a whole.
//!
//! A filter is one key of the server, or one per shard. An address leads to the nodes of a `cluster` with a
//! `connection` to each, which has limits, and speaks the `protocol`. The `request_queue` sends each request to its node
//! and returns the reply, despite lost connections; it corrects answers in the wrong order. `module_commands` encodes
//! operations on keys as commands. The filter of a run (`server_filter`) is built on the `remote_filter`. [`pull`] and
//! [`push`] transfer a whole filter as an `image`.

mod cluster;
mod connection;
mod image;
mod module_commands;
mod protocol;
mod remote_filter;
mod request_queue;
mod reserve;
mod server_filter;

pub(crate) use image::{pull, push};
pub(crate) use server_filter::{open, report};
