//! What other clients notice while one key grows.
//!
//! `cargo bench -p coua-valkey --bench latency -- [items] [servers ...]` (default 10,000,000, redis-server
//! and valkey-server). One client inserts batches of 100 items, each after the answer to the last; another
//! pings. Milliseconds of the pings: median, the slowest of a thousand, the slowest of all, beside those
//! of an idle server, and of one whose own set grows by as much.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

#[path = "../tests/server/client.rs"]
#[expect(dead_code, reason = "the tests need more")]
mod client;
#[path = "../tests/server/resp.rs"]
#[expect(dead_code, reason = "the tests need more")]
mod resp;
#[path = "../tests/server/server.rs"]
#[expect(dead_code, reason = "the tests need more")]
mod server;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use client::Client;
use server::{Kind, REDIS, Server, VALKEY};

const BATCH: u64 = 100;

/// What grows: a command before the items, and how its key is made.
const GROWING: [(&str, &[&str], Option<&str>); 5] = [
    ("CF.INSERT", &["CF.INSERT", "f", "NOCREATE", "ITEMS"], Some("CF.RESERVE f 1024")),
    ("CF.INSERT, ERROR 1e-6", &["CF.INSERT", "f", "ITEMS"], Some("CF.RESERVE f 1024 ERROR 1e-6")),
    ("CF.INSERTNX", &["CF.INSERTNX", "f", "NOCREATE", "ITEMS"], Some("CF.RESERVE f 1024")),
    ("BF.INSERT", &["BF.INSERT", "b", "NOCREATE", "ITEMS"], Some("BF.RESERVE b 0.01 1024")),
    ("SADD", &["SADD", "s"], None),
];

fn main() {
    let numbers = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (items, servers): (Vec<_>, Vec<_>) = numbers.partition(|word| word.parse::<u64>().is_ok());
    let items = items.first().map_or(10_000_000, |items| items.parse().unwrap());
    println!("{items} items in batches of {BATCH}; milliseconds of a ping");
    println!(
        "{:<16}{:<24}{:>9}{:>9}{:>9}{:>9}",
        "server", "growing", "pings", "median", "99.9 %", "worst"
    );
    let chosen =
        |kind: &&Kind| servers.is_empty() || servers.iter().any(|name| *name == kind.program);
    for kind in [REDIS, VALKEY].iter().filter(chosen) {
        let idle = || thread::sleep(Duration::from_secs(2));
        row(kind, "nothing", &pings(&Server::start(*kind), idle));
        for (name, command, creation) in GROWING {
            let server = Server::start(*kind);
            if let Some(creation) = creation {
                server.client().good(creation);
            }
            let mut growing = server.client();
            row(kind, name, &pings(&server, || grow(&mut growing, command, items)));
        }
    }
}

fn grow(client: &mut Client, command: &[&str], items: u64) {
    for first in (0..items).step_by(BATCH as usize) {
        let mut parts: Vec<String> = command.iter().map(ToString::to_string).collect();
        parts.extend((first..first + BATCH).map(|item| item.to_string()));
        assert!(!client.call(&parts).is_error());
    }
}

/// Milliseconds of all pings while something is done, in order of size.
fn pings(server: &Server, work: impl FnOnce()) -> Vec<f64> {
    let done = AtomicBool::new(false);
    let mut client = server.client();
    let mut times = thread::scope(|scope| {
        let pinging = scope.spawn(|| {
            let mut times = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                client.call(&["PING"]);
                times.push(start.elapsed().as_secs_f64() * 1e3);
                // Two clients that never rest would leave the server no core on a small machine.
                thread::sleep(Duration::from_micros(200));
            }
            times
        });
        work();
        done.store(true, Ordering::Relaxed);
        pinging.join().unwrap()
    });
    times.sort_by(f64::total_cmp);
    times
}

fn row(kind: &Kind, growing: &str, times: &[f64]) {
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (server, pings) = (kind.program, times.len());
    println!(
        "{server:<16}{growing:<24}{pings:>9}{:>9.3}{:>9.3}{:>9.3}",
        at(0.5),
        at(0.999),
        at(1.0)
    );
}
