//! One contestant from empty to all items: what inserts cost on the way, and how memory grows.

use std::time::Instant;

use crate::contestant::{Contestant, Make, Plan, Way};
use crate::host;
use crate::keys::{Key, Row};
use crate::measure::{thread_time, timed};
use crate::warmth::Warmth;

/// What inserting all items in blocks shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// Nanoseconds a key in each window.
    pub(crate) windows: Vec<f64>,
    /// Nanoseconds a key over all.
    pub(crate) mean: f64,
    /// Bytes allocated at the end of each window.
    pub(crate) memory: Vec<f64>,
    /// The largest growth of allocated memory within one block of keys, in bytes, less a hundredth
    /// of what was allocated before.
    pub(crate) step: f64,
    /// The most bytes the process held beyond those it began with.
    pub(crate) peak: f64,
    /// Bytes by which the process has grown at the end.
    pub(crate) resident: f64,
    /// The share of strangers taken for members at the end.
    pub(crate) rate: f64,
    /// Keys that were taken and are not found.
    pub(crate) lost: u64,
    /// Keys that were refused.
    pub(crate) refused: u64,
}

/// Where windows end: at equal distances, or at equal ratios for what grows.
pub(crate) fn windows(items: u64, way: Way) -> Vec<u64> {
    if way != Way::Growing {
        return (1..=100).map(|part| items * part / 100).collect();
    }
    let mut ends = vec![items];
    while let Some(&end) = ends.last()
        && end > 10_000
    {
        ends.push((end as f64 / 1.1) as u64);
    }
    ends.reverse();
    ends
}

impl Course {
    /// Runs it, in memory that is kept warm.
    pub(crate) fn run<K: Key>(
        make: Make<K>,
        plan: Plan,
        ends: &[u64],
        warmth: &mut Warmth,
    ) -> Result<Self, String> {
        let mut course = Self::default();
        host::forget_peak();
        let start = (host::allocated(), host::resident().unwrap_or(0) as f64);
        let mut contestant = make(plan)?;
        let bytes = |contestant: &dyn Contestant<K>| {
            let counted = host::allocated().saturating_sub(start.0);
            contestant.memory_bytes().unwrap_or(counted) as f64
        };
        let mut refused = Vec::new();
        let (mut from, mut before) = (0, bytes(contestant.as_ref()));
        let mut peak = 0;
        for &end in ends {
            // Of the memory in use then, only that of the contestant counts.
            peak = peak.max(host::peak().unwrap_or(0));
            warmth.keep();
            host::forget_peak();
            let mut step = 0.0;
            let time = timed(Row::Present.keys(from..end), |block| {
                contestant.insert(block, &mut refused);
                let after = bytes(contestant.as_ref());
                step = f64::max(step, after - before - before / 100.0);
                before = after;
            });
            course.mean += time * (end - from) as f64 / plan.items as f64;
            course.windows.push(time);
            course.memory.push(before);
            course.step = course.step.max(step);
            from = end;
        }
        peak = peak.max(host::peak().unwrap_or(0));
        course.peak = (peak as f64 - start.1).max(0.0);
        course.resident = (host::resident().unwrap_or(0) as f64 - start.1).max(0.0);
        // Filters that are built at once take their time here.
        let sealing = thread_time();
        contestant.seal();
        let sealing = thread_time().saturating_sub(sealing);
        course.mean += sealing.as_secs_f64() * 1e9 / plan.items as f64;
        course.judge(contestant.as_ref(), plan, &refused);
        Ok(course)
    }

    fn judge<K: Key>(&mut self, contestant: &dyn Contestant<K>, plan: Plan, refused: &[K]) {
        let count = |row: Row, keys: u64| {
            let mut found = 0;
            timed(row.keys(0..keys), |block| {
                found += contestant.contains(block);
            });
            found
        };
        let strangers = (plan.items * 4).min(20_000_000);
        self.rate = count(Row::Absent, strangers) as f64 / strangers as f64;
        self.refused = refused.len() as u64;
        let rightly = self.refused - contestant.contains(refused);
        self.lost = (plan.items - count(Row::Present, plan.items)).saturating_sub(rightly);
    }
}

/// The longest single insert in each group of inserts, in nanoseconds by the clock.
///
/// A clock also counts what other processes take. Such pauses fall on other inserts in every round,
/// a filter's own on the same ones: the least over the rounds, group by group, leaves the filter's.
pub(crate) fn longest<K: Key>(
    make: Make<K>,
    plan: Plan,
    warmth: &mut Warmth,
) -> Result<Vec<f64>, String> {
    let mut contestant = make(plan)?;
    let mut refused = Vec::new();
    let mut groups = Vec::with_capacity((plan.items as usize).div_ceil(K::BLOCK));
    timed(Row::Present.keys::<K>(0..plan.items), |block| {
        warmth.keep();
        let mut longest = 0.0;
        for key in block {
            let start = Instant::now();
            contestant.insert(std::slice::from_ref(key), &mut refused);
            longest = f64::max(longest, start.elapsed().as_secs_f64() * 1e9);
        }
        groups.push(longest);
    });
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::windows;
    use crate::contestant::Way;

    #[test]
    fn windows_reach_from_the_start_to_the_end() {
        for way in [Way::Stated, Way::Growing] {
            let ends = windows(1_000_000, way);
            assert!(ends.is_sorted() && ends[0] <= 10_000);
            assert_eq!(ends.last(), Some(&1_000_000));
        }
        assert_eq!(windows(5, Way::Growing), [5]);
    }
}
