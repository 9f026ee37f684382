//! What the machine itself can do: the time to fetch random lines from a memory as large as the
//! filter. No table that asks one or two random lines a key can be faster.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use memmap2::{Advice, MmapMut};

use crate::generate::{mix, scale};
use crate::measure::thread_time;

const LINE: u64 = 64;
/// Keys whose lines are under way at once: with fewer the wait for one line shows, more are no faster.
const RING: usize = 64;

/// Memory with huge pages advised, all of it touched.
pub(crate) struct Ground(MmapMut);

impl Ground {
    /// Memory of this many bytes, at least one line.
    ///
    /// # Errors
    ///
    /// If there is no such memory.
    pub(crate) fn new(bytes: u64) -> std::io::Result<Self> {
        let mut map = MmapMut::map_anon(bytes.max(LINE) as usize)?;
        // Advice only; the table's own memory asks for the same.
        drop(map.advise(Advice::HugePage));
        map.fill(1);
        Ok(Self(map))
    }

    /// Nanoseconds a key to fetch `LINES` random lines for each of `keys` keys: processor time of
    /// one thread, or time of the clock with more threads at work at once.
    pub(crate) fn fetch<const LINES: usize>(&self, keys: u64, threads: u64) -> f64 {
        if threads == 1 {
            let start = thread_time();
            black_box(self.walk::<LINES>(0, keys));
            return thread_time().saturating_sub(start).as_secs_f64() * 1e9 / keys as f64;
        }
        let share = keys.div_ceil(threads);
        let start = Instant::now();
        thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || black_box(self.walk::<LINES>(thread * share, share)));
            }
        });
        start.elapsed().as_secs_f64() * 1e9 / (share * threads) as f64
    }

    /// One key comes in as the key of 32 turns before, whose lines have arrived, is read.
    fn walk<const LINES: usize>(&self, first: u64, keys: u64) -> u64 {
        let lines = self.0.len() as u64 / LINE;
        let mut ring = [[0; LINES]; RING];
        let mut sum = 0;
        for key in first..first + keys {
            let slot = &mut ring[key as usize % RING];
            let mut random = mix(key);
            for place in slot {
                sum += u64::from(self.0[*place]);
                *place = (scale(random, lines) * LINE) as usize;
                prefetch(&self.0[*place]);
                random = random.rotate_left(32);
            }
        }
        sum
    }
}

/// Asks for the line of this byte. Nothing on processors for which stable Rust has no such
/// instruction.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the prefetch instruction"))]
fn prefetch(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint; the address is that of a live byte.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}

#[cfg(test)]
mod tests {
    use super::{Ground, RING};

    #[test]
    fn every_key_reads_its_lines() {
        let ground = Ground::new(1 << 20).unwrap();
        // All bytes are 1; the ring is read before it is filled, so every turn reads.
        assert_eq!(ground.walk::<2>(0, 1000), 2000);
        assert_eq!(ground.walk::<1>(7, RING as u64), RING as u64);
        assert!(ground.fetch::<1>(10_000, 2) > 0.0);
    }
}
