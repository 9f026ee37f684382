//! Clusters: filters spread over primaries that fail, and whose slots move.

use crate::address;
use crate::cluster::{Cluster, IMPATIENT, PATIENT, PRIMARIES};
use crate::losses::repeats;
use crate::server::Kind;
use crate::support::{
    Folder, PATIENCE, Repeats, coua, expected, lines, messages, run, run_with, until, wait,
};
use std::fs;
use std::io::Write;
use std::process::{ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

on_both!(
    every_command_works_on_a_cluster,
    a_primary_that_is_killed_loses_no_line,
    slots_that_move_are_followed,
    a_replica_that_takes_over_is_told,
);

/// All rights that the program needs, from docs/valkey.md.
const RIGHTS: &str = "+cf.reserve +cf.note +cf.info +cf.insert +cf.insertnx +cf.mexists +cf.mcount \
    +cf.mdel +command|info +hello +cluster|slots +asking";

fn every_command_works_on_a_cluster(kind: Kind) {
    let cluster = Cluster::start(kind, PATIENT);
    for node in 0..2 * PRIMARIES {
        for option in ["masterauth", "requirepass"] {
            cluster[node].client().run(&format!("CONFIG SET {option} secret"));
        }
    }
    let at = address(&cluster[0], "seen?shards=16");
    run(["info", &at]).failed(2, &format!("coua: {at}: NOAUTH Authentication required.\n"));
    let at = at.replace("://", "://:secret@");
    let text = lines(50_000, Repeats::Many);
    let unique = expected(&text);
    assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), unique);
    assert_eq!(run_with(&unique, ["check", &at]).good(), unique);
    run_with(&unique, ["add", &at]).good();
    let counts = run_with(&unique, ["count", &at]).text();
    assert!(counts.lines().all(|line| line.starts_with("2\t")));
    run_with(&unique, ["remove", &at]).good();
    run_with(&unique, ["remove", &at]).good();
    assert!(run(["info", "--json", &at]).text().contains("\"items\": 0"));
    for node in 0..PRIMARIES {
        let mut client = cluster[node].client();
        client.good("AUTH secret");
        assert_ne!(client.good("DBSIZE").integer(), 0, "every primary has shards");
    }
}

fn a_primary_that_is_killed_loses_no_line(kind: Kind) {
    let mut cluster = Cluster::start(kind, IMPATIENT);
    let at = address(&cluster[0], "seen?shards=16");
    let text = lines(150_000, Repeats::Many);
    let folder = Folder::new();
    let out = folder.file("out", "");
    let child = coua(["dedup", "--filter", &at, "-o", &out]).stdin(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let half = text.len() / 2;
    stdin.write_all(&text[..half]).unwrap();
    until(|| fs::metadata(&out).unwrap().len() > 0);
    // Neither the primary in the address, nor one without a shard of the filter.
    cluster.stop(1);
    let written = stdin.write_all(&text[half..]);
    drop(stdin);
    let is_good = wait(&mut child).success();
    let said = messages(&mut child);
    assert!(is_good && written.is_ok(), "{written:?}: {said}");
    assert!(said.contains("trying again for 60 s"), "{said}");
    let out = folder.read("out");
    // A line is in the text ten times, and is printed when it is first seen, when its answer was lost, and when the
    // replica had not received it yet.
    let most = repeats(&text, &out);
    assert!(most <= 2 * expected(&text).split(|byte| *byte == b'\n').count(), "{most}");
    // Lines that the replica had not received at the very end are printed once more, and then known.
    run_with(&text, ["dedup", "-q", "--filter", &at]).good();
    assert_eq!(run_with(&text, ["dedup", "-q", "--filter", &at]).good(), b"");
}

/// Each shard of the first primary moves to the second, with lookups meanwhile. The user has exactly the rights that
/// the program needs.
fn slots_that_move_are_followed(kind: Kind) {
    const SHARDS: u32 = 8;
    let cluster = Cluster::of(kind, PATIENT, PRIMARIES, PRIMARIES);
    for node in 0..PRIMARIES {
        cluster[node].client().good(&format!("ACL SETUSER me on >secret ~{{seen:* {RIGHTS}"));
    }
    let at = address(&cluster[2], &format!("seen?shards={SHARDS}&retry=0"));
    let at = at.replace("://", "://me:secret@");
    let folder = Folder::new();
    let out = folder.file("out", "");
    let mut child =
        coua(["dedup", "--filter", &at, "-o", &out]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let is_moved = AtomicBool::new(false);
    let text = thread::scope(|scope| {
        let feeding = scope.spawn(|| feed(stdin, &is_moved));
        until(|| fs::metadata(&out).unwrap().len() > 0);
        let moved =
            (0..SHARDS).filter(|number| move_shard(&cluster, &format!("{{seen:{number}}}")));
        assert!(moved.count() > 0, "the first primary has shards");
        is_moved.store(true, Ordering::Relaxed);
        feeding.join().unwrap()
    });
    assert!(wait(&mut child).success());
    assert_eq!(messages(&mut child), "");
    assert_eq!(folder.read("out"), expected(&text), "nothing is lost or repeated");
    assert_eq!(run_with(&text, ["dedup", "--filter", &at]).good(), b"");
}

/// Nobody else says so: no connection is lost.
fn a_replica_that_takes_over_is_told(kind: Kind) {
    let cluster = Cluster::start(kind, PATIENT);
    let at = address(&cluster[0], "seen?shards=16");
    let folder = Folder::new();
    let out = folder.file("out", "");
    let mut child =
        coua(["dedup", "--filter", &at, "-o", &out]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let is_done = AtomicBool::new(false);
    let text = thread::scope(|scope| {
        let feeding = scope.spawn(|| feed(stdin, &is_done));
        until(|| fs::metadata(&out).unwrap().len() > 0);
        cluster[1 + PRIMARIES].client().good("CLUSTER FAILOVER TAKEOVER");
        let role = |node: usize| cluster[node].client().info("replication", "role");
        until(|| role(1).as_deref() == Some("slave"));
        thread::sleep(Duration::from_millis(500));
        is_done.store(true, Ordering::Relaxed);
        feeding.join().unwrap()
    });
    assert!(wait(&mut child).success());
    let said = messages(&mut child);
    let [old, new] = [1, 1 + PRIMARIES].map(|node| cluster[node].port());
    let line = format!("127.0.0.1:{new} has become the owner of the slots of 127.0.0.1:{old};");
    assert_eq!(said.matches(&line).count(), 1, "{said}");
    let all = expected(&text);
    let printed = folder.read("out");
    assert!(printed.len() >= all.len(), "{said}");
}

/// Writes lines, little by little, until it is done or fails; returns everything written.
fn feed(mut stdin: ChildStdin, done: &AtomicBool) -> Vec<u8> {
    let (start, mut text) = (Instant::now(), Vec::new());
    for round in 0_u64.. {
        let mut some = Vec::new();
        for line in 0..200 {
            // Every second or third line repeats the one before.
            writeln!(some, "{}", (round * 200 + line) * 2 / 3).unwrap();
        }
        stdin.write_all(&some).unwrap();
        text.extend_from_slice(&some);
        if done.load(Ordering::Relaxed) || start.elapsed() > 2 * PATIENCE {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    text
}

/// Moves the slot of a key from the first node to the second, if the first has it. The cluster learns of it only after
/// the key has been used at its new place.
fn move_shard(cluster: &Cluster, key: &str) -> bool {
    let (mut from, mut to) = (cluster[0].client(), cluster[1].client());
    if from.run(&format!("EXISTS {key}")).is_error() {
        return false;
    }
    let slot = from.good(&format!("CLUSTER KEYSLOT {key}")).integer();
    to.good(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(0)));
    from.good(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(1)));
    from.good(&format!("MIGRATE 127.0.0.1 {} {key} 0 60000", cluster[1].port()));
    let mut items = || {
        to.good("ASKING");
        to.call(&["CF.INFO", key, "Number of items inserted"]).integer()
    };
    let then = items();
    until(|| items() > then);
    for node in [1, 0, 2] {
        cluster[node].client().good(&format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(1)));
    }
    true
}
