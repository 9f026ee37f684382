//! Memory: what a key takes, what is told of it, and how it comes back.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::pair::follow;
use crate::server::{Kind, PATIENCE, Server};
use crate::zoo;

on_both!(
    memory_is_what_it_is,
    memory_is_told_as_the_allocator_has_it,
    small_filters_are_small,
    ten_thousand_filters,
    #[ignore = "takes long"]
    a_hundred_thousand_filters,
    memory_comes_back,
    memory_comes_back_while_items_are_removed,
    large_filters_are_freed_in_the_background,
);

fn memory_is_what_it_is(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::cuckoo(&mut client);
    for key in zoo::CUCKOO {
        let size = client.call(&["CF.INFO", key, "Size"]).integer();
        let usage = client.good(&format!("MEMORY USAGE {key}")).integer();
        // The allocator rounds up; the server adds the key's name and its place among the keys.
        assert!((size..size + size / 4 + 400).contains(&usage), "{key}: {size} and {usage}");
    }
    // And it is memory of the server, which counts it against its limit.
    let before = used(&mut client);
    client.good("CF.RESERVE large 10000000");
    let size = client.call(&["CF.INFO", "large", "Size"]).integer();
    let taken = used(&mut client) - before;
    assert!((size..size + size / 4).contains(&taken), "{size} and {taken}");
    // Once only: many small tables and copies beside them come from the server already.
    let before = used(&mut client);
    client.good("CF.RESERVE many-times 1000");
    for _ in 0..6 {
        zoo::insert(&mut client, "many-times", 0..100_000);
    }
    let size = client.call(&["CF.INFO", "many-times", "Size"]).integer();
    let taken = used(&mut client) - before;
    assert!(size > 3 << 20, "{size}");
    assert!((size - size / 5..size + size / 3).contains(&taken), "{size} and {taken}");
}

pub(crate) fn used(client: &mut Client) -> i64 {
    client.info_number("memory", "used_memory")
}

/// Bytes that each of many keys takes, and those that the server tells of them.
fn taken_and_told(client: &mut Client, count: u32, commands: &[&str]) -> (f64, f64) {
    client.good("FLUSHALL SYNC");
    let before = used(client);
    for key in 0..count {
        for command in commands {
            client.good(&command.replace('@', &format!("key:{key:06}")));
        }
    }
    let taken = used(client) - before;
    let key = |key| format!("MEMORY USAGE key:{key:06}");
    let told: i64 = (0..count).map(|number| client.good(&key(number)).integer()).sum();
    (taken as f64 / f64::from(count), told as f64 / f64::from(count))
}

/// But for what the server has for every key and does not tell of.
fn memory_is_told_as_the_allocator_has_it(kind: Kind) {
    const UNTOLD: f64 = 50.0;
    let server = Server::start(kind);
    let mut client = server.client();
    let items = |command: &str, count| zoo::with_items(command, 0..count);
    for (count, commands) in [
        (2_000, vec!["CF.ADD @ x".to_owned()]),
        (2_000, vec!["CF.RESERVE @ 100".to_owned(), items("CF.MADD @", 70)]),
        (500, vec![items("CF.MADD @", 500)]),
        (600, vec![items("CF.MADD @", 5_000)]),
        (2_000, vec!["CF.RESERVE @ 100 EXPANSION 0".to_owned()]),
        (500, vec!["CF.RESERVE @ 100 WINDOW 7d".to_owned(), "CF.ADD @ x".to_owned()]),
        (100, vec!["CF.RESERVE @ 100 WINDOW 7d".to_owned(), items("CF.MADD @", 5_000)]),
    ] {
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        let (taken, told) = taken_and_told(&mut client, count, &commands);
        let error = (taken - told).abs();
        assert!(error < UNTOLD + taken / 20.0, "{}: {taken}, {told}", &commands[0][..12]);
    }
}

/// A server may have a hundred thousand of them.
fn small_filters_are_small(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for (command, most) in [("CF.RESERVE @ 100", 400.0), ("CF.ADD @ x", 1_200.0)] {
        let (taken, _) = taken_and_told(&mut client, 10_000, &[command]);
        assert!(taken <= most, "{command}: {taken} bytes");
    }
}

fn ten_thousand_filters(kind: Kind) {
    many_filters(kind, 10_000);
}

fn a_hundred_thousand_filters(kind: Kind) {
    many_filters(kind, 100_000);
}

/// Saved, loaded, and sent to a replica.
fn many_filters(kind: Kind, count: u32) {
    let server = Server::start(kind);
    let mut client = server.client();
    for first in (0..count).step_by(1_000) {
        let command = |number: u32| match number % 3 {
            0 => format!("CF.RESERVE key:{number} 100"),
            1 => format!("CF.ADD key:{number} x"),
            _ => format!("CF.RESERVE key:{number} 100 WINDOW 7d"),
        };
        let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let commands: Vec<_> =
            (first..first + 1_000).map(|number| words(command(number))).collect();
        assert!(client.pipeline(&commands).iter().all(|reply| !reply.is_error()));
    }
    assert_eq!(client.good("DBSIZE").integer(), i64::from(count));
    let before = client.good("DEBUG DIGEST");
    client.good("DEBUG RELOAD");
    assert_eq!(client.good("DEBUG DIGEST"), before);
    let replica = Server::start(kind);
    follow(&replica, &server);
    assert_eq!(replica.client().good("DEBUG DIGEST"), before);
    assert_eq!(client.good(&format!("CF.EXISTS key:{} x", count / 3 * 3 - 2)).integer(), 1);
}

fn memory_comes_back(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE f 1000");
    zoo::insert(&mut client, "f", 0..200_000);
    let full = client.call(&["CF.INFO", "f", "Size"]).integer();
    client.good(&zoo::with_items("CF.MDEL f", 1_000..200_000));
    client.good("CF.COMPACT f");
    let size = client.call(&["CF.INFO", "f", "Size"]).integer();
    assert!(size * 20 < full, "{full} and {size}");
    assert_eq!(zoo::present(&mut client, "f", 0..1_000), 1_000);
    let before = used(&mut client);
    client.good("CF.RESERVE large 10000000");
    client.good("DEL large");
    // The server may free it in the background.
    let until = Instant::now() + PATIENCE;
    while used(&mut client) - before > 1 << 20 {
        assert!(Instant::now() < until, "the memory of a deleted filter does not come back");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Without a word of anybody, and on a replica alike; but not what a filter was made with.
fn memory_comes_back_while_items_are_removed(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE grown 1024");
    client.good("CF.RESERVE copies 50000");
    client.good("CF.RESERVE reserved 50000");
    for _ in 0..4 {
        zoo::insert(&mut client, "copies", 0..50_000);
    }
    zoo::insert(&mut client, "grown", 0..200_000);
    zoo::insert(&mut client, "reserved", 0..100);
    let sizes = ["grown", "copies", "reserved"];
    let sizes =
        |client: &mut Client| sizes.map(|it| client.call(&["CF.INFO", it, "Size"]).integer());
    let before = sizes(&mut client);
    for start in (1_000..200_000).step_by(1_000) {
        client.good(&zoo::with_items("CF.MDEL grown", start..start + 1_000));
        for _ in 0..4 {
            client.good(&zoo::with_items("CF.MDEL copies", start - 1_000..start));
        }
    }
    client.good(&zoo::with_items("CF.MDEL reserved", 10..100));
    let after = sizes(&mut client);
    assert!(after[0] * 20 < before[0] && after[1] * 20 < before[1], "{before:?} {after:?}");
    assert_eq!(after[2], before[2]);
    assert_eq!(zoo::present(&mut client, "grown", 0..1_000), 1_000);
}

fn large_filters_are_freed_in_the_background(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE one 10000000");
    client.good("CF.RESERVE two 10000000");
    client.good("CF.RESERVE small 100");
    client.good("UNLINK one two small");
    let until = Instant::now() + PATIENCE;
    let freed = |client: &mut Client| client.info_number("memory", "lazyfreed_objects");
    while freed(&mut client) != 2 {
        assert!(Instant::now() < until, "{} were freed in the background", freed(&mut client));
        thread::sleep(Duration::from_millis(5));
    }
}
