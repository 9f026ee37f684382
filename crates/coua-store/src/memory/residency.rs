//! How much of a file is in the system's cache, and fetching the rest: in order, or the pages of the next keys by
//! several threads.
//!
//! A page of a mapped file that is not in memory stops the thread that touches it until the disk has
//! answered, and a disk answers many nearly as fast as one. So before a mapped filter is asked or changed
//! many times, several threads ask it the same keys.

use std::fs::File;
use std::thread;

use coua::KeyHash;

/// Samples of a file. If none is missing, hardly more than one page in a hundred is.
const SAMPLES: u64 = 256;
/// Bytes that are in the cache together, at least.
const PAGE: u64 = 4096;

/// The part of a file that a disk would have to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Of [`SAMPLES`].
    samples: u64,
}

impl Missing {
    pub(crate) const ALL: Self = Self { samples: SAMPLES };
    pub(crate) const NONE: Self = Self { samples: 0 };

    /// Samples a file of `bytes` bytes. Where the system does not tell, all of it counts as missing. O(1), without
    /// waiting.
    pub(crate) fn of(file: &File, bytes: u64) -> Self {
        let step = bytes.div_ceil(SAMPLES).max(PAGE);
        let there = (0..bytes).step_by(step as usize).filter(|&at| is_cached(file, at)).count();
        let looked_at = bytes.div_ceil(step).max(1);
        Self { samples: SAMPLES - SAMPLES * there as u64 / looked_at }
    }

    /// The share of a cost of fetching that falls to what is missing.
    pub(crate) fn share_of(self, cost: u64) -> u64 {
        (u128::from(cost) * u128::from(self.samples) / u128::from(SAMPLES)) as u64
    }

    #[cfg(test)]
    pub(crate) fn of_samples(samples: u64) -> Self {
        Self { samples }
    }
}

/// Whether a byte of a file is in the cache. Some file systems refuse to say. The question starts to fetch it, and a fast
/// disk may be done before the answer: then it counts as there, for nobody has to wait for it.
#[cfg(target_os = "linux")]
fn is_cached(file: &File, at: u64) -> bool {
    use std::io::IoSliceMut;

    let mut byte = [0];
    let buffer = &mut [IoSliceMut::new(&mut byte)];
    let read = rustix::io::preadv2(file, buffer, at, rustix::io::ReadWriteFlags::NOWAIT);
    read.is_ok_and(|bytes| bytes == 1)
}

#[cfg(not(target_os = "linux"))]
fn is_cached(_file: &File, _at: u64) -> bool {
    false
}

/// Asks the system to fetch what is missing of a file of `bytes` bytes, in order. Waits only for room in the
/// request queue; a page that is touched before it has arrived is waited for.
#[cfg(target_os = "linux")]
pub(crate) fn fetch_in_order(file: &File, bytes: u64) {
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};

    // Longer requests are cut to the system's read-ahead, which is this by default.
    const STEP: NonZeroU64 = NonZeroU64::new(128 << 10).expect("not zero");
    for at in (0..bytes).step_by(STEP.get() as usize) {
        // Pages that it does not fetch now come when they are touched.
        if fadvise(file, at, Some(STEP), Advice::WillNeed).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn fetch_in_order(_file: &File, _bytes: u64) {}

/// Threads that wait for the disk; they do nothing else.
const MOST_THREADS: usize = 16;
/// Keys of a thread: fewer are not worth one.
const LEAST_KEYS: usize = 16;

/// Calls `ask` so that it touches the pages of these keys.
pub(crate) fn fetch_pages(hashes: &[KeyHash], ask: impl Fn(&[KeyHash]) + Sync) {
    let share = hashes.len().div_ceil(MOST_THREADS).max(LEAST_KEYS);
    if hashes.len() <= share {
        return;
    }
    thread::scope(|scope| {
        for keys in hashes.chunks(share) {
            let ask = &ask;
            // Without a thread its pages come later, one by one.
            thread::Builder::new().spawn_scoped(scope, move || ask(keys)).ok();
        }
    });
}
