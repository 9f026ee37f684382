//! When checkpoints come.

use std::time::{Duration, Instant};

/// Checkpoints take at most one part in so many of the time, unless they are to come all the time: a large
/// filter that changes all over takes seconds to write.
const SHARE: u32 = 10;

#[derive(Debug)]
pub(super) struct Schedule {
    every: Duration,
    /// When the last checkpoint began.
    began: Instant,
    /// When it was done.
    last: Instant,
}

impl Schedule {
    pub(super) fn new(every: Duration) -> Self {
        let now = Instant::now();
        Self { every, began: now, last: now }
    }

    pub(super) fn is_due(&self) -> bool {
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        let took = self.last.saturating_duration_since(self.began);
        self.last.elapsed() >= self.every.max(rest * took)
    }

    /// A checkpoint begins.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// It is done.
    pub(super) fn done(&mut self) {
        self.last = Instant::now();
    }
}
