//! Memory comes back, where it must in steps, and replicas take the same ones.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::pair::{Pair, follow};
use crate::server::{Kind, PATIENCE, Server};
use crate::windows::now;
use crate::zoo::{self, digest};

on_both!(
    a_large_filter_is_compacted_and_its_replica_alike,
    generations_are_compacted_in_steps,
    filters_of_redisbloom_are_compacted_in_steps,
    a_compaction_follows_its_key,
    a_compaction_does_not_go_on_in_another_filter,
    a_compaction_waits_while_writes_are_paused,
    copies_and_moves_leave_their_client_in_its_database,
    no_step_is_taken_while_the_server_loads,
);

fn size(client: &mut Client) -> i64 {
    client.call(&["CF.INFO", "f", "Size"]).integer()
}

fn a_large_filter_is_compacted_and_its_replica_alike(kind: Kind) {
    const ITEMS: u32 = 1_500_000;
    const REMOVED: u32 = ITEMS * 3 / 5;
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    // With another hash now and then an item that is there goes with one that is not.
    client.good("CF.RESERVE f 1000 SEED 00112233445566778899aabbccddeeff");
    for start in (0..ITEMS).step_by(100_000) {
        client.good(&zoo::with_items("CF.MADD f", start..start + 100_000));
    }
    let full = size(&mut client);
    // Of which a command removes few, and some that are not there.
    for start in (0..REMOVED).step_by(5_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 5_000));
        client.good(&zoo::with_items("CF.MDEL f", ITEMS + start..ITEMS + start + 50));
    }
    assert_eq!(size(&mut client), full, "much is left");
    client.good("CF.COMPACT f");
    assert!(size(&mut client) < full * 7 / 10, "{} of {full}", size(&mut client));
    pair.same("CF.COMPACT");
    for start in (REMOVED..ITEMS - 50_000).step_by(5_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 5_000));
    }
    pair.same("removals");
    client.good("CF.COMPACT f");
    pair.same("CF.COMPACT");
    assert!(size(&mut client) < full / 8, "{} of {full}", size(&mut client));
    let there = zoo::present(&mut client, "f", ITEMS - 1_000..ITEMS);
    assert_eq!(there, 1_000);
}

/// Compacts the filter of a primary, writes meanwhile, and compares it with that of a replica which came late.
fn compacted(pair: &Pair, kept: u32) -> [i64; 2] {
    let mut client = pair.primary.client();
    follow(&pair.replica, &pair.primary);
    let before = size(&mut client);
    client.good("CF.COMPACT f");
    for start in (10_000_000..10_010_000).step_by(500) {
        client.good(&zoo::with_items("CF.MADD f", start..start + 500));
        thread::sleep(Duration::from_millis(1));
    }
    pair.same("CF.COMPACT");
    let [primary, replica] = [&pair.primary, &pair.replica].map(calls);
    assert!((3..=primary).contains(&replica), "a timer goes on with it: {primary}, {replica}");
    let there = zoo::present(&mut client, "f", 0..kept) as u32;
    let later = zoo::present(&mut client, "f", 10_000_000..10_010_000);
    assert_eq!((there, later), (kept, 10_000));
    [before, size(&mut client)]
}

fn alone(kind: Kind) -> Pair {
    Pair { primary: Server::start(kind), replica: Server::start(kind) }
}

fn generations_are_compacted_in_steps(kind: Kind) {
    const EACH: u32 = 1_200_000;
    let pair = alone(kind);
    let mut client = pair.primary.client();
    client.good("CF.RESERVE f 1000 WINDOW 4h GENERATIONS 4");
    for generation in 0..3 {
        for start in (0..EACH).step_by(100_000) {
            let first = generation * EACH + start;
            client.good(&zoo::with_items("CF.MADD f", first..first + 100_000));
        }
        let hour = 3_600_000 * u64::from(generation + 1);
        client.good(&format!("CF.ADVANCE f {}", now() + hour));
    }
    for start in (EACH / 2..3 * EACH).step_by(100_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 100_000));
    }
    let [before, after] = compacted(&pair, EACH / 2);
    assert!(after < before / 2, "{before}, {after}");
}

/// Fills a filter as RedisBloom has it, and removes all but the first fifth: that is compacted in many steps.
fn filter_of_redisbloom(client: &mut Client, items: u32) {
    // As a header says that has no chunks.
    let mut header = [0; 38];
    header[8..16].copy_from_slice(&(1_u64 << 17).to_le_bytes());
    header[24] = 1;
    [header[32], header[34], header[36]] = [2, 20, 1];
    client.call(&[b"CF.LOADCHUNK", &b"f"[..], b"1", &header]);
    for start in (0..items).step_by(10_000) {
        client.good(&zoo::with_items("CF.MADD f", start..start + 10_000));
    }
    for start in (items / 5..items).step_by(10_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 10_000));
    }
}

fn filters_of_redisbloom_are_compacted_in_steps(kind: Kind) {
    const ITEMS: u32 = 1_000_000;
    let pair = alone(kind);
    let mut client = pair.primary.client();
    filter_of_redisbloom(&mut client, ITEMS);
    let [before, after] = compacted(&pair, ITEMS / 5);
    assert!(after < before / 2, "{before}, {after}");
    let loaded = client.run("CF.COMPACT f 18446744073709551615 0");
    assert_eq!(loaded.to_string(), "-Invalid position");
    for words in ["0 0", "-1 -1", "3 9223372036854775807"] {
        client.good(&format!("CF.COMPACT f {words}"));
    }
    assert_eq!(zoo::present(&mut client, "f", 0..ITEMS / 5), ITEMS as usize / 5);
}

fn a_compaction_follows_its_key(kind: Kind) {
    const ITEMS: u32 = 600_000;
    let server = Server::start(kind);
    let mut client = server.client();
    filter_of_redisbloom(&mut client, ITEMS);
    let full = size(&mut client);
    for command in ["CF.COMPACT f", "RENAME f other", "MOVE other 1", "SELECT 1", "RENAME other f"]
    {
        client.good(command);
    }
    let until = Instant::now() + PATIENCE;
    while size(&mut client) > full * 7 / 10 {
        assert!(Instant::now() < until, "{} of {full}", size(&mut client));
        thread::sleep(Duration::from_millis(5));
    }
}

/// It has removed items that its own compaction forgets.
fn a_compaction_does_not_go_on_in_another_filter(kind: Kind) {
    let server = Server::start(kind);
    for replace in ["RENAME other f", "SWAPDB 0 1"] {
        let mut client = server.client();
        client.good("FLUSHALL");
        filter_of_redisbloom(&mut client, 600_000);
        client.good(if replace.starts_with('S') { "SELECT 1" } else { "SELECT 0" });
        let key = if replace.starts_with('S') { "f" } else { "other" };
        client.good(&zoo::with_items(&format!("CF.MADD {key}"), 0..10_000));
        client.good(&format!("CF.DEL {key} 1"));
        let before = digest(&mut client, key);
        client.good("SELECT 0");
        client.good("CF.COMPACT f");
        client.good(replace);
        let until = Instant::now() + PATIENCE;
        while client.info_number("coua", "coua_compactions_pending") > 0 {
            assert!(Instant::now() < until);
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(digest(&mut client, "f"), before, "{replace}");
    }
}

/// A server ends if it has to send a command to replicas or to the append-only file meanwhile. Compactions of one key do
/// not add up.
fn a_compaction_waits_while_writes_are_paused(kind: Kind) {
    let server = Server::with(kind, &["--appendonly", "yes"]);
    let mut client = server.client();
    filter_of_redisbloom(&mut client, 1_000_000);
    let full = size(&mut client);
    for _ in 0..3 {
        client.good("CF.COMPACT f");
    }
    client.good("CLIENT PAUSE 300 WRITE");
    assert_eq!(client.info_number("coua", "coua_compactions_pending"), 1);
    let until = Instant::now() + PATIENCE;
    while client.info_number("coua", "coua_compactions_pending") > 0 {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(size(&mut client) < full / 2, "{} of {full}", size(&mut client));
}

/// Valkey 8.1 does otherwise once any module listens to events of keys, which this one does while a compaction waits.
fn copies_and_moves_leave_their_client_in_its_database(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good(&zoo::with_items("CF.MADD f", 0..10_000));
    client.good("CF.DEL f 1");
    client.good("CF.COMPACT f");
    for command in ["SET key value", "COPY key copied DB 1", "COPY f copied-filter DB 1"] {
        client.good(command);
        assert_eq!(client.good("GET key").to_string(), r#""value""#, "{command}");
    }
    client.good("MOVE f 1");
    assert_eq!(client.good("GET key").to_string(), r#""value""#);
}

/// How often CF.COMPACT was run.
fn calls(server: &Server) -> u32 {
    let told = server.client().info("commandstats", "cmdstat_cf.compact").unwrap_or_default();
    let calls = told.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

/// A timer is due all the while, and half of the keys are there: servers run no timers then.
fn no_step_is_taken_while_the_server_loads(kind: Kind) {
    const ITEMS: u32 = 3_000_000;
    let server = Server::with(kind, &["--loading-process-events-interval-bytes", "1024"]);
    let mut client = server.client();
    for start in (0..ITEMS).step_by(100_000) {
        client.good(&zoo::with_items("CF.MADD ballast", start..start + 100_000));
    }
    filter_of_redisbloom(&mut client, ITEMS);
    client.good("CF.COMPACT f");
    let mut other = server.client();
    client.send(&["DEBUG", "RELOAD"]).unwrap();
    let mut steps = Vec::new();
    loop {
        let taken = calls(&server);
        if other.info_number("persistence", "loading") == 1 {
            steps.push(taken);
        } else if !steps.is_empty() {
            break;
        }
    }
    assert!(!client.receive().unwrap().is_error());
    steps.dedup();
    assert_eq!(steps.len(), 1, "{steps:?}");
    server.rests();
    assert_eq!(zoo::present(&mut client, "f", 0..ITEMS / 5) as u32, ITEMS / 5);
}
