//! The module in real servers: every test runs once in Redis and once in Valkey.
//!
//! What is expected stands as tables of commands and replies; [`script`] has their notation.

#![expect(clippy::unwrap_used, reason = "in helpers of tests, too, a panic is the message")]

/// Every test of a file once for each server, so that `./test` can skip what is not installed.
macro_rules! on_both {
    ($($(#[$attribute:meta])* $test:ident),+ $(,)?) => {
        mod needs_redis_server {
            $(#[test] $(#[$attribute])* fn $test() { super::$test(crate::server::REDIS); })+
        }
        mod needs_valkey_server {
            $(#[test] $(#[$attribute])* fn $test() { super::$test(crate::server::VALKEY); })+
        }
    };
}

mod accuracy;
mod chunks;
mod client;
mod clients;
mod cluster;
mod clusters;
mod compaction;
mod cuckoo;
mod foreign;
mod golden;
mod hostile;
mod imports;
mod keeping;
mod lies;
mod limits;
mod management;
mod memory;
mod notes;
mod pair;
mod payload;
mod random;
mod refusals;
mod replication;
mod resp;
mod script;
mod server;
mod texts;
mod usage;
mod windows;
mod zoo;
