//! Fetches pages of a mapped file: all in order, or those of the next keys.
//!
//! A thread that touches a page that is not in memory waits for the disk, and a disk serves many requests nearly as fast
//! as one. So several threads look up the next keys before they are needed.

use std::fs::File;
use std::thread;

use coua::KeyHash;

/// Asks the system to fetch a file of `bytes` bytes in order. Waits only for room in the request queue; touching a page
/// that has not arrived waits for it.
#[cfg(target_os = "linux")]
pub(super) fn fetch_all(file: &File, bytes: u64) {
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};

    // The system truncates longer requests to its read-ahead, which is this by default.
    const STEP: NonZeroU64 = NonZeroU64::new(128 << 10).expect("not zero");
    for at in (0..bytes).step_by(STEP.get() as usize) {
        // Pages that are not fetched now are fetched when they are touched.
        if fadvise(file, at, Some(STEP), Advice::WillNeed).is_err() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn fetch_all(_file: &File, _bytes: u64) {}

/// Threads that wait for the disk; they do nothing else.
const MOST_THREADS: usize = 16;
/// The fewest keys that are worth a thread.
const LEAST_KEYS: usize = 16;

/// Calls `look_up` in several threads, so that it touches the pages of these keys.
pub(super) fn fetch_by_threads(hashes: &[KeyHash], look_up: impl Fn(&[KeyHash]) + Sync) {
    let share = hashes.len().div_ceil(MOST_THREADS).max(LEAST_KEYS);
    if hashes.len() <= share {
        return;
    }
    thread::scope(|scope| {
        for keys in hashes.chunks(share) {
            let look_up = &look_up;
            // If no thread can be started, its pages are fetched later, one by one.
            thread::Builder::new().spawn_scoped(scope, move || look_up(keys)).ok();
        }
    });
}
