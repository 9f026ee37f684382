//! One contestant's life: it is filled to its capacity, asked, emptied.

use std::alloc::System;
use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use cap::Cap;
use rustix::time::{ClockId, clock_gettime};

use crate::contestant::{Contestant, Plan};
use crate::keys::{Key, Row};

/// Counts what the contestants allocate. Mappings are not among it.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Keys that a contestant is given at a time: few enough for the caches, many enough for a batch.
const BLOCK: usize = 4096;
/// Enough strangers for a rate of 0.001 within a hundredth, and no more.
const MOST_STRANGERS: u64 = 10_000_000;

/// What a turn yields, by name.
#[derive(Debug, Default)]
pub(crate) struct Turn(Vec<(&'static str, f64)>);

impl fmt::Display for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
    }
}

impl Turn {
    /// Plays it.
    pub(crate) fn play<K: Key>(filter: &mut dyn Contestant<K>, plan: Plan) -> Result<Self, String> {
        let mut turn = Self::default();
        let refused = turn.fill(filter, plan);
        let bytes = filter.memory_bytes().unwrap_or_else(|| ALLOCATED.allocated());
        let missing = plan.items - turn.ask(filter, plan);
        let rightly = refused.len() as u64 - filter.contains(&refused);
        turn.empty(filter, plan.items - missing);
        turn.0.extend([
            ("bytes", bytes as f64),
            ("refused", refused.len() as f64),
            ("lost", missing.saturating_sub(rightly) as f64),
        ]);
        Ok(turn)
    }

    /// Inserts all keys; those that were refused come back.
    fn fill<K: Key>(&mut self, filter: &mut dyn Contestant<K>, plan: Plan) -> Vec<K> {
        let mut refused = Vec::new();
        let keys = Row::Present.keys(0..plan.items);
        let insert = timed(keys, |block| filter.insert(block, &mut refused));
        // Filters that are built at once take their time here.
        let start = thread_time();
        filter.seal();
        let seal = thread_time().saturating_sub(start).as_secs_f64() * 1e9 / plan.items as f64;
        self.0.push(("insert", insert + seal));
        refused
    }

    /// Looks up members and strangers; how many members were found.
    fn ask<K: Key>(&mut self, filter: &dyn Contestant<K>, plan: Plan) -> u64 {
        let mut look_up = |name, keys: &mut dyn Iterator<Item = K>| {
            let mut found = 0;
            let time = timed(keys, |block| found += filter.contains(block));
            self.0.push((name, time));
            found
        };
        let strangers = (plan.items * 4).min(MOST_STRANGERS);
        let members = look_up("present", &mut Row::Present.keys(0..plan.items));
        let wrong = look_up("absent", &mut Row::Absent.keys(0..strangers));
        self.0.push(("rate", wrong as f64 / strangers as f64));
        members
    }

    fn empty<K: Key>(&mut self, filter: &mut dyn Contestant<K>, members: u64) {
        if filter.remove(&[]).is_none() {
            return;
        }
        let mut removed = 0;
        // As many removals as members; those of keys that it never had would take strangers away.
        let time = timed(Row::Present.keys(0..members), |block| {
            removed += filter.remove(block).unwrap_or(0);
        });
        self.0.extend([("remove", time), ("not_removed", (members - removed) as f64)]);
    }
}

/// Nanoseconds of processor time a key that `work` takes for these keys, block by block. Making the keys is not
/// counted, nor is time in which another process had the processor.
fn timed<K: Key>(mut keys: impl Iterator<Item = K>, mut work: impl FnMut(&[K])) -> f64 {
    let mut block = Vec::with_capacity(BLOCK);
    let mut spent = Duration::ZERO;
    let mut count = 0;
    loop {
        block.clear();
        block.extend(keys.by_ref().take(BLOCK));
        if block.is_empty() {
            return spent.as_secs_f64() * 1e9 / f64::max(count as f64, 1.0);
        }
        let start = thread_time();
        work(black_box(&block));
        spent += thread_time().saturating_sub(start);
        count += block.len();
    }
}

/// Processor time that this thread has had.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::timed;
    use crate::keys::Row;

    #[test]
    fn every_key_is_worked_on_once() {
        let mut count = 0;
        timed(Row::Present.keys::<u64>(10..100_000), |block| count += block.len());
        assert_eq!(count, 99_990);
    }
}
