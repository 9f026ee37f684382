//! Measures how much of a file is in the page cache, and fetches the rest: in order, or the pages of the next keys with
//! several threads.
//!
//! A thread that touches a missing page of a mapped file waits for the disk, and a disk serves many requests nearly as
//! fast as one. So before many lookups or changes of a mapped filter, several threads look up the same keys.

use std::fs::File;
use std::thread;

use coua::KeyHash;

/// Samples of a file. If no sample is missing, hardly more than one page in a hundred is.
const SAMPLES: u64 = 256;
/// The unit of the page cache.
const PAGE: u64 = 4096;

/// The part of a file that is not in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Missing samples of [`SAMPLES`].
    samples: u64,
}

impl Missing {
    pub(crate) const ALL: Self = Self { samples: SAMPLES };
    pub(crate) const NONE: Self = Self { samples: 0 };

    /// Samples a file of `bytes` bytes. If the system does not provide this, the whole file counts as missing. O(1),
    /// without waiting.
    pub(crate) fn of(file: &File, bytes: u64) -> Self {
        let step = bytes.div_ceil(SAMPLES).max(PAGE);
        let there = (0..bytes).step_by(step as usize).filter(|&at| is_cached(file, at)).count();
        let looked_at = bytes.div_ceil(step).max(1);
        Self { samples: SAMPLES - SAMPLES * there as u64 / looked_at }
    }

    /// The share of a fetching cost that applies to the missing part.
    pub(crate) fn share_of(self, cost: u64) -> u64 {
        (u128::from(cost) * u128::from(self.samples) / u128::from(SAMPLES)) as u64
    }

    #[cfg(test)]
    pub(crate) fn of_samples(samples: u64) -> Self {
        Self { samples }
    }
}

/// Whether a byte of a file is cached. Some file systems do not support this. The call starts to fetch the page, and a
/// fast disk may finish before it returns: then the page counts as cached, because no wait is needed.
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

/// Asks the system to fetch the missing parts of a file of `bytes` bytes, in order. Waits only for room in the
/// request queue; touching a page that has not arrived waits for it.
#[cfg(target_os = "linux")]
pub(crate) fn fetch_in_order(file: &File, bytes: u64) {
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};

    // The system truncates longer requests to its read-ahead, which is this by default.
    const STEP: NonZeroU64 = NonZeroU64::new(128 << 10).expect("not zero");
    for at in (0..bytes).step_by(STEP.get() as usize) {
        // Pages that it does not fetch now are fetched when they are touched.
        if fadvise(file, at, Some(STEP), Advice::WillNeed).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn fetch_in_order(_file: &File, _bytes: u64) {}

/// Threads that wait for the disk; they do nothing else.
const MOST_THREADS: usize = 16;
/// The fewest keys that are worth a thread.
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
            // If no thread can be started, its pages are fetched later, one by one.
            thread::Builder::new().spawn_scoped(scope, move || ask(keys)).ok();
        }
    });
}
