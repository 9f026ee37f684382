//! Random commands on filters of all kinds. A replica, a restart from the append-only file, a reload of the dump file,
//! scripts, transactions and copies all lead to the same bytes.

use crate::client::Client;
use crate::keeping::rewrite;
use crate::pair::{Pair, follow};
use crate::server::{Kind, Server};
use crate::windows::now;
use crate::zoo::{self, digest, with_items};
use coua_dev::random::Random;

on_both!(
    random_commands,
    #[ignore = "takes minutes"]
    many_random_commands,
);

fn random_commands(kind: Kind) {
    run(kind, 1, 700);
}

fn many_random_commands(kind: Kind) {
    for seed in 2..8 {
        run(kind, seed, 20_000);
    }
}

const SEED: &str = "SEED 000102030405060708090a0b0c0d0e0f";
const KEYS: [&str; 8] = ["c0", "c1", "c2", "few", "fixed", "window", "counted", "peergrown"];

/// A command with some numbers as items.
fn items(random: &mut Random, command: &str, most: u64) -> String {
    let first = random.below(3_000) as u32;
    let count = 1 + random.below(most) as u32;
    with_items(command, first..first + count)
}

fn some_command(random: &mut Random) -> String {
    let (key, other) = (random.pick(&KEYS), random.pick(&KEYS));
    let capacity = 2 + random.below(5_000);
    match random.below(19) {
        0 => items(random, &format!("CF.ADD {key}"), 1),
        1 => items(random, &format!("CF.ADDNX {key}"), 1),
        2..=4 => items(random, &format!("CF.MADD {key}"), 200),
        5 => items(random, &format!("CF.INSERT {key} CAPACITY {capacity} {SEED} ITEMS"), 200),
        6..=7 => items(random, &format!("CF.INSERTNX {key} {SEED} ITEMS"), 200),
        8 => items(random, &format!("CF.DEL {key}"), 1),
        9..=11 => items(random, &format!("CF.MDEL {key}"), 400),
        12 => format!("CF.COMPACT {key}"),
        13 => format!("CF.COMPACT {key} {} {}", random.below(3), random.below(1 << 31) << 32),
        14 => format!("CF.MERGE {key} {other}"),
        15 => format!("COPY {key} {other} REPLACE"),
        16 => format!("CF.RESERVE {key} {capacity} {SEED} EXPANSION {}", random.below(3)),
        17 => format!("CF.ADVANCE window {}", now() + random.below(12_000)),
        _ => format!("DEL {}", if random.below(8) == 0 { key } else { "none" }),
    }
}

fn made(client: &mut Client) {
    zoo::fill(client);
    for command in [
        "CF.RESERVE fixed2 300 EXPANSION 0 SEED 000102030405060708090a0b0c0d0e0f",
        "CF.RESERVE window 100 WINDOW 10s GENERATIONS 4 SEED 000102030405060708090a0b0c0d0e0f",
        "CF.RESERVE counted 100 WINDOWITEMS 5000 GENERATIONS 4",
    ] {
        client.good(command);
    }
}

/// A command by itself, in a transaction, or from a script; the answer may be a refusal.
fn done(client: &mut Client, random: &mut Random) {
    let command = some_command(random);
    let answer = match random.below(8) {
        0 => {
            client.good("MULTI");
            client.run(&command);
            client.run(&some_command(random));
            client.run("EXEC")
        }
        1 => {
            let words: Vec<&str> = command.split(' ').collect();
            let script = "return redis.pcall(unpack(ARGV))";
            client.call(&[&["EVAL", script, "1", words[1]], &words[..]].concat())
        }
        _ => client.run(&command),
    };
    assert!(!answer.to_string().contains("defect"), "{command}: {answer}");
}

fn run(kind: Kind, seed: u64, commands: u32) {
    let log = ["--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble"];
    let preamble = if seed.is_multiple_of(2) { "yes" } else { "no" };
    let primary = Server::with(kind, &[&log[..], &[preamble]].concat());
    let replica = Server::start(kind);
    follow(&replica, &primary);
    let mut pair = Pair { primary, replica };
    let mut client = pair.primary.client();
    made(&mut client);
    let mut random = Random::new(seed);
    for number in 1..=commands {
        done(&mut client, &mut random);
        if number % 50 == 0 {
            pair.same(&format!("{number} commands, seed {seed}"));
        }
        if number % 500 == 0 {
            pair.primary.rests();
            let before = client.good("DEBUG DIGEST");
            client.good("DEBUG RELOAD");
            assert_eq!(client.good("DEBUG DIGEST"), before, "reloaded after {number}, seed {seed}");
            for key in KEYS {
                client.run(&format!("COPY {key} copy REPLACE"));
                if client.good(&format!("EXISTS {key}")).integer() == 1 {
                    assert_eq!(digest(&mut client, key), digest(&mut client, "copy"), "{key}");
                }
            }
            if number % 1_000 == 0 {
                rewrite(&mut client);
            }
            pair.primary.rests();
            let before = client.good("DEBUG DIGEST");
            pair.primary.restart();
            client = pair.primary.client();
            assert_eq!(
                client.good("DEBUG DIGEST"),
                before,
                "restarted after {number}, seed {seed}"
            );
            follow(&pair.replica, &pair.primary);
        }
    }
}
