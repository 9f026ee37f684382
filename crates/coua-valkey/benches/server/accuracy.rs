//! What an item takes, and how often an absent one is taken for present.
//!
//! A key is made, gets so many different items, and is asked for as many others. Bytes are those of
//! `MEMORY USAGE`.

use crate::client::Client;
use crate::server::{Kind, Server};

const BATCH: u64 = 1000;

/// How the key `f` is made; where nothing is said, its first item makes it.
const CREATIONS: [&str; 8] = [
    "CF.RESERVE f 1000000",
    "CF.RESERVE f 1000000 BUCKETSIZE 4",
    "CF.RESERVE f 1048576 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 0",
    "CF.RESERVE f 1024 EXPANSION 2",
    "",
    "CF.RESERVE f 1000000 ERROR 0.001",
    "CF.RESERVE f 1000000 ERROR 0.001 EXPANSION 0",
    "BF.RESERVE f 0.01 1000000",
];

pub(crate) fn run(kinds: &[Kind], numbers: &[u64]) {
    let items = numbers.first().copied().unwrap_or(1_000_000);
    for kind in kinds {
        let program = kind.program;
        println!("{program:<66}{:>14}{:>18}", "bytes an item", "taken for present");
        for creation in CREATIONS {
            let server = Server::start(*kind);
            row(&mut server.client(), creation, items);
        }
    }
}

fn row(client: &mut Client, creation: &str, items: u64) {
    if !creation.is_empty() {
        client.good(creation);
    }
    let (insert, ask): (&[&str], _) = if creation.starts_with("BF") {
        (&["BF.INSERT", "f", "ITEMS"], "BF.MEXISTS")
    } else {
        (&["CF.INSERT", "f", "ITEMS"], "CF.MEXISTS")
    };
    let mut inserted = 0;
    in_batches(client, insert, 0..items, |answer| inserted += answer);
    let mut wrong = 0;
    in_batches(client, &[ask, "f"], items..2 * items, |answer| wrong += answer);
    let bytes = client.good("MEMORY USAGE f").integer() as f64 / inserted as f64;
    let rate = wrong as f64 / items as f64 * 100.0;
    let creation = if creation.is_empty() { "(none)" } else { creation };
    println!("{creation:<66}{bytes:>14.2}{rate:>16.3} %");
}

fn in_batches(
    client: &mut Client,
    command: &[&str],
    items: std::ops::Range<u64>,
    mut each: impl FnMut(i64),
) {
    for first in items.clone().step_by(BATCH as usize) {
        let mut parts: Vec<String> = command.iter().map(ToString::to_string).collect();
        parts.extend((first..items.end.min(first + BATCH)).map(|item| item.to_string()));
        client.call(&parts).elements().iter().for_each(|answer| each(answer.integer()));
    }
}
