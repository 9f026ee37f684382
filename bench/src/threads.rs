//! The gain from more threads: batches on one `SharedCuckooFilter`, with 1, 2, 4, ... threads.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use coua::{CuckooFilter, KeyHash, SharedCuckooFilter, WhenFull};
use coua_bench::keys::keys;
use coua_bench::timing::Table;

/// Keys per batch for a filter that threads share.
const SHARED_BATCH: usize = 1 << 16;

/// Adds wall-clock nanoseconds for each of `keys` keys.
fn time<T>(table: &mut Table, name: String, keys: usize, work: impl FnOnce() -> T) {
    let start = Instant::now();
    black_box(work());
    table.add(name, start.elapsed().as_secs_f64() * 1e9 / keys as f64);
}

/// Powers of two up to the number of processors.
fn numbers_of_threads() -> impl Iterator<Item = usize> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (0..).map(|power| 1 << power).take_while(move |&threads| threads <= processors)
}

/// Batches on one filter, compared with the plain filter, which takes no lock.
pub(crate) fn shared(items: u64, rounds: u64) {
    let hashes: Vec<KeyHash> = keys(0..2 * items).collect();
    let stored = &hashes[..hashes.len() / 2];
    Table::of_rounds(&format!("{items} items, ns per key"), rounds, |table| {
        let mut plain = CuckooFilter::with_capacity(items, 1e-4).expect("memory for the filter");
        let mut row = |what: &str, hashes: &[KeyHash], work: &mut dyn FnMut(&[KeyHash])| {
            time(table, format!("{what}, plain filter"), hashes.len(), || {
                hashes.chunks(SHARED_BATCH).for_each(work);
            });
        };
        row("insert to 95 %", stored, &mut |part| plain.insert_batch(part).expect("room"));
        row("lookup", &hashes, &mut |part| drop(black_box(plain.contains_batch(part))));
        row("remove", stored, &mut |part| drop(black_box(plain.remove_batch(part))));
        for threads in numbers_of_threads() {
            // A filter close to its limit checks for every key whether it is new.
            let capacity = items + 2 * (SHARED_BATCH * threads) as u64;
            let builder = CuckooFilter::builder().capacity(capacity).rate(1e-4);
            let builder = builder.when_full(WhenFull::Refuse);
            let seen = builder.build_shared().expect("memory for the filter");
            let growing = SharedCuckooFilter::new();
            let mut row = |what: &str, hashes: &[KeyHash], work: &(dyn Fn(&[KeyHash]) + Sync)| {
                time(table, format!("{what}, threads: {threads}"), hashes.len(), || {
                    dealt_out(hashes, threads, work);
                });
            };
            row("insert to 95 %", stored, &|part| seen.insert_batch(part).expect("room"));
            row("lookup", &hashes, &|part| drop(black_box(seen.contains_batch(part))));
            row("remove", stored, &|part| drop(black_box(seen.remove_batch(part))));
            row("growing, insert", stored, &|part| growing.insert_batch(part).expect("room"));
        }
    });
}

/// Cuts the hashes into batches, and distributes them among the threads.
fn dealt_out(hashes: &[KeyHash], threads: usize, work: &(dyn Fn(&[KeyHash]) + Sync)) {
    thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || {
                hashes.chunks(SHARED_BATCH).skip(number).step_by(threads).for_each(work);
            });
        }
    });
}
