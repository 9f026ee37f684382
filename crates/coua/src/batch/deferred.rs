//! The keys of a chunk that are deferred to the second pass, by segment.

use crate::filter::Repeat;

/// The end of a run.
const END: u32 = u32::MAX;

/// A deferred key. Small, because a chunk may have thousands: its place is computed again.
#[derive(Clone, Copy, Debug)]
struct DeferredKey {
    /// The number of the key in the batch, counted from the chunk's first key.
    number: u32,
    /// The next one of the same run.
    next: u32,
}

/// The deferred keys of one segment, in their order: the first remaining one, and the last.
#[derive(Clone, Copy, Debug)]
struct Run {
    segment: u32,
    first: u32,
    last: u32,
    /// The number of remaining keys.
    keys: u32,
}

/// The runs of a chunk, in the order of their first keys.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// The chunk's first key.
    chunk: usize,
    keys: Vec<DeferredKey>,
    runs: Vec<Run>,
    /// For each segment, the number of its run plus 1, or 0 if it is not blocked.
    run_of: Vec<u16>,
    /// Blocked segments.
    pub(super) blocked: usize,
    /// Keys that are not inserted yet.
    pub(super) waiting: usize,
    /// Runs that need their segments to split, or must wait for the splits of others: their keys stay.
    pub(super) stuck: usize,
    /// The next key may be refused, so it is not deferred.
    pub(super) may_be_refused: bool,
}

impl Deferred {
    /// Begins a chunk of keys for a filter of `segments` segments.
    pub(super) fn begin_chunk(&mut self, first: usize, segments: usize) {
        self.chunk = first;
        self.may_be_refused = false;
        if self.run_of.len() < segments {
            self.run_of.resize(segments, 0);
        }
    }

    /// Whether a segment has deferred keys: those after them must be deferred too.
    pub(super) fn is_blocked(&self, segment: u32) -> bool {
        self.run_of[segment as usize] != 0
    }

    /// Appends a key to the run of its segment.
    #[inline(always)]
    pub(super) fn push(&mut self, number: usize, segment: u32) {
        let place = self.keys.len() as u32;
        self.keys.push(DeferredKey { number: (number - self.chunk) as u32, next: END });
        self.waiting += 1;
        let run = &mut self.run_of[segment as usize];
        if *run == 0 {
            self.runs.push(Run { segment, first: place, last: place, keys: 1 });
            *run = self.runs.len() as u16;
            self.blocked += 1;
        } else {
            let run = &mut self.runs[usize::from(*run) - 1];
            if run.first == END {
                run.first = place;
            } else {
                self.keys[run.last as usize].next = place;
            }
            run.last = place;
            run.keys += 1;
        }
    }

    /// The remaining keys of a segment.
    #[inline(always)]
    pub(super) fn waiting_in(&self, segment: u32) -> u32 {
        let run = usize::from(self.run_of[segment as usize]);
        self.runs.get(run.wrapping_sub(1)).map_or(0, |run| run.keys)
    }

    /// The number of runs.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Ends a run whose keys are all inserted: its segment is no longer blocked.
    #[inline(always)]
    pub(super) fn end(&mut self, run: usize) {
        self.run_of[self.runs[run].segment as usize] = 0;
        self.blocked -= 1;
    }

    /// The number of the first remaining key of a run.
    #[inline(always)]
    pub(super) fn first(&self, run: usize) -> Option<usize> {
        let first = self.keys.get(self.runs.get(run)?.first as usize)?;
        Some(self.chunk + first.number as usize)
    }

    /// Removes the first key of a run.
    #[inline(always)]
    pub(super) fn pop(&mut self, run: usize) {
        let run = &mut self.runs[run];
        run.first = self.keys[run.first as usize].next;
        run.keys -= 1;
        self.waiting -= 1;
    }

    /// Removes the repeats that come after remaining keys of their segments, and returns their numbers.
    pub(super) fn take_later(&self, repeats: &mut Vec<Repeat>) -> Vec<usize> {
        let mut later = Vec::new();
        if self.waiting > 0 {
            repeats.retain(|repeat| {
                let run = usize::from(self.run_of[repeat.segment as usize]).wrapping_sub(1);
                let is_later = self.first(run).is_some_and(|first| first < repeat.number);
                later.extend(is_later.then_some(repeat.number));
                !is_later
            });
        }
        later
    }

    /// Removes all runs, and returns the numbers of their remaining keys.
    pub(super) fn drain(&mut self) -> Vec<usize> {
        let mut left = Vec::new();
        for run in self.runs.drain(..) {
            self.run_of[run.segment as usize] = 0;
            let mut next = run.first;
            while let Some(key) = self.keys.get(next as usize) {
                left.push(self.chunk + key.number as usize);
                next = key.next;
            }
        }
        self.keys.clear();
        (self.blocked, self.waiting, self.stuck) = (0, 0, 0);
        left
    }
}
