//! Memory comes back in steps, and replicas take the same ones.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::pair::Pair;
use crate::server::{Kind, PATIENCE, Server};
use crate::zoo;

on_both!(a_large_filter_is_compacted_in_steps_and_its_replica_alike);

fn size(client: &mut Client) -> i64 {
    client.call(&["CF.INFO", "f", "Size"]).integer()
}

fn a_large_filter_is_compacted_in_steps_and_its_replica_alike(kind: Kind) {
    const ITEMS: u32 = 1_500_000;
    let pair = Pair::start(kind, &[]);
    let mut client = pair.primary.client();
    client.good("CF.RESERVE f 1000");
    for start in (0..ITEMS).step_by(100_000) {
        client.good(&zoo::with_items("CF.MADD f", start..start + 100_000));
    }
    let full = size(&mut client);
    // Of which a command removes few, and some that are not there.
    for start in (0..ITEMS / 2).step_by(5_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 5_000));
        client.good(&zoo::with_items("CF.MDEL f", ITEMS + start..ITEMS + start + 50));
    }
    assert_eq!(size(&mut client), full, "half are left");
    client.good("CF.COMPACT f");
    let after_one = size(&mut client);
    assert!(after_one > full / 2, "a step is small: {after_one} of {full}");
    let until = Instant::now() + PATIENCE;
    while size(&mut client) > full * 7 / 10 {
        assert!(Instant::now() < until, "{} of {full}", size(&mut client));
        thread::sleep(Duration::from_millis(5));
    }
    let mut before = 0;
    while std::mem::replace(&mut before, calls(&pair.primary)) != before {
        thread::sleep(Duration::from_millis(100));
    }
    pair.same("CF.COMPACT");
    for start in (ITEMS / 2..ITEMS - 50_000).step_by(5_000) {
        client.good(&zoo::with_items("CF.MDEL f", start..start + 5_000));
    }
    pair.same("removals");
    assert!(size(&mut client) < full / 8, "{} of {full}", size(&mut client));
    let there = zoo::present(&mut client, "f", ITEMS - 1_000..ITEMS);
    assert_eq!(there, 1_000);
    let [primary, replica] = [&pair.primary, &pair.replica].map(calls);
    assert!((3..=primary).contains(&replica), "a timer goes on with it: {primary}, {replica}");
}

/// How often CF.COMPACT was run.
fn calls(server: &Server) -> u32 {
    let info = server.client().good("INFO commandstats");
    let info = String::from_utf8(info.bytes().to_vec()).unwrap();
    let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_cf.compact:calls="));
    calls.and_then(|rest| rest.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
}
