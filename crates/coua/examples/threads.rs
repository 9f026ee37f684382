//! One filter for many threads: of those that insert a key at the same time, one is told that it is new.

use std::thread;

use coua::{CuckooFilter, SharedCuckooFilter};

fn main() {
    let seen = SharedCuckooFilter::new();
    let count_new = || {
        let keys: Vec<u32> = (0..10_000).collect();
        let outcomes = seen.insert_unique_batch(&keys).expect("it grows");
        outcomes.iter().filter(|outcome| outcome.is_new()).count()
    };
    let new: usize = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(count_new));
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    });
    assert_eq!(new, 10_000);

    let plain: CuckooFilter = seen.snapshot().expect("memory");
    assert_eq!(plain.len(), 10_000);
}
