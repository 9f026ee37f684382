//! There is one filter under one name: a single key, or a fixed number of shards.

use crate::address;
use crate::server::{Kind, Server};
use crate::support::{Folder, run, run_with};

on_both!(
    a_name_is_one_key_or_its_shards,
    what_else_has_the_name_is_not_in_the_way,
    shards_that_forget_otherwise_are_refused,
    a_lost_shard_is_not_created_anew,
    a_creation_that_did_not_end_is_not_completed,
);

fn a_name_is_one_key_or_its_shards(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let at = |filter: &str| address(&server, filter);
    run_with(b"a\nb\n", ["dedup", "--filter", &at("one")]).good();
    run(["add", &at("many?shards=4")]).good();
    let refused = |filter: &str, words: &str| {
        let at = at(filter);
        for command in [&["dedup", "--filter", &at][..], &["info", &at], &["add", &at]] {
            run(command).failed(2, &format!("coua: {at}: {words}\n"));
        }
    };
    let has = |key: &str| {
        format!(
            "the server has the key {key}, of a filter with other shards than the address says \
             (?shards=N)"
        )
    };
    refused("one?shards=1", &has("one"));
    refused("one?shards=4", &has("one"));
    refused("many", &has("{many:0}"));
    refused("many?shards=3", &has("{many:3}"));
    assert_eq!(client.run("DBSIZE").integer(), 5, "nothing was created");
    assert_eq!(run_with(b"b\nc\n", ["check", &at("one")]).text(), "b\n");
    // Other clients can create both.
    client.good("CF.RESERVE {one:0} 1024");
    refused("one", &has("{one:0}"));
    refused("one?shards=1", &has("one"));
    client.good("DEL one");
    run(["info", &at("one?shards=1")]).good();
}

fn what_else_has_the_name_is_not_in_the_way(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    client.good("ACL SETUSER me on >secret ~{seen:* +@all");
    let at = address(&server, "seen?shards=4");
    let mine = at.replace("://", "://me:secret@");
    for at in [mine, at] {
        run_with(b"a\n", ["dedup", "--filter", &at]).good();
        run(["info", &at]).good();
        client.good("SET seen text");
    }
}

fn shards_that_forget_otherwise_are_refused(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    for (shard, window) in [" WINDOW 7d", " WINDOW 7d", "", " WINDOW 7d"].iter().enumerate() {
        client.good(&format!("CF.RESERVE {{mixed:{shard}}} 1024{window}"));
    }
    let at = address(&server, "mixed?shards=4");
    let folder = Folder::new();
    let message = format!(
        "coua: {at}: {{mixed:2}} and {{mixed:0}} have different windows (see CF.INFO key FULL), \
         but belong to one filter; rename or delete what does not belong to it\n"
    );
    for command in [
        &["dedup", "--filter", &at][..],
        &["dedup", "--filter", &at, "--window", "7d"],
        &["info", &at],
        &["pull", &at, &folder.join("mixed.coua")],
    ] {
        run(command).failed(2, &message);
    }
    assert!(!folder.has("mixed.coua"));
    client.good("DEL {mixed:2}");
    client.good("CF.RESERVE {mixed:2} 1024 WINDOW 7d");
    run(["info", &at]).good();
}

fn a_lost_shard_is_not_created_anew(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let at = address(&server, "seen?shards=4");
    let lines = (0..100).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    run_with(lines.as_bytes(), ["dedup", "--filter", &at]).good();
    for lost in [2, 0] {
        client.good(&format!("RENAME {{seen:{lost}}} {{seen:{lost}}}.away"));
        let message = format!(
            "coua: {at}: the server has no key {{seen:{lost}}}: the filter has fewer shards than the address says, or lost \
             this one\n"
        );
        for command in [&["dedup", "--filter", &at][..], &["add", &at], &["info", &at]] {
            run_with(b"0\n", command).failed(2, &message);
        }
        client.good(&format!("RENAME {{seen:{lost}}}.away {{seen:{lost}}}"));
    }
}

/// Its shards may have other options.
fn a_creation_that_did_not_end_is_not_completed(kind: Kind) {
    let server = Server::start(kind);
    let mut client = server.client();
    let at = address(&server, "begun?shards=4");
    let dedup = ["dedup", "--filter", &at];
    client.good("SET {begun:2} text");
    let refused = format!(
        "coua: {at}: WRONGTYPE Operation against a key holding the wrong kind of value (key {{begun:2}})\n"
    );
    run_with(b"0\n", [&dedup[..], &["--capacity=1000", "--when-full=stop"]].concat())
        .failed(2, &refused);
    client.good("DEL {begun:2}");
    let unfinished = format!(
        "coua: {at}: its creation did not end; delete its other keys, and try again: the server has no key {{begun:0}}\n"
    );
    run_with(b"0\n", dedup).failed(2, &unfinished);
    client.good("DEL {begun:1} {begun:3}");
    run_with(b"0\n", dedup).good();
}
