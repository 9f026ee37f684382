//! The module on real servers.
//!
//! ```text
//! cargo bench -p coua-valkey --bench server -- throughput [ITEMS] [SERVERS]
//! cargo bench -p coua-valkey --bench server -- latency [ITEMS [ROUNDS]] [SERVERS]
//! cargo bench -p coua-valkey --bench server -- accuracy [ITEMS] [SERVERS]
//! ```
//!
//! By default 2,000,000, 10,000,000 and 1,000,000 items, one round, and both `redis-server` and
//! `valkey-server`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

mod accuracy;
mod latency;
mod throughput;

#[path = "../../tests/server/client.rs"]
#[expect(dead_code, reason = "the tests need more")]
mod client;
#[path = "../../tests/server/resp.rs"]
mod resp;
#[path = "../../tests/server/server.rs"]
#[expect(dead_code, reason = "the tests need more")]
mod server;

use server::{Kind, REDIS, VALKEY};

fn main() {
    // `cargo bench` adds options of its own.
    let words = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (numbers, names): (Vec<_>, Vec<_>) = words.partition(|word| word.parse::<u64>().is_ok());
    let numbers: Vec<u64> = numbers.iter().map(|number| number.parse().unwrap()).collect();
    let Some((job, servers)) = names.split_first() else {
        panic!("which one: throughput, latency or accuracy?");
    };
    let is_chosen =
        |kind: &Kind| servers.is_empty() || servers.iter().any(|name| *name == kind.program);
    let kinds: Vec<Kind> = [REDIS, VALKEY].into_iter().filter(is_chosen).collect();
    match job.as_str() {
        "throughput" => throughput::run(&kinds, &numbers),
        "latency" => latency::run(&kinds, &numbers),
        "accuracy" => accuracy::run(&kinds, &numbers),
        other => panic!("{other}: neither throughput, latency nor accuracy"),
    }
}
