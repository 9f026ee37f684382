//! Filters on a server: the program and real servers with the module.
//!
//! Servers and other clients' connections are those of the module's tests.

#![expect(clippy::unwrap_used, reason = "in helpers of tests, too, a panic is the message")]

/// Each test of a file runs once per server, so that `./test` can skip servers that are not installed.
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod needs_redis_server {
            $(#[test] fn $test() { super::$test(crate::server::REDIS); })+
        }
        mod needs_valkey_server {
            $(#[test] fn $test() { super::$test(crate::server::VALKEY); })+
        }
    };
}

mod beside;
mod carry;
#[path = "../../../coua-valkey/tests/server/client.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod client;
#[path = "../../../coua-valkey/tests/server/cluster.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod cluster;
mod clusters;
mod commands;
mod encrypted;
mod fake;
mod hostile;
mod interrupted;
mod losses;
mod overtaken;
mod proxy;
mod refusals;
mod remembered;
#[path = "../../../coua-valkey/tests/server/resp.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod resp;
#[path = "../../../coua-valkey/tests/server/server.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod server;
mod several;
mod shards;
mod signals;
#[path = "../program/support.rs"]
#[allow(dead_code, reason = "the tests of files use all of it")]
mod support;

use server::Server;

/// The address of a filter on this server.
fn address(server: &Server, filter: &str) -> String {
    format!("valkey://127.0.0.1:{}/{filter}", server.port())
}
