//! Times of blocks of keys.

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
