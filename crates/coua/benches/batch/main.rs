//! Time per key of the batch calls.
//!
//! `cargo bench -p coua --bench batch -- [items] [rounds]` (default 10,000,000 and 5). The rounds
//! interleave all measurements; medians are printed, in nanoseconds per key. First among them is a bare
//! table, which shows what the machine can do without the filter's promises.
//!
//! With `--features test-instructions`, the environment variable `COUA_TEST_INSTRUCTIONS` (`portable`, `bits` or
//! `avx2`) forbids the filters all further instructions of the processor.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::time::Instant;

mod bare;

use bare::Bare;
use coua::bloom::BlockedBloomFilter;
use coua::{CuckooFilter, KeyHash, Layout, WhenFull};
use coua_dev::random::nth;

/// The n-th of a row of distinct uniform hashes.
fn hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

const BLOCK: usize = 4096;
/// Hashes from here on are of keys that are never inserted.
const ABSENT: u64 = 1 << 40;

/// The n-th of a row of hashes of which 57 in a hundred came before: repeats of any of those before.
fn hash_of_stream(n: u64) -> KeyHash {
    let chance = hash(ABSENT + n).to_u64();
    let number = n * 43 / 100;
    if number == (n + 1) * 43 / 100 { hash(chance % number.max(1)) } else { hash(number) }
}

/// Feeds `count` hashes from `first` on in blocks, and returns the nanoseconds per key.
fn timed(first: u64, count: u64, work: impl FnMut(&[KeyHash])) -> f64 {
    timed_of(hash, first, count, work)
}

fn timed_of(
    hash: fn(u64) -> KeyHash,
    first: u64,
    count: u64,
    mut work: impl FnMut(&[KeyHash]),
) -> f64 {
    let mut block = Vec::with_capacity(BLOCK);
    let mut spent = 0.0;
    let mut at = first;
    while at < first + count {
        let end = (at + BLOCK as u64).min(first + count);
        block.clear();
        block.extend((at..end).map(hash));
        let start = Instant::now();
        work(&block);
        spent += start.elapsed().as_secs_f64();
        at = end;
    }
    spent * 1e9 / count as f64
}

struct Table {
    rows: Vec<(String, Vec<f64>)>,
}

impl Table {
    fn add(&mut self, name: &str, value: f64) {
        match self.rows.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => self.rows.push((name.to_owned(), vec![value])),
        }
    }

    fn print(&mut self) {
        for (name, values) in &mut self.rows {
            values.sort_by(f64::total_cmp);
            let (low, high) = (values[0], values[values.len() - 1]);
            println!("{name:44} {:8.2}  ({low:.2} .. {high:.2})", values[values.len() / 2]);
        }
    }
}

fn fixed(items: u64, rate: f64, layout: Layout) -> CuckooFilter {
    CuckooFilter::builder()
        .capacity(items)
        .rate(rate)
        .layout(layout)
        .when_full(WhenFull::Refuse)
        .build()
        .expect("memory for the filter")
}

/// Inserting into, asking and emptying one filter.
fn insert_and_ask(name: &str, items: u64, mut filter: CuckooFilter, table: &mut Table) {
    let mut row = |what: &str, value: f64| table.add(&format!("{name}: {what}"), value);
    let share = items * 90 / 95;
    let mut insert =
        |first, count| timed(first, count, |block| filter.insert_batch(block).expect("room"));
    row("insert to 90 %", insert(0, share));
    row("insert 90 to 95 %", insert(share, items - share));
    let lookups = items.min(20_000_000);
    let ask = |first| {
        timed(first, lookups, |block| {
            let answers = filter.contains_batch(block);
            black_box(&answers);
        })
    };
    row("lookup present", ask(0));
    row("lookup absent", ask(ABSENT));
    let single = timed(ABSENT, lookups, |block| {
        black_box(block.iter().filter(|&&hash| filter.contains(hash)).count());
    });
    row("single lookup absent", single);
    row("remove", timed(0, items, |block| drop(black_box(filter.remove_batch(block)))));
}

fn insert_unique(name: &str, items: u64, mut filter: CuckooFilter, table: &mut Table) {
    let mut outcomes = Vec::new();
    for what in ["insert_unique all new", "insert_unique all repeats"] {
        let spent = timed(0, items, |block| {
            filter.insert_unique_batch_into(block, &mut outcomes).expect("room");
        });
        table.add(&format!("{name}: {what}"), spent);
    }
    filter.clear();
    let stream = timed_of(hash_of_stream, 0, items * 100 / 43, |block| {
        filter.insert_unique_batch_into(block, &mut outcomes).expect("room");
    });
    table.add(&format!("{name}: insert_unique 57 % repeats"), stream);
}

/// A split-block Bloom filter of 12 bits an item.
fn blocked_bloom(items: u64, table: &mut Table) {
    let mut filter = BlockedBloomFilter::with_blocks((12 * items).div_ceil(256)).expect("memory");
    let spent = timed(0, items, |block| drop(black_box(filter.insert_unique_batch(block))));
    table.add("split-block Bloom, 12 bits: insert", spent);
    for (what, first) in [("lookup present", 0), ("lookup absent", ABSENT)] {
        let spent = timed(first, items, |block| {
            let answers = filter.contains_batch(block);
            black_box(&answers);
        });
        table.add(&format!("split-block Bloom, 12 bits: {what}"), spent);
    }
}

/// The yardstick's times, for as many items as it takes.
fn bare(items: u64, table: &mut Table) {
    let mut bare = Bare::new(items);
    let items = bare.capacity();
    let mut row = |what: &str, value: f64| table.add(&format!("bare table: {what}"), value);
    let share = items * 90 / 95;
    row("insert to 90 %", timed(0, share, |block| bare.insert(block)));
    row("insert 90 to 95 %", timed(share, items - share, |block| bare.insert(block)));
    let lookups = items.min(20_000_000);
    for (what, first) in [("lookup present", 0), ("lookup absent", ABSENT)] {
        row(what, timed(first, lookups, |block| _ = black_box(bare.look(block))));
    }
}

fn round(items: u64, table: &mut Table) {
    bare(items, table);
    // A hundred million items at 10^-12 would take more than 64 hash bits.
    let least = (items as f64 / 1e19).max(1e-12);
    for (rate, layout) in [
        (1.3e-4, Layout::Buckets),
        (0.001, Layout::Buckets),
        (least, Layout::Buckets),
        (0.001, Layout::Overlapping),
    ] {
        let filter = fixed(items, rate, layout);
        let name = match layout {
            Layout::Overlapping => format!("overlapping, {} bits", filter.slot_bits()),
            _ => format!("4 x {} bits", filter.slot_bits()),
        };
        insert_and_ask(&name, items, filter, table);
        insert_unique(&name, items, fixed(items, rate, layout), table);
    }
    let mut growing = CuckooFilter::new();
    let spent = timed(0, items, |block| growing.insert_batch(block).expect("room"));
    table.add("growing, 64 hash bits: insert", spent);
    blocked_bloom(items, table);
}

fn main() {
    let is_forced = std::env::var_os("COUA_TEST_INSTRUCTIONS").is_some();
    assert!(
        !is_forced || cfg!(feature = "test-instructions"),
        "COUA_TEST_INSTRUCTIONS needs the feature test-instructions"
    );
    let numbers: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let items = numbers.first().copied().unwrap_or(10_000_000);
    let rounds = numbers.get(1).copied().unwrap_or(5);
    let mut table = Table { rows: Vec::new() };
    for _ in 0..rounds {
        round(items, &mut table);
    }
    println!("{items} items, median of {rounds} rounds, ns per key (least .. most)");
    table.print();
}
