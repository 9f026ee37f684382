//! Fetching the pages of the next keys from the disk, by several threads.
//!
//! A page of a mapped file that is not in memory stops the thread that touches it until the disk has
//! answered, and a disk answers many nearly as fast as one. So before a mapped filter is asked or changed
//! many times, several threads ask it the same keys.

use std::thread;

use coua::KeyHash;

/// Threads that wait for the disk; they do nothing else.
const MOST_THREADS: usize = 16;
/// Keys of a thread: fewer are not worth one.
const LEAST_KEYS: usize = 16;

/// Calls `ask` so that it touches the pages of these keys.
pub(crate) fn fetch(hashes: &[KeyHash], ask: impl Fn(&[KeyHash]) + Sync) {
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
