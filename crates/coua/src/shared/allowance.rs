//! The number of items that all shards together may still store.
//!
//! Shards are changed concurrently, so none of them can know whether `max_items` is reached. Before a writer begins it
//! takes a permit for the most items that it may store, and it returns what it did not use. While enough is left,
//! writers do this concurrently. If less is left than a writer wants, other permits may hold the rest without using it.
//! So the writer waits until no other permit is held. A refusal is therefore always correct: `max_items` items were
//! stored at that moment.

#[cfg(all(loom, test))]
use loom::sync::{
    RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicU64, Ordering},
};
#[cfg(not(all(loom, test)))]
use std::sync::{
    RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicU64, Ordering},
};

/// The number of items that are stored or permitted, and its limit.
pub(super) struct Allowance {
    /// `u64::MAX`: no limit, and nothing is counted.
    max_items: u64,
    taken: AtomicU64,
    gate: RwLock<()>,
}

/// A permit to store some items; the unused part is returned when it is dropped.
pub(super) struct Permit<'a> {
    allowance: &'a Allowance,
    /// Permitted items that are not stored yet. The holder subtracts those that it stores.
    pub(super) items: u64,
    _gate: Gate<'a>,
}

/// A lock held as long as the permit. The field is declared last, so the unused part is returned before the lock is.
#[expect(dead_code, reason = "held, not read")]
enum Gate<'a> {
    Unguarded,
    Shared(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

const UNPOISONED: &str = "nothing panics between taking and giving back";

impl Allowance {
    pub(super) fn new(max_items: u64, stored: u64) -> Self {
        Self { max_items, taken: AtomicU64::new(stored), gate: RwLock::new(()) }
    }

    /// A permit for `wanted` items, or for all that are left if they are fewer.
    pub(super) fn permit(&self, wanted: u64) -> Permit<'_> {
        if self.max_items == u64::MAX {
            return Permit { allowance: self, items: u64::MAX, _gate: Gate::Unguarded };
        }
        let gate = self.gate.read().expect(UNPOISONED);
        if self.reserve(wanted) {
            return Permit { allowance: self, items: wanted, _gate: Gate::Shared(gate) };
        }
        drop(gate);
        let gate = self.gate.write().expect(UNPOISONED);
        let left = self.max_items.saturating_sub(self.taken.load(Ordering::Relaxed));
        // With exclusive access: meanwhile the count can only fall, by removals.
        let items = wanted.min(left);
        self.taken.fetch_add(items, Ordering::Relaxed);
        Permit { allowance: self, items, _gate: Gate::Alone(gate) }
    }

    fn reserve(&self, wanted: u64) -> bool {
        let within = |taken: u64| taken.checked_add(wanted).filter(|&sum| sum <= self.max_items);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    /// Returns items that were removed, or were permitted and not used.
    pub(super) fn give_back(&self, items: u64) {
        if self.max_items != u64::MAX && items > 0 {
            self.taken.fetch_sub(items, Ordering::Relaxed);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.allowance.give_back(self.items);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_spent_goes_back() {
        let allowance = Allowance::new(10, 4);
        let mut permit = allowance.permit(5);
        assert_eq!(permit.items, 5);
        permit.items -= 2;
        drop(permit);
        assert_eq!(allowance.permit(100).items, 4);
        allowance.give_back(3);
        assert_eq!(allowance.permit(7).items, 7);
        assert_eq!(Allowance::new(3, 9).permit(1).items, 0);
        assert_eq!(Allowance::new(u64::MAX, 9).permit(1).items, u64::MAX);
    }

    #[test]
    fn a_loan_never_makes_another_be_refused() {
        // Each thread borrows 60 of 100 and spends 10: one after the other, all nine find room.
        let allowance = Allowance::new(100, 0);
        let refused = std::thread::scope(|scope| {
            let ask = || {
                let mut permit = allowance.permit(60);
                let refused = permit.items < 10;
                std::thread::yield_now();
                permit.items -= permit.items.min(10);
                refused
            };
            let threads: Vec<_> = (0..9).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().any(|thread| thread.join().unwrap())
        });
        assert!(!refused);
        assert_eq!(allowance.permit(100).items, 10);
    }
}

/// Tests of every interleaving of threads.
#[cfg(test)]
#[cfg(loom)]
mod orders {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// The numbers of items that threads store if each gets a permit for `wanted` items and stores at most `used`.
    fn stored(max_items: u64, wanted: u64, used: u64, threads: usize) -> Vec<u64> {
        let allowance = Arc::new(Allowance::new(max_items, 0));
        let store = || {
            let allowance = Arc::clone(&allowance);
            move || {
                let mut permit = allowance.permit(wanted);
                let items = used.min(permit.items);
                permit.items -= items;
                items
            }
        };
        let others: Vec<_> = (1..threads).map(|_| thread::spawn(store())).collect();
        let mut stored = vec![store()()];
        stored.extend(others.into_iter().map(|thread| thread.join().unwrap()));
        assert_eq!(allowance.taken.load(Ordering::Relaxed), stored.iter().sum::<u64>());
        stored
    }

    #[test]
    fn the_limit_is_kept_and_reached() {
        loom::model(|| assert_eq!(stored(3, 2, 2, 2).iter().sum::<u64>(), 3));
        loom::model(|| assert_eq!(stored(5, 2, 2, 3).iter().sum::<u64>(), 5));
    }

    #[test]
    fn nobody_is_refused_for_what_others_do_not_use() {
        loom::model(|| assert_eq!(stored(4, 3, 2, 2), [2, 2]));
    }
}
