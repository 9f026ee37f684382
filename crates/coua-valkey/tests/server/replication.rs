//! A replica is, byte for byte, what its primary is.

use std::process::Command;

use crate::client::Client;
use crate::keeping::{rewrite, rewritten_at_last};
use crate::pair::{Pair, caught_up, follow, told};
use crate::server::{Kind, Server};
use crate::windows::now;
use crate::zoo;

on_both!(
    every_command,
    full_synchronization,
    partial_synchronization,
    failover,
    a_replica_with_other_settings,
    batches_that_end_half_way,
    batches_at_the_limit,
    nothing_is_sent_for_nothing,
    chunks_reach_the_replica,
    append_only_replica,
    without_a_file_in_between,
    transactions_and_scripts,
    a_replica_without_memory_ends,
    nothing_is_compacted_without_memory,
);

/// One after the other, on filters of all kinds.
const COMMANDS: &[&str] = &[
    "CF.RESERVE made 1000",
    "CF.RESERVE made2 1000 BUCKETSIZE 4 MAXITERATIONS 30 EXPANSION 0 ERROR 0.0001",
    "CF.ADD made a",
    "CF.ADD made a",
    "CF.ADD added a",
    "CF.ADDNX made a",
    "CF.ADDNX made b",
    "CF.ADDNX addednew b",
    "CF.MADD made c d e e",
    "CF.MADD madded c d e e",
    "CF.INSERT made ITEMS f g",
    "CF.INSERT inserted CAPACITY 3000 ERROR 0.001 ITEMS f g",
    "CF.INSERTNX made ITEMS f g h h",
    "CF.INSERTNX insertednew HASHBITS 50 ITEMS f g h h",
    "CF.DEL made a",
    "CF.DEL made never",
    "CF.MDEL made b never c",
    "CF.MDEL grown 1 2 3 1 2 3",
    "CF.COMPACT emptied",
    "CF.COMPACT grown",
    "COPY few few2",
    "CF.ADD few2 z",
    "CF.MERGE few2 few",
    "CF.MERGE joined few few2",
    "RENAME few2 few3",
    "UNLINK few3",
    "CF.ADD few3 a",
    "CF.MADD peercuckoo a b c",
    "CF.INSERTNX peergrown ITEMS a b 1 2",
    "CF.DEL peergrown 5",
    "CF.COMPACT peercuckoo",
    "CF.RESERVE made3 1000 WINDOW 7d",
    "CF.RESERVE made4 1000 WINDOWITEMS 10 GENERATIONS 2",
    "CF.MADD made3 a b c",
    "CF.INSERTNX made4 ITEMS a b c d e f g h a i j k l m n o p a b c",
    "CF.MDEL made4 n o p",
    "CF.INSERTNX aging ITEMS a b 1 2",
    "CF.ADVANCE made3 LATER",
    "CF.ADVANCE made3 LATER",
    "CF.DEL counting 49999",
    "CF.NOTE counting name value",
    "CF.NOTE counting name other NX",
    "CF.NOTE counting name2 other NX",
    "CF.NOTE counting name value2",
    "CF.NOTE counting name2 \"\"",
    "CF.NOTE few zoo/name \"\"",
    "CF.NOTE made a 1",
    "CF.COMPACT counting",
    "CF.MERGE made5 aging",
];

/// [`COMMANDS`], with a time.
pub(crate) fn commands() -> impl Iterator<Item = String> {
    let later = (now() + 86_400_000).to_string();
    COMMANDS.iter().map(move |command| command.replace("LATER", &later))
}

fn every_command(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    zoo::fill(&mut client);
    pair.same("the filters were made");
    for command in commands() {
        client.good(&command);
        pair.same(&command);
    }
    zoo::insert(&mut client, "made", 0..30_000);
    pair.same("growth");
}

fn full_synchronization(kind: Kind) {
    let (primary, replica) = (Server::start(kind), Server::start(kind));
    zoo::fill(&mut primary.client());
    follow(&replica, &primary);
    let pair = Pair { primary, replica };
    pair.same("a full synchronization");
    let mut client = pair.primary.client();
    for key in zoo::keys() {
        client.run(&format!("CF.ADD {key} later"));
        client.run(&format!("CF.DEL {key} 18500"));
    }
    pair.same("further commands");
    client.good("DEBUG RELOAD");
    pair.same("the primary reloaded its dump file");
}

/// A replica that lost its connection for a moment takes what it missed.
fn partial_synchronization(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    zoo::fill(&mut client);
    pair.same("the filters were made");
    for round in 0..3 {
        pair.primary.client().good("CLIENT KILL TYPE replica");
        client.good(&format!("CF.INSERT grown ITEMS round{round} another{round}"));
        pair.same("a lost connection");
    }
    assert_eq!(client.info_number("stats", "sync_full"), 1);
    assert_ne!(client.info_number("stats", "sync_partial_ok"), 0);
}

/// The replica takes over, and the other follows it.
fn failover(kind: Kind) {
    let Pair { primary, replica } = Pair::start(kind, &[]);
    let mut client = primary.client();
    zoo::fill(&mut client);
    caught_up(&primary, &replica);
    replica.client().good("REPLICAOF NO ONE");
    let mut client = replica.client();
    for command in commands() {
        client.good(&command);
    }
    zoo::insert(&mut client, "grown", 20_000..30_000);
    follow(&primary, &replica);
    Pair { primary: replica, replica: primary }.same("a failover");
}

/// What is created carries every parameter: the replica's own settings do not matter.
fn a_replica_with_other_settings(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut settings = pair.replica.client();
    for setting in [
        "coua.cf-initial-size 5000",
        "coua.cf-bucket-size 4",
        "coua.cf-max-iterations 99",
        "coua.cf-expansion-factor 0",
        "coua.key-memory-limit 2000",
    ] {
        settings.good(&format!("CONFIG SET {setting}"));
    }
    let mut client = pair.primary.client();
    for command in [
        "CF.ADD a a",
        "CF.ADDNX b a",
        "CF.MADD c a",
        "CF.INSERT d ITEMS a",
        "CF.INSERTNX e CAPACITY 20000 ITEMS a",
        "CF.RESERVE f 4000",
    ] {
        client.good(command);
        pair.same(command);
    }
    zoo::insert(&mut client, "a", 0..5_000);
    pair.same("growth beyond the replica's limit");
    // Words that the replica's settings contradict, of filters that are there and of new ones.
    for (setting, commands) in [
        (
            "cf-bucket-size 128",
            ["CF.INSERT d CAPACITY 100 ITEMS b", "CF.INSERTNX j CAPACITY 100 ITEMS b"],
        ),
        (
            "cf-initial-size 1073741824",
            ["CF.INSERT d ERROR 1e-12 ITEMS c", "CF.INSERT k ERROR 1e-12 ITEMS c"],
        ),
    ] {
        settings.good(&format!("CONFIG SET coua.{setting}"));
        for command in commands {
            client.good(command);
            pair.same(command);
        }
    }
}

/// A batch of which the primary takes only a part is taken to the same part by the replica.
fn batches_that_end_half_way(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    for command in ["INSERT", "INSERTNX"] {
        client.good("CF.RESERVE f 100 EXPANSION 0");
        let replies = client.good(&zoo::with_items(&format!("CF.{command} f ITEMS"), 0..1_000));
        let taken = replies.elements().iter().filter(|reply| reply.integer() == 1).count();
        assert!((100..1_000).contains(&taken), "{taken}");
        pair.same("a batch larger than its filter");
        client.good("DEL f");
    }
    client.good("CONFIG SET coua.key-memory-limit 40000");
    for command in ["CF.INSERT g ITEMS", "CF.INSERTNX h ITEMS", "CF.MADD i"] {
        let replies = client.good(&zoo::with_items(command, 0..100_000));
        let refused = replies.elements().iter().filter(|reply| reply.is_error()).count();
        assert!((1..100_000).contains(&refused), "{command}: {refused}");
        pair.same("a batch beyond the limit of memory");
    }
}

/// Near its limit the primary inserts in other steps than the replica, which has none, and what was
/// refused may have been on its way to grow: still both lie the same in memory after each command.
fn batches_at_the_limit(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    client.good("CF.RESERVE ends 3000 EXPANSION 0 ERROR 0.001");
    client.good("CF.RESERVE grows 1000 ERROR 0.00001");
    client.good("CF.RESERVE copies 1000");
    let limits = [6_000, 20_000, 45_000, 150_000, 300_000];
    let mut item = 0;
    let mut refused = [0; 5];
    for (round, limit) in limits.into_iter().enumerate() {
        client.good(&format!("CONFIG SET coua.key-memory-limit {limit}"));
        for size in [1, 700, 3, 64, 65, 5_000, 30_000, 1, 100] {
            let range = item..item + size;
            item += size;
            for command in ["CF.INSERT ends ITEMS", "CF.INSERTNX grows ITEMS", "CF.MADD copies"] {
                let reply = client.run(&zoo::with_items(command, range.clone()));
                refused[round] += usize::from(reply.to_string().contains('-'));
                pair.same(&format!("{command} with {size} items at {limit} bytes"));
            }
            client.run(&zoo::with_items("CF.MDEL ends", range.start..range.start + size / 2));
            client.run(&zoo::with_items("CF.MDEL grows", range.clone()));
            client.run(&zoo::with_items("CF.MADD copies", range.start..range.start + size / 9));
            pair.same(&format!("removals and copies at {limit} bytes"));
        }
    }
    assert!(refused.iter().all(|&refused| refused > 1), "{refused:?}");
}

/// Commands that change nothing do not reach the replica.
fn nothing_is_sent_for_nothing(kind: Kind) {
    let pair = Pair::start(kind, &["--repl-ping-replica-period", "3600"]);
    let mut client = pair.primary.client();
    client.good("CONFIG SET repl-ping-replica-period 3600");
    client.good("CF.INSERT f ITEMS a b");
    client.good("CF.RESERVE full 100 EXPANSION 0 ERROR 0.000001");
    client.run(&zoo::with_items("CF.MADD full", 0..1_000));
    client.good("CF.COMPACT f");
    client.good("CF.NOTE f a 1");
    caught_up(&pair.primary, &pair.replica);
    let before = told(&pair.primary, "master_repl_offset");
    for command in [
        "CF.ADDNX f a",
        "CF.INSERTNX f ITEMS a b",
        "CF.DEL f x",
        "CF.MDEL f x y",
        "CF.EXISTS f a",
        "CF.INFO f",
        "CF.SCANDUMP f 0",
        "CF.COMPACT f",
        "CF.NOTE f a 1",
        "CF.NOTE f a 2 NX",
        "CF.NOTE f b \"\"",
        "CF.ADD full x",
        "CF.INSERT full ITEMS x y",
        "CF.RESERVE f 1000",
        "CF.RESERVE g 3",
    ] {
        client.run(command);
        assert_eq!(told(&pair.primary, "master_repl_offset"), before, "{command}");
    }
}

fn chunks_reach_the_replica(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    client.good("CF.RESERVE large 1000000 EXPANSION 0");
    client.good("CF.ADD large a");
    let chunks = crate::chunks::scan(&mut client, "large");
    assert!(chunks.len() > 2, "{} chunks", chunks.len());
    for (number, chunk) in chunks.iter().enumerate() {
        let reply = crate::chunks::load(&mut client, "loaded", chunk);
        assert_eq!(reply.to_string(), "+OK");
        pair.same(&format!("chunk {number}"));
    }
}

/// The replica writes what it gets, rewrites it, and is the same after a restart.
fn append_only_replica(kind: Kind) {
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut pair = Pair::start(kind, &options);
    let mut client = pair.primary.client();
    zoo::fill(&mut client);
    pair.same("the filters were made");
    // A full synchronization ends with a rewriting of its own.
    rewritten_at_last(&mut pair.replica.client());
    restarted(&mut pair.replica, &mut client);
    rewrite(&mut pair.replica.client());
    restarted(&mut pair.replica, &mut client);
    follow(&pair.replica, &pair.primary);
    pair.same("a restart");
}

#[track_caller]
fn restarted(replica: &mut Server, primary: &mut Client) {
    replica.restart();
    assert_eq!(replica.client().good("DEBUG DIGEST"), primary.good("DEBUG DIGEST"));
}

/// The replica loads what comes over the connection, beside what it has.
fn without_a_file_in_between(kind: Kind) {
    let primary = Server::start(kind);
    let replica = Server::with(kind, &["--repl-diskless-load", "swapdb"]);
    primary.client().good("CONFIG SET repl-diskless-sync yes");
    zoo::fill(&mut primary.client());
    replica.client().good("CF.ADD old a");
    follow(&replica, &primary);
    Pair { primary, replica }.same("a full synchronization without a file");
}

fn transactions_and_scripts(kind: Kind) {
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    client.good("CF.RESERVE full 100 EXPANSION 0");
    for command in ["MULTI", "CF.ADD f a", "CF.ADDNX f a", "CF.MADD g a b"] {
        client.good(command);
    }
    client.good(&zoo::with_items("CF.MADD full", 0..1_000));
    client.good("EXEC");
    pair.same("a transaction");
    let script = "redis.call('CF.RESERVE', KEYS[1], 1000)
        redis.call('CF.INSERT', KEYS[1], 'ITEMS', 'a', 'b')
        redis.call('CF.DEL', KEYS[1], 'a')
        return redis.pcall('CF.RESERVE', KEYS[1], 1000)";
    let reply = client.call(&["EVAL", script, "1", "scripted"]).to_string();
    assert_eq!(reply, "-ERR item exists");
    pair.same("a script");
}

/// It would make another filter of the items that follow.
fn a_replica_without_memory_ends(kind: Kind) {
    let mut pair = Pair::start(kind, &[]);
    limit_memory(&pair.replica, "300000000");
    pair.primary.client().good("CF.RESERVE large 300000000");
    pair.primary.client().good("CF.ADD large a");
    pair.replica.ends();
    let log = pair.replica.log();
    assert!(log.contains("key large in database 0 cannot be changed as before: "), "{log}");
    assert!(log.contains("out of memory: this process ends"), "{log}");
}

/// A compaction that one server has the memory for, and another one lacks, would leave them different.
fn nothing_is_compacted_without_memory(kind: Kind) {
    let mut pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    for (key, option) in [("plain", ""), ("window", "WINDOWITEMS 2000000 GENERATIONS 1")] {
        client.good(&format!("CF.RESERVE {key} 1000 HASHBITS 64 {option}"));
        zoo::insert(&mut client, key, 0..1_200_000);
        for thousand in 0..800 {
            let items = thousand * 1_000..(thousand + 1) * 1_000;
            client.good(&zoo::with_items(&format!("CF.MDEL {key}"), items));
        }
        limit_memory(&pair.primary, &(mapped(&pair.primary) + (64 << 10)).to_string());
        let reply = client.run(&format!("CF.COMPACT {key}")).to_string();
        limit_memory(&pair.primary, "unlimited");
        assert_eq!(reply, "-ERR Insufficient memory", "{key}");
        assert!(client.good(&format!("CF.INFO {key}")).to_string().contains("800000"), "{key}");
        pair.same(key);
    }
    limit_memory(&pair.replica, &(mapped(&pair.replica) + (64 << 10)).to_string());
    client.good("CF.COMPACT plain");
    pair.replica.ends();
    let log = pair.replica.log();
    assert!(log.contains("key plain in database 0 cannot be changed as before: "), "{log}");
}

/// Limits the address space of a server.
fn limit_memory(server: &Server, bytes: &str) {
    let mut limited = Command::new("prlimit");
    limited.args([format!("--as={bytes}:unlimited"), format!("--pid={}", process(server))]);
    assert!(limited.status().unwrap().success());
}

fn process(server: &Server) -> i64 {
    server.client().info_number("server", "process_id")
}

/// Bytes of a server's address space.
fn mapped(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process(server))).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    size.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
