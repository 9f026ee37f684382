//! Time per key, and what many rounds say together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::keys::{Key, Row};

/// Nanoseconds of processor time a key that `work` takes for these keys, block by block. Making the
/// keys is not counted, nor time in which another process had the processor.
pub(crate) fn timed<K: Key>(keys: impl Iterator<Item = K>, work: impl FnMut(&[K])) -> f64 {
    timed_in(K::BLOCK, keys, work)
}

/// [`timed`] with blocks of another size.
pub(crate) fn timed_in<K: Key>(
    size: usize,
    mut keys: impl Iterator<Item = K>,
    mut work: impl FnMut(&[K]),
) -> f64 {
    let mut block = Vec::with_capacity(size);
    let mut spent = Duration::ZERO;
    let mut count = 0;
    loop {
        block.clear();
        block.extend(keys.by_ref().take(size));
        if block.is_empty() {
            return spent.as_secs_f64() * 1e9 / f64::max(count as f64, 1.0);
        }
        let start = thread_time();
        work(&block);
        spent += thread_time().saturating_sub(start);
        count += block.len();
    }
}

/// Processor time that this thread has had.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Keys that a thread is given at once: so many that starting the thread does not matter.
const SHARE: u64 = 1 << 19;

/// Nanoseconds of the clock a key with several threads at work on their own shares of the keys, and the sum of
/// what `work` returned.
pub(crate) fn timed_threads<K: Key>(
    threads: u64,
    size: usize,
    row: Row,
    keys: u64,
    work: impl Fn(&[K]) -> u64 + Sync,
) -> (f64, u64) {
    let mut spent = Duration::ZERO;
    let found = AtomicU64::new(0);
    let mut at = 0;
    while at < keys {
        let share = SHARE.min((keys - at).div_ceil(threads));
        let end = (at + share * threads).min(keys);
        let made: Vec<K> = (at..end).map(|n| row.key(n)).collect();
        let start = Instant::now();
        thread::scope(|scope| {
            for part in made.chunks(share as usize) {
                let (work, found) = (&work, &found);
                scope.spawn(move || {
                    let sum: u64 = part.chunks(size).map(work).sum();
                    found.fetch_add(sum, Ordering::Relaxed)
                });
            }
        });
        spent += start.elapsed();
        at = end;
    }
    (spent.as_secs_f64() * 1e9 / keys.max(1) as f64, found.into_inner())
}

/// What the rounds say of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// The median of the rounds.
    pub(crate) median: f64,
    /// The least of the rounds.
    pub(crate) low: f64,
    /// The most of the rounds.
    pub(crate) high: f64,
    /// The median of what each round says relative to the reference in the same round.
    pub(crate) ratio: Option<f64>,
}

impl Summary {
    /// Of at least one round; `reference` has the same rounds.
    pub(crate) fn new(rounds: &[f64], reference: Option<&[f64]>) -> Self {
        let ratio = reference.map(|reference| {
            median(
                &rounds.iter().zip(reference).map(|(ours, base)| ours / base).collect::<Vec<_>>(),
            )
        });
        let sorted = sorted(rounds);
        Self { median: median(rounds), low: sorted[0], high: sorted[sorted.len() - 1], ratio }
    }

    /// Half the distance from least to most, in hundredths of the median.
    pub(crate) fn spread_percent(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.median * 100.0
    }
}

/// The middle value; NaN of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::{Summary, median, timed, timed_threads};
    use crate::keys::Row;

    #[test]
    fn every_key_is_worked_on_once() {
        let mut count = 0;
        timed(Row::Present.keys::<u64>(10..100_000), |block| {
            count += block.len();
        });
        assert_eq!(count, 99_990);
        for threads in 1..4 {
            let (_, found) = timed_threads::<u64>(threads, 4096, Row::Absent, 1_000_003, |block| {
                block.len() as u64
            });
            assert_eq!(found, 1_000_003);
        }
    }

    #[test]
    fn a_summary_is_the_median_and_the_median_of_ratios() {
        let summary = Summary::new(&[2.0, 9.0, 4.0], Some(&[1.0, 3.0, 4.0]));
        assert_eq!((summary.median, summary.low, summary.high), (4.0, 2.0, 9.0));
        assert_eq!(summary.ratio, Some(2.0));
        assert!((median(&[1.0, 2.0]) - 1.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }
}
