//! Times of blocks of keys, and a table of their medians.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Keys given to a filter at a time: few enough for the caches, enough for a batch.
pub const BLOCK: usize = 4096;

/// Nanoseconds of processor time per key that `work` takes for these keys, in blocks. Generating the keys is not
/// counted, nor is time in which another process had the processor.
pub fn timed<K>(keys: impl Iterator<Item = K>, mut work: impl FnMut(&[K])) -> f64 {
    let mut spent = Duration::ZERO;
    let mut count = 0;
    in_blocks(keys, |block| {
        let start = thread_time();
        work(black_box(block));
        spent += thread_time().saturating_sub(start);
        count += block.len();
    });
    spent.as_secs_f64() * 1e9 / f64::max(count as f64, 1.0)
}

/// Passes the keys to `work`, one block at a time.
pub fn in_blocks<K>(mut keys: impl Iterator<Item = K>, mut work: impl FnMut(&[K])) {
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        block.clear();
        block.extend(keys.by_ref().take(BLOCK));
        if block.is_empty() {
            return;
        }
        work(&block);
    }
}

/// The processor time of this thread so far.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The median.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Rows of values, one value per round.
#[derive(Debug, Default)]
pub struct Table(Vec<(String, Vec<f64>)>);

impl Table {
    /// Runs the rounds, and prints the median of each row with its lowest and highest value. Each round has all
    /// measurements, so that a disturbance affects all of them.
    #[expect(clippy::print_stdout, reason = "a benchmark prints its table")]
    pub fn of_rounds(title: &str, rounds: u64, mut round: impl FnMut(&mut Self)) {
        let mut table = Self::default();
        (0..rounds).for_each(|_| round(&mut table));
        println!("{title}, median of {rounds} rounds (least .. most)");
        for (name, values) in &mut table.0 {
            let middle = median(values);
            let (least, most) = (values[0], values[values.len() - 1]);
            println!("{name:52} {middle:8.2}  ({least:.2} .. {most:.2})");
        }
    }

    /// Adds a value to the row of this name.
    pub fn add(&mut self, name: String, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => self.0.push((name, vec![value])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::timed;

    #[test]
    fn every_key_is_worked_on_once() {
        let mut count = 0;
        timed(10..100_000, |block| count += block.len());
        assert_eq!(count, 99_990);
    }
}
