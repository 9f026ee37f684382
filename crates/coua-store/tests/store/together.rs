//! Concurrent access: nothing is lost, and nothing is torn.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coua::window::Generations;
use coua::{CuckooFilter, KeyHash};
use coua_store::{Options, Wait};

use crate::samples::{commit, hashes, round_of};

/// Hashes per commit.
const HASHES: u64 = 300;

fn has(filter: &Generations, hashes: &[KeyHash]) -> bool {
    let present = filter.contains_batch(hashes);
    present.iter().all(|present| *present)
}

/// Small logs or none, so that snapshots are replaced all the time.
fn options(number: u64) -> Options {
    let max_log = if number.is_multiple_of(3) { 10_000 } else { 0 };
    Options::new().max_log(max_log).wait(Wait::UntilFree)
}

/// Makes some commits, and records the number of each; every commit increases it by one.
fn add(path: &Path, commits: u64, last: &AtomicU64) {
    let options = if commits > 1 {
        options(0).background_from(0)
    } else {
        options(last.load(Ordering::SeqCst))
    };
    let mut store = options.create(path, CuckooFilter::new).unwrap();
    for _ in 0..commits {
        let number = round_of(store.notes()) + 1;
        store.insert_batch(&hashes(number, HASHES)).unwrap();
        commit(&mut store, number).unwrap();
        last.fetch_max(number, Ordering::SeqCst);
    }
}

/// Two writers that take turns, each with `commits` commits, and three readers.
fn together_for(time: Duration, commits: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("seen.coua");
    let last = &AtomicU64::new(0);
    add(path, 1, last);
    let done = &AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    add(path, commits, last);
                }
            });
        }
        let readers = [(); 3].map(|()| {
            scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    let before = last.load(Ordering::SeqCst);
                    let view = Options::new().read(path).expect("it is whole at any time");
                    let seen = round_of(&view.notes);
                    assert!(seen >= before, "{seen} after {before} was committed");
                    assert_eq!(view.filter.len(), seen * HASHES);
                    assert!(has(&view.filter, &hashes(seen, HASHES)));
                    assert!(has(&view.filter, &hashes(1 + reads % seen, HASHES)));
                    reads += 1;
                }
                reads
            })
        });
        let start = Instant::now();
        while start.elapsed() < time {
            std::thread::sleep(Duration::from_millis(10));
        }
        done.store(true, Ordering::Relaxed);
        readers.map(|reader| reader.join().unwrap())
    });
    assert!(reads.iter().all(|reads| *reads > 0), "{reads:?}");
    let view = Options::new().read(path).unwrap();
    assert_eq!(round_of(&view.notes), last.load(Ordering::SeqCst));
    for number in 1..=last.load(Ordering::SeqCst) {
        assert!(has(&view.filter, &hashes(number, HASHES)), "commit {number}");
    }
}

#[test]
fn two_writers_and_three_readers() {
    together_for(Duration::from_secs(2), 1);
}

#[test]
fn two_writers_and_three_readers_with_background_snapshots() {
    together_for(Duration::from_secs(2), 60);
}

#[test]
#[ignore = "one minute"]
fn two_writers_and_three_readers_for_a_minute() {
    together_for(Duration::from_secs(30), 1);
    together_for(Duration::from_secs(30), 60);
}
