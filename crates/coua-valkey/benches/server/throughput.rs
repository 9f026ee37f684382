//! Single commands and batches beside the server's own sets, by the servers' own benchmark programs.
//!
//! 50 connections; random items: what is asked is out of a million, what is put in out of a billion, so that
//! few are copies, and in one row out of a million, too. Million items per second, and in brackets per second of
//! the server's own processor time: the benchmark program takes a core, too.

use std::process::Command;
use std::time::Instant;

use crate::server::{Kind, Server};

const PIPELINES: [u64; 3] = [1, 16, 64];
const BATCH: u64 = 100;
/// What the benchmark programs replace by a number, each time it stands there.
const ITEM: &str = "__rand_int__";
const KEYS: [&str; 3] = ["SADD s 1", "CF.RESERVE f 1000000", "BF.RESERVE b 0.01 1000000"];
const SINGLE: [&str; 7] =
    ["SADD s", "SISMEMBER s", "CF.ADD f", "CF.ADDNX f", "CF.EXISTS f", "BF.ADD b", "BF.EXISTS b"];
/// As the row before, but many items come several times.
const WITH_COPIES: &str = "CF.INSERT f NOCREATE ITEMS";
const BATCHES: [&str; 8] = [
    "SADD s",
    "SMISMEMBER s",
    "CF.INSERT f ITEMS",
    WITH_COPIES,
    "CF.INSERTNX f ITEMS",
    "CF.MEXISTS f",
    "BF.MADD b",
    "BF.MEXISTS b",
];

pub(crate) fn run(kinds: &[Kind], numbers: &[u64]) {
    let items = numbers.first().copied().unwrap_or(2_000_000);
    for kind in kinds {
        let columns = PIPELINES.map(|depth| format!("{:>16}", format!("P{depth}"))).concat();
        println!("{:<26}{columns}", kind.program);
        for command in SINGLE {
            let cells = PIPELINES.map(|depth| measured(*kind, command, 1, depth, items));
            println!("{command:<26}{}", cells.concat());
        }
        println!("{BATCH} items a command\n{:<26}{columns}", "");
        for command in BATCHES {
            let cells = PIPELINES.map(|depth| measured(*kind, command, BATCH, depth, items));
            println!("{command:<26}{}", cells.concat());
        }
    }
}

/// A cell of the table: a fresh server, its keys with the items already in, then the command.
fn measured(kind: Kind, command: &str, batch: u64, depth: u64, items: u64) -> String {
    let server = Server::start(kind);
    for creation in KEYS {
        server.client().good(creation);
    }
    let is_question = command.contains("EXISTS") || command.contains("MEMBER");
    let among = if is_question || command == WITH_COPIES { 1_000_000 } else { 1_000_000_000 };
    let load = Load { items, among, depth };
    if is_question {
        let key = command.split(' ').nth(1).unwrap();
        let filling = match key {
            "s" => "SADD s",
            "f" => "CF.MADD f",
            _ => "BF.MADD b",
        };
        let all = Load { items: items.min(1_000_000), depth: 16, ..load };
        load_server(kind, &server, filling, BATCH, all);
    }
    let before = processor_time(&server);
    let start = Instant::now();
    load_server(kind, &server, command, batch, load);
    let (wall, own) = (start.elapsed().as_secs_f64(), processor_time(&server) - before);
    let million = items as f64 / 1e6;
    format!("{:>16}", format!("{:.2} ({:.2})", million / wall, million / own))
}

/// Random items out of so many, with so many commands on the way at once.
#[derive(Clone, Copy)]
struct Load {
    items: u64,
    among: u64,
    depth: u64,
}

fn load_server(kind: Kind, server: &Server, command: &str, batch: u64, load: Load) {
    let Load { items, among, depth } = load;
    let program = kind.program.replace("-server", "-benchmark");
    let done = Command::new(&program)
        .args(["-p", &server.port().to_string(), "-c", "50", "-q"])
        .args(["-r", &among.to_string()])
        .args(["-P", &depth.to_string(), "-n", &(items / batch).to_string()])
        .args(command.split(' '))
        .args((0..batch).map(|_| ITEM))
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && !text.contains("rror"), "{program} {command}: {text}");
}

/// Seconds of processor time that the server has taken.
fn processor_time(server: &Server) -> f64 {
    let mut client = server.client();
    let mut time = |field| client.info("cpu", field).unwrap().parse::<f64>().unwrap();
    time("used_cpu_user") + time("used_cpu_sys")
}
