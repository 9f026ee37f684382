//! What other clients notice while one key grows, and while it gives memory back.
//!
//! One client inserts batches of 100 items, each after the answer to the last; another pings. Milliseconds of
//! the pings: median, the slowest of a thousand, the slowest of all, beside those of an idle server, and of
//! one whose own set grows by as much. After them the slowest command as the server's own log has it. Each
//! number is the least of all rounds: what else the machine does makes single ones larger, and none smaller.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

/// What is done to a filter that was made by a command, or is one of RedisBloom's.
type Work = fn(&Server, &mut Client, u64) -> Vec<f64>;
const KEEPING: [(&str, Option<&str>, Work); 5] = [
    ("removals, CF.COMPACT", Some("CF.RESERVE f 1024"), removals),
    ("the same, a window", Some("CF.RESERVE f 1024 WINDOW 52w GENERATIONS 2"), removals),
    ("the same, RedisBloom's layout", None, removals),
    ("ends of generations", Some("CF.RESERVE f 1024 WINDOW 2h GENERATIONS 2"), generations),
    ("the same, counted", Some("CF.RESERVE f 1024 WINDOWITEMS 4000000 GENERATIONS 4"), counted),
];

pub(crate) fn run(kinds: &[Kind], numbers: &[u64]) {
    let items = numbers.first().copied().unwrap_or(10_000_000);
    let rounds = numbers.get(1).copied().unwrap_or(1);
    println!("{items} items in batches of {BATCH}; milliseconds of a ping");
    println!(
        "{:<16}{:<32}{:>9}{:>9}{:>9}{:>9}",
        "server", "what happens", "median", "99.9 %", "worst", "command"
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
                pings(server, || each(&mut growing, command, 0..items))
            });
        }
        for (name, creation, work) in KEEPING {
            row(kind, name, rounds, |server| {
                let mut client = server.client();
                create(&mut client, creation);
                work(server, &mut client, items)
            });
        }
    }
}

/// A command on batches of items.
fn each(client: &mut Client, command: &[&str], items: Range<u64>) {
    for first in items.step_by(BATCH as usize) {
        let mut parts: Vec<String> = command.iter().map(ToString::to_string).collect();
        parts.extend((first..first + BATCH).map(|item| item.to_string()));
        assert!(!client.call(&parts).is_error());
    }
}

/// Makes the key `f`: by a command, or without one in the layout of RedisBloom.
fn create(client: &mut Client, creation: Option<&str>) {
    let Some(creation) = creation else {
        // Sub-filters of 2^18 buckets each, of two slots.
        let mut header = [0; 38];
        header[8..16].copy_from_slice(&(1_u64 << 18).to_le_bytes());
        (header[24], header[32], header[34], header[36]) = (1, 2, 20, 1);
        client.call(&[b"CF.LOADCHUNK", &b"f"[..], b"1", &header]);
        return;
    };
    client.good(creation);
}

/// Nine tenths of the items are removed, and then the filter is told to compact.
fn removals(server: &Server, client: &mut Client, items: u64) -> Vec<f64> {
    each(client, &["CF.MADD", "f"], 0..items);
    client.good("SLOWLOG RESET");
    pings(server, || {
        each(client, &["CF.MDEL", "f"], 0..items / 10 * 9);
        client.good("CF.COMPACT f");
        server.rests();
    })
}

/// Each generation gets as many items; four of them end.
fn generations(server: &Server, client: &mut Client, items: u64) -> Vec<f64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    pings(server, || {
        for number in 0..7 {
            client.good(&format!("CF.ADVANCE f {}", now + number * 3_600_000));
            each(client, &["CF.INSERTNX", "f", "ITEMS"], number * items..(number + 1) * items);
        }
    })
}

/// As many items arrive as four windows have.
fn counted(server: &Server, client: &mut Client, items: u64) -> Vec<f64> {
    pings(server, || each(client, &["CF.MADD", "f"], 0..4 * items))
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

fn row(kind: &Kind, name: &str, rounds: u64, work: impl Fn(&Server) -> Vec<f64>) {
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
    println!("{:<16}{name:<32}{cells}", kind.program);
}
