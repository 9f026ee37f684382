//! Filters of all kinds and conditions, for tests of what must hold for every one of them.

use crate::client::Client;
use crate::golden;
use crate::windows::now;

/// The keys that [`cuckoo`] makes.
pub(crate) const CUCKOO: &[&str] = &[
    "empty",
    "few",
    "grown",
    "fixed",
    "full",
    "exact",
    "wide",
    "copies",
    "emptied",
    "compacted",
    "aging",
    "counting",
];

/// Milliseconds.
const WEEK: u64 = 604_800_000;

/// Cuckoo filters: new, grown, full, with many copies of an item, after removals, and such
/// as forget.
pub(crate) fn cuckoo(client: &mut Client) {
    for command in [
        "CF.RESERVE empty 1000",
        "CF.INSERT few ITEMS a b b c",
        "CF.RESERVE grown 1024 EXPANSION 2",
        "CF.RESERVE fixed 5000 EXPANSION 0 BUCKETSIZE 4",
        "CF.RESERVE full 100 EXPANSION 0",
        "CF.RESERVE exact 1000 HASHBITS 64",
        "CF.RESERVE wide 1000 ERROR 1e-9 MAXITERATIONS 500",
        "CF.RESERVE copies 1000",
        "CF.RESERVE emptied 1000",
        "CF.RESERVE compacted 1000",
        "CF.RESERVE aging 1000 WINDOW 52w GENERATIONS 4",
        "CF.RESERVE counting 1000 WINDOWITEMS 30000 GENERATIONS 3",
    ] {
        client.good(command);
    }
    for key in ["grown", "exact", "wide", "emptied", "compacted"] {
        insert(client, key, 0..20_000);
    }
    insert(client, "fixed", 0..4_000);
    client.run(&with_items("CF.INSERT full ITEMS", 0..400));
    for _ in 0..30 {
        client.good("CF.INSERT copies ITEMS a a a b b a");
    }
    for key in ["emptied", "compacted"] {
        client.good(&with_items(&format!("CF.MDEL {key}"), 0..18_000));
    }
    client.good("CF.COMPACT compacted");
    insert(client, "aging", 0..10_000);
    client.good(&format!("CF.ADVANCE aging {}", now() + 65 * WEEK));
    insert(client, "aging", 10_000..20_000);
    insert(client, "counting", 0..50_000);
    for key in ["few", "grown", "fixed", "aging"] {
        client.good(&format!("CF.NOTE {key} zoo/name {key}"));
        client.good(&format!("CF.NOTE {key} b 2"));
    }
}

/// All keys of [`fill`].
pub(crate) fn keys() -> Vec<&'static str> {
    [CUCKOO, &["peercuckoo", "peergrown"]].concat()
}

/// Filters of this module, and such as RedisBloom has dumped.
pub(crate) fn fill(client: &mut Client) {
    cuckoo(client);
    for (key, name) in [("peercuckoo", "two 64"), ("peergrown", "removed until")] {
        let filters = golden::filters();
        let filter = filters.iter().find(|filter| filter.name.starts_with(name)).unwrap();
        golden::load(client, key, filter);
    }
}

/// Inserts numbers as items, a thousand at a time.
#[track_caller]
pub(crate) fn insert(client: &mut Client, key: &str, items: std::ops::Range<u32>) {
    let mut items = items;
    while !items.is_empty() {
        let some = items.start..items.end.min(items.start + 1_000);
        items.start = some.end;
        let reply = client.good(&with_items(&format!("CF.INSERT {key} NOCREATE ITEMS"), some));
        assert!(reply.elements().iter().all(|taken| taken.integer() == 1), "{key}: {reply}");
    }
}

/// How many of these numbers are said to be in the filter.
#[track_caller]
pub(crate) fn present(client: &mut Client, key: &str, items: std::ops::Range<u32>) -> usize {
    let (mut items, mut present) = (items, 0);
    while !items.is_empty() {
        let some = items.start..items.end.min(items.start + 1_000);
        items.start = some.end;
        let reply = client.good(&with_items(&format!("CF.MEXISTS {key}"), some));
        present += reply.elements().iter().filter(|there| there.integer() == 1).count();
    }
    present
}

/// A command with numbers as its last words.
pub(crate) fn with_items(command: &str, items: std::ops::Range<u32>) -> String {
    items.fold(command.to_owned(), |line, item| line + " " + &item.to_string())
}

/// What the server makes of all that a key holds.
#[track_caller]
pub(crate) fn digest(client: &mut Client, key: &str) -> String {
    client.good(&format!("DEBUG DIGEST-VALUE {key}")).elements()[0].to_string()
}
