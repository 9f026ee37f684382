//! What a second thread brings: batches on one `SharedCuckooFilter` by 1, 2, ... threads.
//!
//! `cargo bench -p coua --bench shared -- [items] [batch] [rounds]` (default 20,000,000, 65,536 and 5).
//! Million keys per second over all threads, medians of interleaved rounds; the plain filter, which
//! takes no lock, stands beside.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use coua::{CuckooFilter, KeyHash, SharedCuckooFilter, WhenFull};
use coua_dev::random::nth;

/// The n-th of a row of distinct uniform hashes.
fn hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

/// Cuts `hashes` into batches, deals them out to the threads, and returns million keys per second.
fn rate<F: FnMut(&[KeyHash])>(
    hashes: &[KeyHash],
    batch: usize,
    threads: usize,
    worker: impl Fn() -> F + Sync,
) -> f64 {
    let start = Instant::now();
    thread::scope(|scope| {
        for number in 0..threads {
            let worker = &worker;
            scope.spawn(move || {
                let mut work = worker();
                hashes.chunks(batch).skip(number).step_by(threads).for_each(&mut work);
            });
        }
    });
    hashes.len() as f64 / start.elapsed().as_secs_f64() / 1e6
}

struct Rows(Vec<(String, Vec<f64>)>);

impl Rows {
    fn add(&mut self, name: String, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.0.push((name, vec![value])),
        }
    }
}

fn shared(items: u64, hashes: &[KeyHash], batch: usize, threads: usize, rows: &mut Rows) {
    // A filter at its very limit asks for every key whether it is new.
    let seen = CuckooFilter::builder()
        .capacity(items + 2 * (batch * threads) as u64)
        .rate(1e-4)
        .when_full(WhenFull::Refuse)
        .build_shared()
        .expect("memory for the filter");
    let stored = &hashes[..items as usize];
    let mut row = |what: &str, rate| rows.add(format!("{what}, {threads} threads"), rate);
    row("insert to 95 %", inserted(&seen, stored, batch, threads));
    looked_up(&seen, hashes, batch, threads, &mut row);
    let repeats = || {
        let (seen, mut outcomes) = (&seen, Vec::new());
        move |part: &[KeyHash]| {
            seen.insert_unique_batch_into(part, &mut outcomes).expect("room");
        }
    };
    row("insert_unique, all repeats", rate(stored, batch, threads, repeats));
    let removals = || |part: &[KeyHash]| drop(black_box(seen.remove_batch(part)));
    row("remove", rate(stored, batch, threads, removals));
    let growing = SharedCuckooFilter::new();
    row("growing, insert", inserted(&growing, stored, batch, threads));
}

fn inserted(seen: &SharedCuckooFilter, hashes: &[KeyHash], batch: usize, threads: usize) -> f64 {
    rate(hashes, batch, threads, || |part: &[KeyHash]| seen.insert_batch(part).expect("room"))
}

fn looked_up(
    seen: &SharedCuckooFilter,
    hashes: &[KeyHash],
    batch: usize,
    threads: usize,
    row: &mut impl FnMut(&str, f64),
) {
    let batches = || {
        move |part: &[KeyHash]| {
            let present = seen.contains_batch(part);
            black_box(&present);
        }
    };
    row("lookup present and absent", rate(hashes, batch, threads, batches));
    let singles = || {
        |part: &[KeyHash]| {
            black_box(part.iter().filter(|&&key| seen.contains(key)).count());
        }
    };
    let some = &hashes[hashes.len() * 7 / 8..];
    row("single lookups, absent", rate(some, batch, threads, singles));
}

fn plain(items: u64, hashes: &[KeyHash], batch: usize, rows: &mut Rows) {
    let stored = &hashes[..items as usize];
    let mut seen = CuckooFilter::with_capacity(items, 1e-4).expect("memory for the filter");
    let mut timed = |what: &str, hashes: &[KeyHash], work: &mut dyn FnMut(&[KeyHash])| {
        let start = Instant::now();
        hashes.chunks(batch).for_each(work);
        let rate = hashes.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
        rows.add(format!("{what}, plain filter"), rate);
    };
    timed("insert to 95 %", stored, &mut |part| {
        seen.insert_batch(part).expect("room");
    });
    timed("lookup present and absent", hashes, &mut |part| {
        black_box(seen.contains_batch(part));
    });
    timed("remove", stored, &mut |part| {
        black_box(seen.remove_batch(part));
    });
    let mut growing = CuckooFilter::new();
    timed("growing, insert", stored, &mut |part| {
        growing.insert_batch(part).expect("room");
    });
}

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let (items, batch, rounds) = (number(0, 20_000_000), number(1, 65_536), number(2, 5));
    let hashes: Vec<_> = (0..2 * items).map(hash).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Rows(Vec::new());
    for _ in 0..rounds {
        plain(items, &hashes, batch as usize, &mut rows);
        for threads in (0..).map(|power| 1 << power).take_while(|&threads| threads <= cores) {
            shared(items, &hashes, batch as usize, threads, &mut rows);
        }
    }
    println!("{items} items, batches of {batch}, median of {rounds} rounds, million keys/s");
    for (name, values) in &mut rows.0 {
        values.sort_by(f64::total_cmp);
        let (low, high) = (values[0], values[values.len() - 1]);
        println!("{name:44} {:8.1}  ({low:.1} .. {high:.1})", values[values.len() / 2]);
    }
}
