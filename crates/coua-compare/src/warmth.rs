//! Memory that was in use a moment ago.
//!
//! Virtual machines give memory back that they do not use for some seconds. Taken again, each page comes from the
//! host first, which can take fifty times as long as it takes the system to clear it: whoever
//! comes after a pause would pay for it, and so would whoever grows. So memory is used and given back
//! before, and again and again while a filter grows.

use std::time::{Duration, Instant};

use memmap2::{Advice, MmapMut};
use serde::{Deserialize, Serialize};

use crate::contestant::{Entry, Plan};

/// How long memory stays warm: every two seconds systems give back what is free then.
const STAYS: Duration = Duration::from_secs(1);
/// Of that, how long a little of it may be cold.
const A_LITTLE_STAYS: Duration = Duration::from_millis(50);
/// Bytes that a filter may take in that time without doubling.
const A_LITTLE: usize = 16 << 20;
const SMALL_PAGE: usize = 4 << 10;
const HUGE_PAGE: usize = 2 << 20;

/// Keeps memory warm.
#[derive(Debug, Default)]
pub(crate) struct Warmth {
    bytes: usize,
    /// When all of it was in use last, and when a little of it.
    last: Option<(Instant, Instant)>,
    touches: Option<Touches>,
}

/// What it took to touch 2 MiB of memory, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Touches {
    /// Where it was warm.
    pub(crate) least: f64,
    /// Where it came from the host, if it ever did.
    pub(crate) most: f64,
}

impl Warmth {
    /// For what this contestant takes at most.
    pub(crate) fn begin<K>(&mut self, entry: &Entry<K>, plan: Plan) {
        self.bytes = (entry.peak * plan.items as f64) as usize;
        self.last = None;
        self.keep();
    }

    /// Uses memory and gives it back, unless that was done a moment ago: all of it, or a little in between.
    pub(crate) fn keep(&mut self) {
        let bytes = self.due(Instant::now());
        if bytes == 0 {
            return;
        }
        self.touch(bytes);
        let now = Instant::now();
        let all = self.last.map_or(now, |(all, _)| all);
        self.last = Some(if bytes == self.bytes { (now, now) } else { (all, now) });
    }

    /// How many bytes are no longer warm for certain.
    fn due(&self, now: Instant) -> usize {
        match self.last {
            Some((_, little)) if now - little < A_LITTLE_STAYS => 0,
            Some((all, _)) if now - all < STAYS => A_LITTLE.min(self.bytes),
            _ => self.bytes,
        }
    }

    fn touch(&mut self, bytes: usize) {
        // Where there is none, there is nothing to be warmed.
        let Ok(mut memory) = MmapMut::map_anon(bytes.max(HUGE_PAGE)) else { return };
        drop(memory.advise(Advice::HugePage));
        for piece in memory.chunks_exact_mut(HUGE_PAGE) {
            let start = Instant::now();
            piece.iter_mut().step_by(SMALL_PAGE).for_each(|byte| *byte = 1);
            self.note(start.elapsed().as_secs_f64() * 1e6);
        }
    }

    fn note(&mut self, microseconds: f64) {
        let touches = self.touches.get_or_insert(Touches { least: f64::INFINITY, most: 0.0 });
        touches.least = touches.least.min(microseconds);
        touches.most = touches.most.max(microseconds);
    }

    /// What that took.
    pub(crate) fn touches(&self) -> Option<Touches> {
        self.touches
    }
}

impl std::fmt::Display for Touches {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { least, most } = self;
        write!(
            out,
            "Memory was in use a moment before: to touch 2 MiB of it took {least:.0} us, of other memory up to {most:.0}."
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Warmth;
    use crate::contestant::{Entry, Plan};

    #[test]
    fn memory_is_touched_before_and_again_when_it_is_due() {
        let mut warmth = Warmth::default();
        assert_eq!(warmth.touches(), None);
        let entry = Entry::<u64>::new("one", "", 32.0);
        warmth.begin(&entry, Plan { items: 1 << 20, rate: 0.01 });
        let touches = warmth.touches().unwrap();
        assert!(touches.least > 0.0 && touches.least <= touches.most);
        let (all, _) = warmth.last.unwrap();
        let due = |milliseconds| warmth.due(all + Duration::from_millis(milliseconds));
        assert_eq!([0, 49, 50, 999, 1000].map(due), [0, 0, 16 << 20, 16 << 20, 32 << 20]);
    }
}
