//! Filters of RedisBloom: loaded from its chunks and its dumps, they answer as there, and work on.

use crate::chunks::{load, scan};
use crate::client::Client;
use crate::golden::{self, Filter};
use crate::payload::{body, sealed};
use crate::server::{Kind, Server};
use crate::zoo::digest;

on_both!(
    from_chunks,
    what_lacks_chunks_is_not_compacted,
    from_dumps,
    chunks_and_dumps_are_the_same,
    they_work_on,
    they_are_kept,
    they_cannot_be_merged,
);

fn restore(client: &mut Client, key: &str, dump: &[u8]) {
    let dump = sealed(body(dump));
    let reply = client.call(&[b"RESTORE", key.as_bytes(), b"0", &dump]);
    assert_eq!(reply.to_string(), "+OK");
}

/// What the peer said of the filter, this module says too.
#[track_caller]
fn check(client: &mut Client, key: &str, filter: &Filter) {
    let name = &filter.name;
    let info = client.good(&format!("CF.INFO {key}"));
    // The peer counts other bytes.
    for (number, expected) in filter.info.iter().enumerate().skip(1) {
        let found = info.elements()[2 * number + 1].to_string();
        assert_eq!(found, format!(":{expected}"), "{name}: {}", info.elements()[2 * number]);
    }
    let mut item = 0;
    let mut there = true;
    for &run in &filter.answers {
        for _ in 0..run {
            let found = client.good(&format!("CF.EXISTS {key} {item}")).integer();
            assert_eq!(found, i64::from(there), "{name}: {item}");
            item += 1;
        }
        there = !there;
    }
}

fn from_chunks(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for filter in golden::filters().iter().filter(|filter| !filter.chunks.is_empty()) {
        golden::load(&mut client, "f", filter);
        check(&mut client, "f", filter);
        assert_eq!(scan(&mut client, "f"), filter.chunks, "{}", filter.name);
        client.good("DEL f");
    }
}

/// A compaction would free sub-filters whose chunks have not arrived.
fn what_lacks_chunks_is_not_compacted(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let mut refused = 0;
    for filter in golden::filters().iter().filter(|filter| !filter.chunks.is_empty()) {
        for (position, chunk) in &filter.chunks {
            client.call(&[b"CF.LOADCHUNK", &b"f"[..], position.as_bytes(), chunk]);
            let is_last = position == &filter.chunks.last().unwrap().0;
            let reply = if is_last { continue } else { client.run("CF.COMPACT f") };
            let lacks_chunks = "-ERR the filter is incomplete; load its remaining chunks";
            refused += u32::from(reply.to_string() == lacks_chunks);
        }
        check(&mut client, "f", filter);
        assert_eq!(scan(&mut client, "f"), filter.chunks, "{}", filter.name);
        client.good("DEL f");
    }
    assert!(refused > 1, "{refused}");
}

fn from_dumps(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for filter in golden::filters() {
        let Some(dump) = &filter.dump else { continue };
        restore(&mut client, "f", dump);
        check(&mut client, "f", &filter);
        client.good("DEL f");
    }
}

fn chunks_and_dumps_are_the_same(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let both = |filter: &&Filter| filter.dump.is_some() && !filter.chunks.is_empty();
    let filters = golden::filters();
    assert!(filters.iter().filter(both).count() > 5);
    for filter in filters.iter().filter(both) {
        golden::load(&mut client, "one", filter);
        restore(&mut client, "other", filter.dump.as_ref().unwrap());
        assert_eq!(digest(&mut client, "one"), digest(&mut client, "other"), "{}", filter.name);
        client.good("FLUSHALL");
    }
}

fn they_work_on(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for filter in golden::filters().iter().filter(|filter| !filter.chunks.is_empty()) {
        golden::load(&mut client, "f", filter);
        let name = &filter.name;
        for item in 0..50 {
            let added = client.run(&format!("CF.ADD f new{item}"));
            if added.is_error() {
                let full = ["until refused", "never grows"].iter().any(|full| name.contains(full));
                assert!(full, "{name}: {added}");
                continue;
            }
            assert_eq!(client.good(&format!("CF.EXISTS f new{item}")).integer(), 1, "{name}");
            assert!(client.good(&format!("CF.COUNT f new{item}")).integer() >= 1, "{name}");
            assert_eq!(client.good(&format!("CF.DEL f new{item}")).integer(), 1, "{name}");
        }
        client.good("CF.COMPACT f");
        client.good("CF.MCOUNT f 1 2 3");
        client.good("DEL f");
    }
}

/// As any other key: copied, dumped, saved, rewritten.
fn they_are_kept(kind: Kind) {
    let options =
        ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"];
    let mut server = Server::with(kind, &options);
    let mut client = server.client();
    let filters = golden::filters();
    for (number, filter) in filters.iter().filter(|f| !f.chunks.is_empty()).enumerate() {
        let key = format!("f{number}");
        golden::load(&mut client, &key, filter);
        client.run(&format!("CF.ADD {key} new"));
        let dump = client.good(&format!("DUMP {key}"));
        let before = digest(&mut client, &key);
        client.call(&[b"RESTORE".as_slice(), b"restored", b"0", dump.bytes(), b"REPLACE"]);
        assert_eq!(digest(&mut client, "restored"), before, "{}", filter.name);
        client.good(&format!("COPY {key} restored REPLACE"));
        assert_eq!(digest(&mut client, "restored"), before, "{}", filter.name);
        assert!(client.good(&format!("MEMORY USAGE {key}")).integer() > 0);
    }
    let before = client.good("DEBUG DIGEST");
    client.good("DEBUG RELOAD");
    assert_eq!(client.good("DEBUG DIGEST"), before);
    server.restart();
    let mut client = server.client();
    assert_eq!(client.good("DEBUG DIGEST"), before);
    crate::keeping::rewrite(&mut client);
    server.restart();
    assert_eq!(server.client().good("DEBUG DIGEST"), before);
}

/// They have forgotten their hashes.
fn they_cannot_be_merged(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let filters = golden::filters();
    let filter = &filters[0];
    golden::load(&mut client, "f", filter);
    golden::load(&mut client, "g", filter);
    client.good("CF.ADD own a");
    for command in ["CF.MERGE f g", "CF.MERGE own f", "CF.MERGE f own", "CF.MERGE new f g"] {
        let reply = client.run(command);
        assert!(reply.is_error(), "{command}: {reply}");
    }
    // And a chunk of a filter that is complete changes nothing.
    let before = digest(&mut client, "own");
    assert!(load(&mut client, "own", &filter.chunks[1]).is_error());
    assert_eq!(digest(&mut client, "own"), before);
}
