//! The turn of one contestant: it is filled to its capacity, looked up and emptied.

use std::alloc::System;
use std::fmt;

use cap::Cap;
use coua_bench::keys::{ABSENT, keys};
use coua_bench::timing::{thread_time, timed};

use crate::peers::{Contestant, Plan};

/// Counts the allocations of the contestants, without mappings.
#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Enough strangers to measure a rate of 0.001 to a hundredth.
const MOST_STRANGERS: u64 = 10_000_000;

/// The results of a turn, by name.
#[derive(Debug, Default)]
pub(crate) struct Turn(Vec<(&'static str, f64)>);

impl fmt::Display for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| writeln!(out, "{name} {value}"))
    }
}

impl Turn {
    /// Plays a turn.
    pub(crate) fn play(filter: &mut dyn Contestant, plan: Plan) -> Self {
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
        turn
    }

    /// Inserts all keys; returns the refused ones.
    fn fill(&mut self, filter: &mut dyn Contestant, plan: Plan) -> Vec<u64> {
        let mut refused = Vec::new();
        let insert = timed(keys(0..plan.items), |block| filter.insert(block, &mut refused));
        // Filters that are built at once take their time here.
        let start = thread_time();
        filter.seal();
        let seal = thread_time().saturating_sub(start).as_secs_f64() * 1e9 / plan.items as f64;
        self.0.push(("insert", insert + seal));
        refused
    }

    /// Looks up members and strangers; returns the number of members found.
    fn ask(&mut self, filter: &dyn Contestant, plan: Plan) -> u64 {
        let mut look_up = |name, numbers| {
            let mut found = 0;
            let time = timed(keys(numbers), |block| found += filter.contains(block));
            self.0.push((name, time));
            found
        };
        let strangers = (plan.items * 4).min(MOST_STRANGERS);
        let members = look_up("present", 0..plan.items);
        let wrong = look_up("absent", ABSENT..ABSENT + strangers);
        self.0.push(("rate", wrong as f64 / strangers as f64));
        members
    }

    fn empty(&mut self, filter: &mut dyn Contestant, members: u64) {
        if filter.remove(&[]).is_none() {
            return;
        }
        let mut removed = 0;
        // Only removals of members: removing keys that were never added would remove others.
        let time = timed(keys(0..members), |block| {
            removed += filter.remove(block).unwrap_or(0);
        });
        self.0.extend([("remove", time), ("not_removed", (members - removed) as f64)]);
    }
}
