//! Time per key of building a filter from all its keys at once, by 1, 2, ... threads.
//!
//! `cargo bench -p coua --bench build -- [items] [rounds]` (default 10,000,000 and 5). Nanoseconds per
//! key, from nothing to the full filter; the rounds interleave all measurements, and medians are printed.
//! The batch inserts of one thread into a filter of the same size stand beside.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHash, Layout, WhenFull};
use coua_dev::random::nth;

/// The n-th of a row of distinct uniform hashes.
fn hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

const BATCH: usize = 4096;

struct Rows(Vec<(String, Vec<f64>)>);

impl Rows {
    /// Adds the nanoseconds that `work` takes for each of `keys` keys.
    fn time<T>(&mut self, name: String, keys: usize, work: impl FnOnce() -> T) {
        let start = Instant::now();
        black_box(work());
        let value = start.elapsed().as_secs_f64() * 1e9 / keys as f64;
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.0.push((name, vec![value])),
        }
    }

    fn print(&mut self) {
        for (name, values) in &mut self.0 {
            values.sort_by(f64::total_cmp);
            let (low, high) = (values[0], values[values.len() - 1]);
            println!("{name:52} {:8.2}  ({low:.2} .. {high:.2})", values[values.len() / 2]);
        }
    }
}

fn in_batches(builder: CuckooFilterBuilder, hashes: &[KeyHash]) -> CuckooFilter {
    let mut filter = builder.capacity(hashes.len() as u64).build().expect("memory for the filter");
    for batch in hashes.chunks(BATCH) {
        filter.insert_batch(batch).expect("room");
    }
    filter
}

/// Builds filters of one kind from the hashes, in all ways.
fn build(name: &str, builder: &CuckooFilterBuilder, hashes: &[KeyHash], rows: &mut Rows) {
    let items = hashes.len();
    rows.time(format!("{name}: insert in batches"), items, || in_batches(builder.clone(), hashes));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for threads in (0..).map(|power| 1 << power).take_while(|&threads| threads <= cores) {
        let builder = builder.clone().threads(threads);
        let what = |call: &str| format!("{name}: {call}, threads: {threads}");
        rows.time(what("build_from_hashes"), items, || {
            builder.clone().build_from(hashes).expect("room")
        });
        rows.time(what("build_unique_from_hashes"), items, || {
            builder.build_unique_from(hashes).expect("room")
        });
    }
}

fn main() {
    let numbers: Vec<usize> =
        std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let (items, rounds) = (number(0, 10_000_000), number(1, 5));
    let hashes: Vec<_> = (0..items as u64).map(hash).collect();
    let mut rows = Rows(Vec::new());
    for _ in 0..rounds {
        let fixed = CuckooFilter::builder().when_full(WhenFull::Refuse);
        build("4 x 16 bits", &fixed.clone().rate(1.3e-4), &hashes, &mut rows);
        build("4 x 13 bits", &fixed.clone().rate(0.001), &hashes, &mut rows);
        let windows = fixed.rate(0.001).layout(Layout::Overlapping);
        build("windows of 12 bits", &windows, &hashes, &mut rows);
        build("64 hash bits", &CuckooFilter::builder(), &hashes, &mut rows);
    }
    println!("{items} items, median of {rounds} rounds, ns per key (least .. most)");
    rows.print();
}
