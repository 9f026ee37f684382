//! Filters spread over a cluster, of which a primary dies.

use crate::cluster::{Cluster, IMPATIENT, PATIENT, PRIMARIES, wait_for};
use crate::server::Kind;
use crate::zoo::with_items;

on_both!(shards_survive_a_primary, keys_of_one_command_lie_together);

const SHARDS: u32 = 16;
const ITEMS: u32 = 1_000;

/// What was taken and has reached a replica is there when the primary is not.
fn shards_survive_a_primary(kind: Kind) {
    let mut cluster = Cluster::start(kind, IMPATIENT);
    let shard = |number: u32| format!("{{seen:{number}}}");
    let items = |number: u32| number * ITEMS..(number + 1) * ITEMS;
    for number in 0..SHARDS {
        let command = format!("CF.INSERT {} ERROR 1e-6 ITEMS", shard(number));
        let reply = cluster.run(0, &with_items(&command, items(number)));
        assert_eq!(reply.elements().len(), ITEMS as usize, "{reply}");
    }
    let keys = |node: usize| cluster[node].client().good("DBSIZE").integer();
    let counts: Vec<_> = (0..PRIMARIES).map(keys).collect();
    assert!(counts.iter().all(|&count| count > 0), "a primary has none of the shards: {counts:?}");
    for node in 0..PRIMARIES {
        let digest = |node: usize| cluster[node].client().good("DEBUG DIGEST");
        wait_for("a replica has all", || digest(node + PRIMARIES) == digest(node));
    }

    cluster.stop(0);
    for number in 0..SHARDS {
        let reply =
            cluster.run(1, &with_items(&format!("CF.MEXISTS {}", shard(number)), items(number)));
        let there = reply.elements().iter().filter(|there| there.integer() == 1).count();
        assert_eq!(there, ITEMS as usize, "shard {number}");
        // And goes on: nothing is new, and what is, is taken.
        let again = format!("CF.INSERTNX {} NOCREATE ITEMS", shard(number));
        let reply = cluster.run(1, &with_items(&again, items(number)));
        assert!(reply.elements().iter().all(|new| new.integer() == 0), "shard {number}");
        let new = items(number + SHARDS);
        let reply = cluster.run(2, &with_items(&again, new));
        let taken = reply.elements().iter().filter(|new| new.integer() == 1).count();
        assert!(taken + 2 >= ITEMS as usize, "shard {number}: {taken}");
    }
}

fn keys_of_one_command_lie_together(kind: Kind) {
    let cluster = Cluster::start(kind, PATIENT);
    cluster.run(0, "CF.RESERVE {a}1 1000 SEED 000102030405060708090a0b0c0d0e0f");
    cluster.run(0, "CF.RESERVE {a}2 1000 SEED 000102030405060708090a0b0c0d0e0f");
    cluster.run(0, "CF.ADD {a}2 x");
    assert_eq!(cluster.run(0, "CF.MERGE {a}1 {a}2").to_string(), "+OK");
    assert_eq!(cluster.run(0, "CF.EXISTS {a}1 x").to_string(), ":1");
    let reply = cluster.run(0, "CF.MERGE a b").to_string();
    assert!(reply.starts_with("-CROSSSLOT "), "{reply}");
}
