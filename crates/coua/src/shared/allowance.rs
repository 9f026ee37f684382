//! How many items all shards together may still take.
//!
//! Shards are changed side by side, so none of them can know whether `max_items` is reached. A writer
//! takes leave for as many items as it may store before it begins, and gives back what it did not
//! need. While plenty is left, writers do so side by side. Where less is left than one asks for, the
//! reason may be another's leave that will not be used; so it waits until it is alone and nothing is
//! on loan. A refusal is therefore always true: `max_items` items were stored at that moment.

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

/// The count of items stored or on loan, with its limit.
pub(super) struct Allowance {
    /// `u64::MAX`: no limit, and nothing is counted.
    max_items: u64,
    taken: AtomicU64,
    gate: RwLock<()>,
}

/// Leave to store some items; what is not spent goes back when it is dropped.
pub(super) struct Grant<'a> {
    allowance: &'a Allowance,
    items: u64,
    spent: u64,
    _gate: Gate<'a>,
}

/// Held as long as the grant. Declared last: what is left goes back before others may look.
#[expect(dead_code, reason = "held, not read")]
enum Gate<'a> {
    Unguarded,
    BesideOthers(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

const UNPOISONED: &str = "nothing panics between taking and giving back";

impl Allowance {
    pub(super) fn new(max_items: u64, stored: u64) -> Self {
        Self { max_items, taken: AtomicU64::new(stored), gate: RwLock::new(()) }
    }

    /// Leave for `wanted` items, or for all that are left if they are fewer.
    pub(super) fn grant(&self, wanted: u64) -> Grant<'_> {
        if self.max_items == u64::MAX {
            return Grant { allowance: self, items: u64::MAX, spent: 0, _gate: Gate::Unguarded };
        }
        let gate = self.gate.read().expect(UNPOISONED);
        if self.take(wanted) {
            return Grant {
                allowance: self,
                items: wanted,
                spent: 0,
                _gate: Gate::BesideOthers(gate),
            };
        }
        drop(gate);
        let gate = self.gate.write().expect(UNPOISONED);
        let left = self.max_items.saturating_sub(self.taken.load(Ordering::Relaxed));
        // Alone: the count can only fall meanwhile, by removals.
        let items = wanted.min(left);
        self.taken.fetch_add(items, Ordering::Relaxed);
        Grant { allowance: self, items, spent: 0, _gate: Gate::Alone(gate) }
    }

    fn take(&self, wanted: u64) -> bool {
        let within = |taken: u64| taken.checked_add(wanted).filter(|&sum| sum <= self.max_items);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    /// Items were removed, or leave was not used.
    pub(super) fn give_back(&self, items: u64) {
        if self.max_items != u64::MAX && items > 0 {
            self.taken.fetch_sub(items, Ordering::Relaxed);
        }
    }
}

impl Grant<'_> {
    pub(super) fn items(&self) -> u64 {
        self.items
    }

    /// So many items were stored, no more than were granted.
    pub(super) fn spend(&mut self, items: u64) {
        self.spent += items;
    }
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        self.allowance.give_back(self.items - self.spent);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_spent_goes_back() {
        let allowance = Allowance::new(10, 4);
        let mut grant = allowance.grant(5);
        assert_eq!(grant.items(), 5);
        grant.spend(2);
        drop(grant);
        assert_eq!(allowance.grant(100).items(), 4);
        allowance.give_back(3);
        assert_eq!(allowance.grant(7).items(), 7);
        assert_eq!(Allowance::new(3, 9).grant(1).items(), 0);
        assert_eq!(Allowance::new(u64::MAX, 9).grant(1).items(), u64::MAX);
    }

    #[test]
    fn a_loan_never_makes_another_be_refused() {
        // Each thread borrows 60 of 100 and spends 10: one after the other, all nine find room.
        let allowance = Allowance::new(100, 0);
        let refused = std::thread::scope(|scope| {
            let ask = || {
                let mut grant = allowance.grant(60);
                let refused = grant.items() < 10;
                std::thread::yield_now();
                grant.spend(grant.items().min(10));
                refused
            };
            let threads: Vec<_> = (0..9).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().any(|thread| thread.join().unwrap())
        });
        assert!(!refused);
        assert_eq!(allowance.grant(100).items(), 10);
    }
}

/// In every order that threads can have.
#[cfg(all(test, loom))]
mod orders {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// What threads store that ask for leave for `wanted` items each, and store no more than `used`.
    fn stored(max_items: u64, wanted: u64, used: u64, threads: usize) -> Vec<u64> {
        let allowance = Arc::new(Allowance::new(max_items, 0));
        let store = || {
            let allowance = Arc::clone(&allowance);
            move || {
                let mut grant = allowance.grant(wanted);
                let items = used.min(grant.items());
                grant.spend(items);
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
