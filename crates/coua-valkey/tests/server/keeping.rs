//! Filters outlive the server: dumps, copies, dump files, append-only files.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::server::{Kind, PATIENCE, Server};
use crate::zoo::{self, digest, present};

on_both!(
    a_digest_tells_filters_apart,
    dump_and_restore,
    copies_are_their_own,
    dump_file,
    append_only_file,
    rewritten_append_only_file,
    rewritten_append_only_file_of_commands,
    what_a_server_does_with_any_key,
);

/// Most of these tests compare digests: one that were the same for all would hide everything.
fn a_digest_tells_filters_apart(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    let mut digests: Vec<_> = zoo::keys().iter().map(|key| digest(&mut client, key)).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), zoo::keys().len());
    for change in ["CF.ADD few d", "CF.DEL few d", "CF.ADD few a"] {
        let before = digest(&mut client, "few");
        client.good(change);
        assert_ne!(digest(&mut client, "few"), before, "{change}");
    }
}

fn dump_and_restore(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    for key in zoo::keys() {
        let dump = client.good(&format!("DUMP {key}"));
        let restored = client.call(&[b"RESTORE", b"restored".as_slice(), b"0", dump.bytes()]);
        assert_eq!(restored.to_string(), "+OK", "{key}");
        assert_eq!(digest(&mut client, "restored"), digest(&mut client, key), "{key}");
        assert_eq!(client.good("DUMP restored"), dump, "{key}");
        assert_eq!(counts(&mut client, "restored"), counts(&mut client, key), "{key}");
        client.good("DEL restored");
    }
}

/// What CF.INFO tells, but for memory: room for growth may be kept or not.
fn counts(client: &mut Client, key: &str) -> Vec<String> {
    let info = client.good(&format!("CF.INFO {key}"));
    let pairs = info.elements().chunks(2).map(|pair| format!("{} {}", pair[0], pair[1]));
    pairs.filter(|pair| !pair.starts_with("+Size") && !pair.starts_with("+Bytes")).collect()
}

fn copies_are_their_own(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    for key in zoo::keys() {
        assert_eq!(client.good(&format!("COPY {key} copy")).integer(), 1);
        let before = digest(&mut client, key);
        assert_eq!(digest(&mut client, "copy"), before, "{key}");
        client.run("CF.MDEL copy a 1 18001 3000");
        client.run("CF.ADD copy another");
        assert_ne!(digest(&mut client, "copy"), before, "{key}");
        assert_eq!(digest(&mut client, key), before, "{key}");
        client.good("DEL copy");
    }
}

fn dump_file(kind: Kind) {
    let mut server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    let before = client.good("DEBUG DIGEST");
    client.good("DEBUG RELOAD");
    assert_eq!(client.good("DEBUG DIGEST"), before);
    client.good("SAVE");
    client.good("FLUSHALL");
    server.restart();
    let mut client = server.client();
    assert_eq!(client.good("DEBUG DIGEST"), before);
    assert_eq!(present(&mut client, "grown", 0..20_000), 20_000);
    // And it goes on as before.
    zoo::insert(&mut client, "grown", 20_000..40_000);
    assert_eq!(present(&mut client, "grown", 0..40_000), 40_000);
}

/// With its log of commands alone the server makes the same filters again.
fn append_only_file(kind: Kind) {
    let mut server = Server::with(kind, &["--appendonly", "yes", "--appendfsync", "always"]);
    let mut client = server.client();
    zoo::fill(&mut client);
    let before = client.good("DEBUG DIGEST");
    server.restart();
    assert_eq!(server.client().good("DEBUG DIGEST"), before);
}

fn rewritten_append_only_file(kind: Kind) {
    rewritten(kind, "yes");
}

/// Without a preamble every value is written as commands.
fn rewritten_append_only_file_of_commands(kind: Kind) {
    rewritten(kind, "no");
}

fn rewritten(kind: Kind, preamble: &str) {
    let options =
        ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble];
    let mut server = Server::with(kind, &options);
    let mut client = server.client();
    zoo::fill(&mut client);
    rewrite(&mut client);
    let before = client.good("DEBUG DIGEST");
    server.restart();
    let mut client = server.client();
    assert_eq!(client.good("DEBUG DIGEST"), before);
    // What comes after the rewriting is added to it.
    for key in zoo::keys() {
        client.run(&format!("CF.ADD {key} later"));
        client.run(&format!("CF.DEL {key} 18500"));
    }
    let before = client.good("DEBUG DIGEST");
    server.restart();
    assert_eq!(server.client().good("DEBUG DIGEST"), before);
}

/// Has the append-only file rewritten, and waits until that has been done well.
#[track_caller]
pub(crate) fn rewrite(client: &mut Client) {
    client.good("BGREWRITEAOF");
    rewritten_at_last(client);
}

/// Waits until no rewriting is under way.
#[track_caller]
pub(crate) fn rewritten_at_last(client: &mut Client) {
    let until = Instant::now() + PATIENCE;
    loop {
        let info = String::from_utf8(client.good("INFO persistence").bytes().to_vec()).unwrap();
        if info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0") {
            assert!(info.contains("aof_last_bgrewrite_status:ok"), "{info}");
            return;
        }
        assert!(Instant::now() < until, "{info}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn what_a_server_does_with_any_key(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    zoo::fill(&mut client);
    let before = digest(&mut client, "grown");
    client.good("RENAME grown other");
    client.good("EXPIRE other 1000");
    client.good("PERSIST other");
    client.good("MOVE few 1");
    client.good("SWAPDB 0 2");
    client.good("SELECT 2");
    assert_eq!(digest(&mut client, "other"), before);
    assert_eq!(client.good("UNLINK other").integer(), 1);
    assert_eq!(client.good("EXISTS other").integer(), 0);
    client.good("FLUSHALL ASYNC");
    // In a transaction and in a script, too.
    client.good("MULTI");
    client.good("CF.ADD f a");
    client.good("CF.EXISTS f a");
    assert_eq!(client.good("EXEC").to_string(), "[:1 :1]");
    let script =
        "return {redis.call('CF.ADD', KEYS[1], 'b'), redis.call('CF.MEXISTS', KEYS[1], 'b', 'x')}";
    assert_eq!(client.call(&["EVAL", script, "1", "f"]).to_string(), "[:1 [:1 :0]]");
}
