//! Coua filters on a server or cluster of Valkey or Redis, with the module coua: asked about many keys at once,
//! created, described, and transferred as a whole.
//!
//! A filter is one key of the server, or spread over shards. An [`Address`] leads to the nodes of a `cluster` with a
//! `connection` to each, which has limits; the `request_queue` brings each request there and its reply back, through
//! lost connections, and `reorder` mends answers in the wrong order; `module_commands` puts operations on keys into
//! commands. The [`ServerFilter`] of a run stands above the `remote_filter`. [`pull`] and [`push`] transfer a whole
//! filter as an `image`.

pub(crate) mod address;
mod cluster;
mod connection;
mod image;
mod module_commands;
mod remote_filter;
mod request_queue;
mod reserve;
mod server_filter;

pub(crate) use address::Address;
pub(crate) use image::{pull, push};
pub(crate) use server_filter::{ServerFilter, report};
