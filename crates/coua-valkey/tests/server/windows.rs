//! Filters that forget: by time, by items, on replicas, after failovers, and when clocks jump.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::Client;
use crate::keeping::rewrite;
use crate::pair::{Pair, caught_up, follow};
use crate::script;
use crate::server::{Kind, Server};
use crate::zoo::{self, digest, present, with_items};
use coua_dev::random::Random;

on_both!(
    words_and_answers,
    what_the_window_has_left_is_forgotten,
    a_clock_is_at_most_a_window_ahead,
    time_passes_without_commands,
    items_are_the_clock,
    memory_comes_back,
    unions,
    dumps_and_chunks,
    a_limit_of_memory,
    replicas_take_the_primarys_time,
    a_replica_that_takes_over_goes_on,
    logs_of_commands_lead_to_the_same,
    a_clock_that_goes_back_changes_nothing,
    large_generations_are_given_back,
);

const HOUR: u64 = 3_600_000;

/// What the system's clock says, in milliseconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Tells a filter that so many hours have passed.
#[track_caller]
fn hours_later(client: &mut Client, key: &str, hours: u64) {
    client.good(&format!("CF.ADVANCE {key} {}", now() + hours * HOUR));
}

fn words_and_answers(kind: Kind) {
    script::check(
        kind,
        "
        CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4 -> +OK
        CF.RESERVE w 1000 WINDOW 4h -> -ERR item exists
        CF.ADD w a -> :1 | #t
        CF.ADDNX w a -> :0 | #f
        CF.ADDNX w b -> :1 | #t
        CF.MEXISTS w a b c -> [:1 :1 :0] | [#t #t #f]
        CF.ADD w a -> :1 | #t
        CF.COUNT w a -> :2
        CF.DEL w a -> :1 | #t
        CF.COUNT w a -> :1
        CF.INFO w window_milliseconds -> -ERR unknown argument 'window_milliseconds'
        CF.ADVANCE w 1000 -> :0 | #f
        CF.ADVANCE w x -> -ERR Couldn't parse milliseconds
        CF.ADVANCE w 1795000000000000 -> -ERR the time must be in milliseconds since 1970*
        CF.ADVANCE w 9999999999999 -> -ERR *, and at most a window ahead
        CF.EXISTS w b -> :1 | #t
        CF.ADVANCE missing 1000 -> -ERR not found
        CF.RESERVE i 1000 WINDOWITEMS 100 -> +OK
        CF.ADVANCE i 1000 -> -ERR the filter has no WINDOW
        CF.RESERVE plain 1000 -> +OK
        CF.ADVANCE plain 1000 -> -ERR the filter has no WINDOW
        CF.MERGE plain w -> -ERR cannot merge filters with different windows
        CF.RESERVE x 1000 WINDOW 7 -> -ERR WINDOW must be a number and a unit (ms, s, m, h, d or w), such as 7d
        CF.RESERVE x 1000 WINDOW 7d WINDOWITEMS 3 -> -ERR WINDOW and WINDOWITEMS exclude*
        CF.RESERVE x 1000 WINDOW 7d EXPANSION 0 -> -ERR WINDOW and EXPANSION 0 exclude*
        CF.RESERVE x 1000 GENERATIONS 3 -> -ERR GENERATIONS needs WINDOW or WINDOWITEMS
        CF.RESERVE x 1000 WINDOW 7d GENERATIONS x -> -ERR Couldn't parse GENERATIONS
        CF.RESERVE x 1000 WINDOW 7d GENERATIONS 0 -> -ERR GENERATIONS: value must be in the range [1, 1000]
        CF.RESERVE x 1000 WINDOW 3ms GENERATIONS 4 -> -ERR a window of length 3 cannot be *
        ",
    );
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    client.good("CF.ADD w a");
    let of = |client: &mut Client, field| client.call(&["CF.INFO", "w", field]).integer() as u64;
    assert_eq!(of(&mut client, "Window milliseconds"), 4 * HOUR);
    assert_eq!(of(&mut client, "Generations"), 4);
    assert_eq!(of(&mut client, "Clock"), now() / HOUR * HOUR);
}

fn what_the_window_has_left_is_forgotten(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    let counts = |client: &mut Client, item: &str| {
        let there = client.good(&format!("CF.EXISTS w {item}")).integer();
        let count = client.good(&format!("CF.COUNT w {item}")).integer();
        assert_eq!(there, i64::from(count > 0));
        count
    };
    client.good("CF.MADD w old both both");
    hours_later(&mut client, "w", 3);
    client.good("CF.MADD w new both");
    assert_eq!(["old", "new", "both"].map(|item| counts(&mut client, item)), [1, 1, 3]);
    assert_eq!(client.good("CF.ADDNX w old").integer(), 0, "a repeat does not make it younger");
    hours_later(&mut client, "w", 4);
    assert_eq!(counts(&mut client, "old"), 1, "it is remembered for the window at least");
    hours_later(&mut client, "w", 5);
    assert_eq!(["old", "new", "both"].map(|item| counts(&mut client, item)), [0, 1, 1]);
    assert_eq!(client.good("CF.ADDNX w old").integer(), 1);
}

/// A clock that is far ahead would forget nothing until then.
fn a_clock_is_at_most_a_window_ahead(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    client.good("CF.ADD w a");
    for hours in [6, 24, 100_000] {
        let reply = client.run(&format!("CF.ADVANCE w {}", now() + hours * HOUR)).to_string();
        assert!(reply.starts_with("-ERR the time must be"), "{hours}: {reply}");
    }
    assert_eq!(client.good("CF.EXISTS w a").integer(), 1);
    hours_later(&mut client, "w", 5);
    assert_eq!(client.good("CF.EXISTS w a").integer(), 0);
}

/// Questions pass over what the window has left, though no command has changed the filter.
fn time_passes_without_commands(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 400ms GENERATIONS 4");
    client.good("CF.ADD w a");
    let added = Instant::now();
    while client.good("CF.EXISTS w a").integer() == 1 {
        thread::sleep(Duration::from_millis(10));
        assert!(added.elapsed() < Duration::from_secs(30), "it is never forgotten");
    }
    assert!(added.elapsed() >= Duration::from_millis(400) - Duration::from_millis(50));
    assert_eq!(client.good("CF.COUNT w a").integer(), 0);
    assert_eq!(client.call(&["CF.INFO", "w", "Number of items inserted"]).integer(), 0);
    assert_eq!(client.good("CF.ADDNX w a").integer(), 1);
}

fn items_are_the_clock(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOWITEMS 1000 GENERATIONS 4 HASHBITS 64");
    zoo::insert(&mut client, "w", 0..5_000);
    assert_eq!(present(&mut client, "w", 4_000..5_000), 1_000, "the last items are there");
    let older = present(&mut client, "w", 0..3_750);
    assert_eq!(older, 0, "those of more than a generation before are not");
}

fn memory_comes_back(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    let usage = |client: &mut Client| client.good("MEMORY USAGE w").integer();
    let empty = usage(&mut client);
    zoo::insert(&mut client, "w", 0..200_000);
    let full = usage(&mut client);
    assert!(full > 500_000, "{full}");
    hours_later(&mut client, "w", 5);
    let after = usage(&mut client);
    assert!(after <= empty + 1_000, "{empty} then {after}");
}

fn unions(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let seed = "SEED 000102030405060708090a0b0c0d0e0f";
    for key in ["one", "two"] {
        client.good(&format!("CF.RESERVE {key} 1000 WINDOW 4h GENERATIONS 4 {seed}"));
    }
    client.good(&format!("CF.RESERVE longer 1000 WINDOW 5h GENERATIONS 5 {seed}"));
    for key in ["items", "items2"] {
        client.good(&format!("CF.RESERVE {key} 1000 WINDOWITEMS 100 {seed}"));
        client.good(&format!("CF.ADD {key} a"));
    }
    client.good("CF.ADD one a");
    client.good("CF.ADD two b");
    hours_later(&mut client, "two", 3);
    client.good("CF.ADD two c");
    client.good("CF.MERGE one two");
    assert_eq!(client.good("CF.MEXISTS one a b c").to_string(), "[:1 :1 :1]");
    hours_later(&mut client, "one", 5);
    assert_eq!(client.good("CF.MEXISTS one a b c").to_string(), "[:0 :0 :1]");
    client.good("CF.MERGE copy one");
    assert_eq!(digest(&mut client, "copy"), digest(&mut client, "one"));
    for (one, other) in [("one", "longer"), ("items", "items2")] {
        let before = digest(&mut client, one);
        let refused = client.run(&format!("CF.MERGE {one} {other}"));
        assert!(refused.is_error(), "{refused}");
        assert_eq!(digest(&mut client, one), before);
    }
}

/// A filter of several generations and many chunks.
fn dumps_and_chunks(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4 HASHBITS 64");
    zoo::insert(&mut client, "w", 0..150_000);
    hours_later(&mut client, "w", 1);
    zoo::insert(&mut client, "w", 150_000..300_000);
    let (mut at, mut chunks) = ("0".to_owned(), 0);
    loop {
        let answer = client.call(&["CF.SCANDUMP", "w", &at]);
        let [next, chunk] = answer.elements() else { panic!("{answer}") };
        if next.integer() == 0 {
            break;
        }
        at = next.integer().to_string();
        let loaded = client.call(&[b"CF.LOADCHUNK", &b"copy"[..], at.as_bytes(), chunk.bytes()]);
        assert_eq!(loaded.to_string(), "+OK");
        chunks += 1;
    }
    assert!(chunks > 2, "{chunks}");
    assert_eq!(digest(&mut client, "copy"), digest(&mut client, "w"));
    assert_eq!(present(&mut client, "copy", 0..300_000), 300_000);
    client.good("DEBUG RELOAD");
    assert_eq!(digest(&mut client, "copy"), digest(&mut client, "w"));
    hours_later(&mut client, "copy", 5);
    assert_eq!(present(&mut client, "copy", 150_000..300_000), 150_000);
    assert_eq!(present(&mut client, "copy", 0..150_000), 0);
}

fn a_limit_of_memory(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CONFIG SET coua.key-memory-limit 200kb");
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    let mut taken = 0;
    let refused = (0..100).map(|block| block * 1_000).find_map(|first| {
        let reply = client.good(&with_items("CF.INSERT w ITEMS", first..first + 1_000));
        taken =
            reply.elements().iter().filter(|item| item.to_string() == ":1").count() as u32 + first;
        reply.elements().iter().find(|item| item.is_error()).map(ToString::to_string)
    });
    assert!(refused.is_some_and(|text| text.contains("coua.key-memory-limit")), "{taken}");
    // What the allocator rounds up is beside the limit.
    assert!(client.good("MEMORY USAGE w").integer() < 240_000);
    hours_later(&mut client, "w", 5);
    zoo::insert(&mut client, "w", 0..10_000);
    // Also if each item has a generation of its own; and what was taken is restored.
    client.good("CONFIG SET coua.key-memory-limit 20000");
    client.good("CF.RESERVE each 1000 WINDOWITEMS 1000 GENERATIONS 1000");
    let reply = client.good(&with_items("CF.MADD each", 0..3_000)).to_string();
    assert!(reply.contains("coua.key-memory-limit (20000 bytes)"), "{reply}");
    let size = client.good("CF.INFO each Size").integer();
    assert!((10_000..=20_000).contains(&size), "{size}");
    let dump = client.good("DUMP each");
    client.call(&[b"RESTORE".as_slice(), b"again", b"0", dump.bytes()]);
    assert_eq!(digest(&mut client, "again"), digest(&mut client, "each"));
}

/// Commands of all kinds on filters with windows of a few milliseconds.
fn shake(client: &mut Client, rounds: u32) {
    for key in ["a", "b", "c"] {
        client.good(&format!(
            "CF.RESERVE {key} 1000 WINDOW 40ms GENERATIONS 4 SEED 000102030405060708090a0b0c0d0e0f"
        ));
    }
    client.good("CF.RESERVE items 1000 WINDOWITEMS 3000 GENERATIONS 3");
    let mut random = Random::new(1);
    let mut next = |below: u64| random.below(below) as u32;
    for _ in 0..rounds {
        let key = ["a", "b", "c", "items"][next(4) as usize];
        let first = next(5_000);
        let items = first..first + 1 + next(100);
        let command = match next(10) {
            0..=2 => with_items(&format!("CF.INSERTNX {key} NOCREATE ITEMS"), items),
            3..=4 => with_items(&format!("CF.INSERT {key} NOCREATE ITEMS"), items),
            5 => format!("CF.ADDNX {key} {first}"),
            6 => with_items(&format!("CF.MDEL {key}"), items),
            7 => "CF.MERGE a b".to_owned(),
            8 => format!("CF.COMPACT {key}"),
            _ => format!("CF.EXISTS {key} {first}"),
        };
        client.good(&command);
        thread::sleep(Duration::from_millis(u64::from(next(4))));
    }
    client.good("MULTI");
    client.good("CF.ADD a x");
    client.good("CF.ADD b x");
    client.good("EXEC");
    client.call(&["EVAL", "return redis.call('CF.INSERTNX', 'c', 'ITEMS', 'x', 'y')", "1", "c"]);
}

fn replicas_take_the_primarys_time(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    shake(&mut client, 300);
    pair.same("commands while time passes");
    // What nobody has told the filter is forgotten on neither, and neither shows it.
    thread::sleep(Duration::from_millis(60));
    pair.same("a while without commands");
    for server in [&pair.primary, &pair.replica] {
        assert_eq!(server.client().good("CF.EXISTS a x").integer(), 0);
    }
    client.good("CF.ADD a later");
    pair.same("the next command");
}

fn a_replica_that_takes_over_goes_on(kind: Kind) {
    let Pair { primary, replica } = Pair::start(kind, &[]);
    let mut client = primary.client();
    shake(&mut client, 100);
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    client.good("CF.ADD w old");
    // The old primary's clock was ahead.
    hours_later(&mut client, "w", 2);
    client.good("CF.ADD w ahead");
    caught_up(&primary, &replica);
    replica.client().good("REPLICAOF NO ONE");
    let mut client = replica.client();
    client.good("CF.ADD w after");
    client.good("CF.ADD a after");
    assert_eq!(client.good("CF.MEXISTS w old ahead after").to_string(), "[:1 :1 :1]");
    assert_eq!(client.call(&["CF.INFO", "w", "Clock"]).integer() as u64, (now() / HOUR + 2) * HOUR);
    follow(&primary, &replica);
    let pair = Pair { primary: replica, replica: primary };
    pair.same("the roles changed");
    hours_later(&mut pair.primary.client(), "w", 5);
    pair.same("time passed");
}

fn logs_of_commands_lead_to_the_same(kind: Kind) {
    for preamble in ["yes", "no"] {
        let options =
            ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble];
        let mut server = Server::with(kind, &options);
        shake(&mut server.client(), 100);
        let before = server.client().good("DEBUG DIGEST");
        server.restart();
        let mut client = server.client();
        assert_eq!(client.good("DEBUG DIGEST"), before);
        rewrite(&mut client);
        client.good("CF.ADD a more");
        let before = client.good("DEBUG DIGEST");
        server.restart();
        assert_eq!(server.client().good("DEBUG DIGEST"), before);
    }
}

fn a_clock_that_goes_back_changes_nothing(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 4");
    client.good("CF.ADD w a");
    hours_later(&mut client, "w", 5);
    assert_eq!(client.good("CF.EXISTS w a").integer(), 0);
    // From here on this server's clock lies behind that of the filter.
    client.good("CF.ADD w b");
    let before = digest(&mut client, "w");
    hours_later(&mut client, "w", 0);
    assert_eq!(digest(&mut client, "w"), before);
    assert_eq!(client.good("CF.MEXISTS w a b").to_string(), "[:0 :1]");
    client.good("CF.DEL w b");
    assert_eq!(client.good("CF.MEXISTS w a b").to_string(), "[:0 :0]");
}

/// Tables that are mapped go in a thread of their own; what is charged for them goes at once.
fn large_generations_are_given_back(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE w 1000 WINDOW 4h GENERATIONS 1 HASHBITS 64");
    zoo::insert(&mut client, "w", 0..1_500_000);
    let mapped = client.info_number("coua", "coua_mapped_bytes");
    assert!(mapped > 1_000_000, "{mapped}");
    hours_later(&mut client, "w", 8);
    assert_eq!(client.info_number("coua", "coua_mapped_bytes"), 0);
    client.good("CF.ADD w a");
    assert_eq!(client.good("CF.MEXISTS w a 1").to_string(), "[:1 :0]");
}
