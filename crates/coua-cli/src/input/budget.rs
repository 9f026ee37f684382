//! How many bytes of blocks with giant records may be on their way.
//!
//! The queues between threads count blocks. That bounds the memory as long as blocks are of one size; of those
//! that have grown for a giant record, the bytes count.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that grown blocks may have together. Two may be there in any case, so that one is filled while another
/// is worked on.
const MOST: usize = 64 << 20;

/// What the grown blocks of a run have.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    bytes: Mutex<usize>,
    returned: Condvar,
}

/// What one of them has, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A share of so many bytes, in place of the one that the block has. Waits until others have given back
    /// enough; they need nothing of the thread that waits, which takes all shares.
    pub(super) fn share(self: &Arc<Self>, instead_of: Option<Share>, bytes: usize) -> Share {
        drop(instead_of);
        let mut others = self.bytes();
        while !fits(*others, bytes) {
            others = self.returned.wait(others).unwrap_or_else(PoisonError::into_inner);
        }
        *others += bytes;
        Share { budget: self.clone(), bytes }
    }

    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.bytes() -= self.bytes;
        self.budget.returned.notify_one();
    }
}

/// Whether there is room for a block where the others have so much.
fn fits(others: usize, bytes: usize) -> bool {
    others == 0 || others.saturating_add(bytes) <= MOST.max(bytes.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn two_blocks_fit_always_and_more_of_them_if_they_are_small() {
        assert!(fits(0, usize::MAX) && fits(1 << 40, 1 << 40) && !fits(1 << 40, 1 << 30));
        assert!(fits(MOST - 1, 1) && !fits(MOST, 1));
        assert!(fits(MOST / 4 * 3, MOST / 4) && !fits(MOST / 2 + 1, MOST / 2));
    }

    #[test]
    fn who_waits_goes_on_when_enough_is_given_back() {
        let budget = Arc::new(Budget::default());
        let [first, second] = [0; 2].map(|_| budget.share(None, MOST / 2));
        let (sender, shares) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(budget.share(None, MOST / 2)).unwrap());
            drop(first);
            let third = shares.recv().unwrap();
            assert_eq!(*budget.bytes(), MOST);
            let larger = budget.share(Some(third), MOST / 4);
            assert_eq!(*budget.bytes(), MOST / 4 * 3);
            drop((second, larger));
        });
        assert_eq!(*budget.bytes(), 0);
    }
}
