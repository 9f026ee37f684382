//! CF.NOTE: small values that a filter keeps for programs. That they outlive dumps, copies, dump files, append-only
//! files and replication is what the tests of these see: filters of the `zoo` have notes.

use crate::chunks::{load, scan};
use crate::client::{Client, Protocol};
use crate::golden;
use crate::pair::Pair;
use crate::server::{Kind, Server};
use crate::zoo::digest;

on_both!(
    a_note_is_set_and_shown,
    the_first_of_two_wins,
    what_is_no_note_is_refused,
    notes_stay_small,
    notes_take_memory,
    any_bytes,
    a_note_is_a_change,
    notes_of_merged_filters,
    who_may_write_them,
    replicas_have_them,
);

fn shown(client: &mut Client, key: &str) -> String {
    client.run(&format!("CF.INFO {key} NOTES")).to_string()
}

fn a_note_is_set_and_shown(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    let usage = client.good("MEMORY USAGE f").integer();
    let plain = client.good("CF.INFO f").to_string();
    assert_eq!(shown(&mut client, "f"), "-ERR unknown argument 'NOTES'");
    for (command, notes) in [
        ("CF.NOTE f b 1", r#"["b" "1"]"#),
        ("CF.NOTE f a 2", r#"["b" "1" "a" "2"]"#),
        ("cf.note f b 3", r#"["a" "2" "b" "3"]"#),
        ("CF.NOTE f a \"\"", r#"["b" "3"]"#),
        ("CF.NOTE f never \"\"", r#"["b" "3"]"#),
    ] {
        assert_eq!(client.run(command).to_string(), "+OK", "{command}");
        assert_eq!(shown(&mut client, "f"), notes, "{command}");
    }
    // Clients fail on fields that they do not know.
    assert_eq!(client.good("CF.INFO f").elements().len(), 16);
    let full = client.good("CF.INFO f FULL").to_string();
    assert!(full.ends_with(r#"+Notes ["b" "3"]]"#), "{full}");
    let mut newer = server.connect(Protocol::Resp3);
    let full = newer.good("CF.INFO f FULL").to_string();
    assert!(full.contains(r#"+Notes ["b" "3"]}"#), "{full}");
    client.good("CF.NOTE f b \"\"");
    assert_eq!(client.good("CF.INFO f").to_string(), plain);
    assert_eq!(client.good("MEMORY USAGE f").integer(), usage);
}

fn the_first_of_two_wins(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    assert_eq!(client.run("CF.NOTE f a 1 NX").to_string(), "+OK");
    assert_eq!(client.run("CF.NOTE f a 2 nx").to_string(), "$-1");
    assert_eq!(shown(&mut client, "f"), r#"["a" "1"]"#);
    client.good("CF.NOTE f a \"\"");
    assert_eq!(client.run("CF.NOTE f a 2 NX").to_string(), "+OK");
    assert_eq!(shown(&mut client, "f"), r#"["a" "2"]"#);
}

fn what_is_no_note_is_refused(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.RESERVE f 10000");
    client.good("SET text a");
    golden::load(&mut client, "peer", &golden::filters()[0]);
    let mut half = scan(&mut client, "f").remove(0);
    half.1.truncate(1_000);
    "1001".clone_into(&mut half.0);
    load(&mut client, "half", &half);
    for (command, reply) in [
        ("CF.NOTE f", "-ERR wrong number of arguments for 'cf.note' command"),
        ("CF.NOTE f a", "-ERR wrong number of arguments for 'cf.note' command"),
        ("CF.NOTE f a 1 NX NX", "-ERR wrong number of arguments for 'cf.note' command"),
        ("CF.NOTE f a 1 N", "-ERR unknown argument 'N'"),
        ("CF.NOTE f \"\" 1", "-ERR a note needs a name"),
        ("CF.NOTE none a 1", "-ERR not found"),
        ("CF.NOTE text a 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("CF.NOTE peer a 1", "-ERR filters imported from RedisBloom do not support this command"),
        ("CF.NOTE half a 1", "-ERR the filter is incomplete; load its remaining chunks"),
    ] {
        assert_eq!(client.run(command).to_string(), reply, "{command}");
    }
    assert_eq!(client.good("EXISTS none").integer(), 0);
    assert_eq!(shown(&mut client, "f"), "-ERR unknown argument 'NOTES'");
}

fn notes_stay_small(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    let full = "x".repeat(4096 - 5);
    client.good(&format!("CF.NOTE f a {full}"));
    let refusal = "-ERR the notes of a filter would exceed 4096 bytes";
    assert_eq!(client.run("CF.NOTE f b 1").to_string(), refusal);
    assert_eq!(client.run(&format!("CF.NOTE f a x{full}")).to_string(), refusal);
    // Lengths of two bytes, and what a server takes at most in one piece here.
    assert_eq!(client.run(&format!("CF.NOTE f a {}", "x".repeat(70_000))).to_string(), refusal);
    assert_eq!(client.run(&format!("CF.NOTE f {} x", "x".repeat(70_000))).to_string(), refusal);
    assert_eq!(shown(&mut client, "f"), format!(r#"["a" "{full}"]"#));
    client.good("CF.NOTE f a 1");
    for number in 0..583 {
        client.good(&format!("CF.NOTE f {number:02} {}", number % 9));
        client.good(&format!("CF.NOTE f {number:02} \"\""));
    }
    for number in 0..10_000 {
        if client.run(&format!("CF.NOTE f n{number} 1")).is_error() {
            assert!((300..600).contains(&number), "{number}");
            return;
        }
    }
    panic!("there is no limit of their number");
}

fn notes_take_memory(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    let before = client.good("MEMORY USAGE f").integer();
    let bytes = client.good("INFO coua").to_string();
    client.good(&format!("CF.NOTE f a {}", "x".repeat(2_000)));
    let grown = client.good("MEMORY USAGE f").integer() - before;
    assert!((2_000..2_400).contains(&grown), "{grown}");
    assert_ne!(client.good("INFO coua").to_string(), bytes);
    // They are beside the limit of a key.
    client.good("CONFIG SET coua.key-memory-limit 1000");
    client.good(&format!("CF.NOTE f b {}", "x".repeat(1_500)));
    client.good("CF.ADD f b");
    assert!(client.good("CF.INFO f Size").integer() < 1_000);
    let dump = client.good("DUMP f");
    client.call(&[b"RESTORE".as_slice(), b"g", b"0", dump.bytes()]);
    assert_eq!(digest(&mut client, "g"), digest(&mut client, "f"));
    client.good("CONFIG SET coua.key-memory-limit 0");
    client.good("CONFIG SET maxmemory 1");
    assert!(client.run("CF.NOTE f a 2").to_string().starts_with("-OOM"));
}

/// Names and values are bytes: what clients of the server send, and get back.
fn any_bytes(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    let all: Vec<u8> = (0..=255).collect();
    client.call(&[b"CF.NOTE".as_slice(), b"f", &all, b"\r\n+OK\r\n"]);
    let notes = client.good("CF.INFO f NOTES");
    let found: Vec<_> = notes.elements().iter().map(|part| part.bytes().to_vec()).collect();
    assert_eq!(found, [all, b"\r\n+OK\r\n".to_vec()]);
    let before = digest(&mut client, "f");
    client.good("DEBUG RELOAD");
    assert_eq!(digest(&mut client, "f"), before);
}

/// Dumps begin again, clients that watch learn of it, and so do those that listen; where nothing changes, none does.
fn a_note_is_a_change(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CONFIG SET notify-keyspace-events Kd");
    let mut listener = server.client();
    listener.good("SUBSCRIBE __keyspace@0__:f");
    for words in ["1000 EXPANSION 0", "100000", "1000 WINDOW 7d"] {
        client.good(&format!("CF.RESERVE f {words}"));
        listener.receive().unwrap();
        let position = client.good("CF.SCANDUMP f 0").elements()[0].integer();
        client.good("CF.NOTE f a 1");
        assert!(listener.receive().unwrap().to_string().contains("cuckoo.note"));
        let next = client.run(&format!("CF.SCANDUMP f {position}")).to_string();
        assert_eq!(next, "-ERR the filter changed during the dump; start again at 0", "{words}");
        let position = client.good("CF.SCANDUMP f 0").elements()[0].integer();
        let mut watcher = server.client();
        watcher.good("WATCH f");
        client.good("CF.NOTE f a 1");
        client.good("CF.NOTE f a 2 NX");
        assert_eq!(client.run(&format!("CF.SCANDUMP f {position}")).to_string(), "[:0 $-1]");
        watcher.good("MULTI");
        watcher.good("PING");
        assert_eq!(watcher.run("EXEC").to_string(), "[+PONG]");
        client.good("DEL f");
    }
}

/// The destination keeps its own; one that is missing becomes a copy.
fn notes_of_merged_filters(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let seed = "SEED 000102030405060708090a0b0c0d0e0f";
    for key in ["a", "b"] {
        client.good(&format!("CF.RESERVE {key} 1000 {seed}"));
        client.good(&format!("CF.NOTE {key} name {key}"));
    }
    client.good("CF.MERGE a b");
    assert_eq!(shown(&mut client, "a"), r#"["name" "a"]"#);
    client.good("CF.MERGE c b a");
    assert_eq!(shown(&mut client, "c"), r#"["name" "b"]"#);
    client.good("CF.NOTE c name c");
    assert_eq!(shown(&mut client, "b"), r#"["name" "b"]"#);
}

fn who_may_write_them(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("CF.ADD f a");
    for (rights, may) in [("+cf.note", true), ("+@read +@fast", false), ("+@all ~other", false)] {
        let keys = if rights.contains('~') { "" } else { "~*" };
        client.good(&format!("ACL SETUSER me reset on >secret {keys} {rights}"));
        let mut mine = server.client();
        mine.good("AUTH me secret");
        assert_eq!(!mine.run("CF.NOTE f a 1").is_error(), may, "{rights}");
    }
    if !client.run("ACL CAT cuckoo").is_error() {
        client.good("ACL SETUSER me reset on >secret ~* +@cuckoo");
        let mut mine = server.client();
        mine.good("AUTH me secret");
        mine.good("CF.NOTE f a 2");
    }
}

fn replicas_have_them(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    pair.replica.client().good("CONFIG SET coua.key-memory-limit 100");
    let mut client = pair.primary.client();
    client.good("CF.ADD f a");
    client.good("CF.NOTE f a 1 NX");
    pair.same("a note");
    let value = "x".repeat(1_000);
    client.good(&format!("CF.NOTE f a {value}"));
    pair.same("a note beyond the limit of the replica");
    let mut replica = pair.replica.client();
    assert_eq!(shown(&mut replica, "f"), format!(r#"["a" "{value}"]"#));
    assert!(replica.run("CF.NOTE f a 1").to_string().starts_with("-READONLY"));
}
