//! `coua dedup` with a filter on one server, and on clusters of one and of three primaries.
//!
//! `cargo bench -p coua-cli --bench servers -- [lines] [servers ...]` (default 5,000,000, redis-server and
//! valkey-server). URLs of about 65 bytes, of which 30 % repeat another, from a file to a file; everything on
//! this machine, and each run with servers that have just been started. The median of three runs, in
//! million lines per second.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

#[path = "../../coua-valkey/tests/server/client.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod client;
#[path = "../../coua-valkey/tests/server/cluster.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod cluster;
#[path = "../../coua-valkey/tests/server/resp.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod resp;
#[path = "../../coua-valkey/tests/server/server.rs"]
#[allow(dead_code, reason = "the module's own tests use all of it")]
mod server;

use cluster::{Cluster, PATIENT};
use server::{Kind, REDIS, Server, VALKEY};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const SHARDS: [u32; 3] = [1, 4, 16];
const ROUNDS: usize = 3;

/// Where the filter is.
#[derive(Clone, Copy)]
enum Place {
    Server,
    /// So many primaries.
    Cluster(usize),
}

const PLACES: [(&str, Place); 3] = [
    ("one server", Place::Server),
    ("cluster of 1", Place::Cluster(1)),
    ("cluster of 3", Place::Cluster(3)),
];

/// Servers that run.
enum Running {
    Server(Server),
    Cluster(Cluster),
}

impl Place {
    fn start(self, kind: Kind) -> Running {
        match self {
            Self::Server => Running::Server(Server::start(kind)),
            Self::Cluster(primaries) => {
                Running::Cluster(Cluster::of(kind, PATIENT, primaries, primaries))
            }
        }
    }
}

impl Running {
    fn port(&self) -> u16 {
        match self {
            Self::Server(server) => server.port(),
            Self::Cluster(cluster) => cluster[0].port(),
        }
    }
}

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (lines, servers): (Vec<_>, Vec<_>) =
        arguments.partition(|word| word.parse::<u64>().is_ok());
    let lines = lines.first().map_or(5_000_000, |lines| lines.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_lines(&folder.path().join("in"), lines);
    println!("{lines} lines, {bytes} bytes: million lines per second");
    let columns = SHARDS.map(|shards| format!("{:>12}", format!("{shards} shards"))).concat();
    let chosen =
        |kind: &&Kind| servers.is_empty() || servers.iter().any(|name| *name == kind.program);
    let mut printed = None;
    for kind in [REDIS, VALKEY].iter().filter(chosen) {
        println!("{:<16}{columns}", kind.program);
        for (name, place) in PLACES {
            let cells = SHARDS.map(|shards| {
                let mut seconds = [(); ROUNDS].map(|()| {
                    let (seconds, bytes) = dedup(folder.path(), &place.start(*kind), shards);
                    assert_eq!(bytes, *printed.get_or_insert(bytes), "every run prints the same");
                    seconds
                });
                seconds.sort_by(f64::total_cmp);
                format!("{:>12.2}", lines as f64 / 1e6 / seconds[ROUNDS / 2])
            });
            println!("{name:<16}{}", cells.concat());
        }
    }
}

/// Seconds that it takes, and bytes that it prints.
fn dedup(folder: &Path, servers: &Running, shards: u32) -> (f64, u64) {
    let at = format!("valkey://127.0.0.1:{}/seen?shards={shards}", servers.port());
    let start = Instant::now();
    let done = Command::new(env!("CARGO_BIN_EXE_coua"))
        .args(["dedup", "--filter", &at, "-o", "out", "in"])
        .current_dir(folder)
        .output()
        .unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    (seconds, fs::metadata(folder.join("out")).unwrap().len())
}

/// Writes the lines, the same on every machine; how many bytes they have.
fn write_lines(path: &Path, lines: u64) -> u64 {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for line in 0..lines {
        // Drawn from 1.3 times as many, so many draws hit 70 % of their number.
        let id = mix(line) % (lines * 13 / 10).max(1);
        let (site, page) = (mix(id) % 9973, mix(!id) % 100);
        writeln!(file, "https://www.site{site}.example/articles/{:016x}.html?page={page}", mix(id))
            .unwrap();
    }
    file.into_inner().unwrap().metadata().unwrap().len()
}

/// The finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
