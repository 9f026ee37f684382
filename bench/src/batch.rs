//! Times per key of batch calls.

use std::hint::black_box;
use std::ops::Range;

use coua::{CuckooFilter, KeyHash, Layout, WhenFull};
use coua_bench::keys::{ABSENT, Key, keys};
use coua_bench::timing::{Table, timed};

/// The most keys to look up.
const MOST_LOOKUPS: u64 = 20_000_000;

pub(crate) fn run(items: u64, rounds: u64) {
    let title = format!("{items} items, processor ns per key");
    Table::of_rounds(&title, rounds, |table| {
        // A hundred million items at 10^-12 would take more than 64 hash bits.
        let least = (items as f64 / 1e19).max(1e-12);
        for (rate, layout) in [
            (1.3e-4, Layout::Buckets),
            (0.001, Layout::Buckets),
            (least, Layout::Buckets),
            (0.001, Layout::Overlapping),
        ] {
            let make = || {
                let builder = CuckooFilter::builder().capacity(items).rate(rate).layout(layout);
                builder.when_full(WhenFull::Refuse).build().expect("memory for the filter")
            };
            let bits = make().slot_bits();
            let name = match layout {
                Layout::Overlapping => format!("overlapping, {bits} bits"),
                _ => format!("4 x {bits} bits"),
            };
            insert_and_ask(&name, items, make(), table);
            insert_unique(&name, items, make(), table);
        }
    });
}

fn hashed(numbers: Range<u64>, work: impl FnMut(&[KeyHash])) -> f64 {
    timed(keys(numbers), work)
}

/// Inserts into, looks up in and empties one filter.
fn insert_and_ask(name: &str, items: u64, mut filter: CuckooFilter, table: &mut Table) {
    let mut row = |what: &str, value: f64| table.add(format!("{name}: {what}"), value);
    let first = items * 90 / 95;
    for (what, numbers) in [("insert to 90 %", 0..first), ("insert 90 to 95 %", first..items)] {
        row(what, hashed(numbers, |block| filter.insert_batch(block).expect("room")));
    }
    let count = items.min(MOST_LOOKUPS);
    for (what, first) in [("lookup present", 0), ("lookup absent", ABSENT)] {
        let numbers = first..first + count;
        row(what, hashed(numbers, |block| drop(black_box(filter.contains_batch(block)))));
    }
    row("remove", hashed(0..items, |block| drop(black_box(filter.remove_batch(block)))));
}

fn insert_unique(name: &str, items: u64, mut filter: CuckooFilter, table: &mut Table) {
    let mut outcomes = Vec::new();
    for what in ["insert_unique all new", "insert_unique all repeats"] {
        let spent = hashed(0..items, |block| {
            filter.insert_unique_batch_into(block, &mut outcomes).expect("room");
        });
        table.add(format!("{name}: {what}"), spent);
    }
    filter.clear();
    let stream = timed((0..items * 100 / 43).map(hash_of_stream), |block| {
        filter.insert_unique_batch_into(block, &mut outcomes).expect("room");
    });
    table.add(format!("{name}: insert_unique 57 % repeats"), stream);
}

/// The n-th hash of a stream in which 57 % repeat an earlier one, chosen at random.
fn hash_of_stream(n: u64) -> KeyHash {
    let chance = KeyHash::nth(ABSENT + n).to_u64();
    let number = n * 43 / 100;
    let is_repeat = number == (n + 1) * 43 / 100;
    KeyHash::nth(if is_repeat { chance % number.max(1) } else { number })
}
