//! Memory that goes back to the system.

use std::thread;

/// What is larger takes the system longer than a command may: some milliseconds for each hundred MiB.
const LARGE: usize = 1 << 20;

/// Drops something of as many bytes: what is large in a thread of its own.
pub(crate) fn give_back<T: Send + 'static>(memory: T, bytes: usize) {
    if bytes > LARGE {
        // Without a thread it is done here.
        thread::Builder::new().spawn(move || drop(memory)).ok();
    }
}
