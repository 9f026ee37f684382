//! How many bytes of blocks with giant records may be on their way.
//!
//! The queues between threads count blocks. That bounds the memory as long as blocks are of one size; of those
//! that have grown for a giant record, the bytes count.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that grown blocks may have together. Two may be there in any case, so that one is filled while another
/// is worked on.
const MOST: usize = 64 << 20;

/// Bytes of the largest buffer that is kept for the next giant record.
const LARGEST_SPARE: usize = MOST / 2;

/// What the grown blocks of a run have.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    state: Mutex<BudgetState>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct BudgetState {
    /// Of all shares.
    bytes: usize,
    /// The buffer of a block that has given its share back, for the next one: where one giant record comes
    /// after the other, new memory from the system would cost more than reading them.
    spare: Vec<u8>,
}

/// What one of them has, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A share of so many bytes, in place of the one that the block has. Waits until others have given back
    /// enough; they need nothing of the thread that waits, which takes all shares. If there is a buffer of as
    /// many bytes or more, the share comes with it.
    pub(crate) fn share(
        self: &Arc<Self>,
        instead_of: Option<Share>,
        bytes: usize,
    ) -> (Share, Option<Vec<u8>>) {
        drop(instead_of);
        let mut state = self.state();
        while !fits(state.bytes, bytes) {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let spare = mem::take(&mut state.spare);
        let spare = Some(spare).filter(|it| it.len() >= bytes && fits(state.bytes, it.len()));
        let bytes = spare.as_ref().map_or(bytes, Vec::len);
        state.bytes += bytes;
        (Share { budget: self.clone(), bytes }, spare)
    }

    /// Lets the buffer go that is kept for the next giant record: no such record came.
    pub(crate) fn drop_spare(&self) {
        drop(mem::take(&mut self.state().spare));
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Gives it back, and the buffer that it was for.
    pub(crate) fn give_back(self, buffer: Vec<u8>) {
        let mut state = self.budget.state();
        if (state.spare.len()..=LARGEST_SPARE).contains(&buffer.len()) {
            state.spare = buffer;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.state().bytes -= self.bytes;
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
        let [first, second] = [0; 2].map(|_| budget.share(None, MOST / 2).0);
        let (sender, shares) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(budget.share(None, MOST / 2).0).unwrap());
            drop(first);
            let third = shares.recv().unwrap();
            assert_eq!(budget.state().bytes, MOST);
            let smaller = budget.share(Some(third), MOST / 4).0;
            assert_eq!(budget.state().bytes, MOST / 4 * 3);
            drop((second, smaller));
        });
        assert_eq!(budget.state().bytes, 0);
    }

    #[test]
    fn a_buffer_goes_to_the_next_giant_if_it_comes_at_once() {
        let budget = Arc::new(Budget::default());
        let give_back = |bytes| budget.share(None, bytes).0.give_back(vec![7; bytes]);
        let spare = |bytes| budget.share(None, bytes).1.map(|it| it.len());
        give_back(3000);
        assert_eq!([spare(2000), spare(2000)], [Some(3000), None]);
        give_back(3000);
        assert_eq!([spare(4000), spare(2000)], [None, None], "too small, and in nobody's way");
        give_back(3000);
        budget.drop_spare();
        assert_eq!(spare(2000), None);
        give_back(LARGEST_SPARE + 1);
        assert_eq!((spare(2000), budget.state().bytes), (None, 0));
    }
}
