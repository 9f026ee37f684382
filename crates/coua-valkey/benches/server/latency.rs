//! What other clients notice while one key grows.
//!
//! One client inserts batches of 100 items, each after the answer to the last; another pings. Milliseconds of
//! the pings: median, the slowest of a thousand, the slowest of all, beside those of an idle server, and of
//! one whose own set grows by as much. Behind them the slowest command as the server's own log has it. Each
//! number is the least of all rounds: what else the machine does makes single ones larger, and none smaller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::server::{Kind, Server};

const BATCH: u64 = 100;

/// What grows: a command before the items, and how its key is made.
const GROWING: [(&str, &[&str], Option<&str>); 5] = [
    ("CF.INSERT", &["CF.INSERT", "f", "NOCREATE", "ITEMS"], Some("CF.RESERVE f 1024")),
    ("CF.INSERT, ERROR 1e-6", &["CF.INSERT", "f", "ITEMS"], Some("CF.RESERVE f 1024 ERROR 1e-6")),
    ("CF.INSERTNX", &["CF.INSERTNX", "f", "NOCREATE", "ITEMS"], Some("CF.RESERVE f 1024")),
    ("BF.INSERT", &["BF.INSERT", "b", "NOCREATE", "ITEMS"], Some("BF.RESERVE b 0.01 1024")),
    ("SADD", &["SADD", "s"], None),
];

pub(crate) fn run(kinds: &[Kind], numbers: &[u64]) {
    let items = numbers.first().copied().unwrap_or(10_000_000);
    let rounds = numbers.get(1).copied().unwrap_or(1);
    println!("{items} items in batches of {BATCH}; milliseconds of a ping");
    println!(
        "{:<16}{:<24}{:>9}{:>9}{:>9}{:>9}",
        "server", "growing", "median", "99.9 %", "worst", "command"
    );
    for kind in kinds {
        let idle = |server: &Server| pings(server, || thread::sleep(Duration::from_secs(2)));
        row(kind, "nothing", rounds, idle);
        for (name, command, creation) in GROWING {
            row(kind, name, rounds, |server| {
                if let Some(creation) = creation {
                    server.client().good(creation);
                }
                let mut growing = server.client();
                pings(server, || grow(&mut growing, command, items))
            });
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

/// The slowest command that the server noticed.
fn slowest_command(server: &Server) -> f64 {
    let log = server.client().good("SLOWLOG GET -1");
    let times = log.elements().iter().map(|entry| entry.elements()[2].integer());
    times.max().unwrap_or(0) as f64 / 1e3
}

fn row(kind: &Kind, growing: &str, rounds: u64, work: impl Fn(&Server) -> Vec<f64>) {
    let mut least = [f64::INFINITY; 4];
    for _ in 0..rounds {
        let server = Server::start(*kind);
        server.client().good("CONFIG SET slowlog-log-slower-than 200 slowlog-max-len 100000");
        let times = work(&server);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let found = [at(0.5), at(0.999), at(1.0), slowest_command(&server)];
        least = std::array::from_fn(|number| f64::min(least[number], found[number]));
    }
    let cells = least.map(|time| format!("{time:>9.3}")).concat();
    println!("{:<16}{growing:<24}{cells}", kind.program);
}
