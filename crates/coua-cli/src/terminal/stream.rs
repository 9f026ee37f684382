//! What the program was started with, asked before Rust's runtime changes it: a standard stream that
//! was closed (`>&-`) is opened on /dev/null by the runtime, and everything written to it would be
//! lost without a word.

use crate::terminal::message::Failure;
use rustix::io::fcntl_getfd;
use rustix::stdio;
use std::sync::atomic::{AtomicBool, Ordering};

/// A standard stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Input,
    Output,
    Error,
}

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before `main`, hence before the runtime; it asks the system three questions and stores the
/// answers, which needs nothing of the runtime.
#[ctor::ctor(unsafe)]
fn look_at_streams() {
    let streams = [stdio::stdin(), stdio::stdout(), stdio::stderr()];
    for (closed, stream) in CLOSED.iter().zip(streams) {
        closed.store(fcntl_getfd(stream).is_err(), Ordering::Relaxed);
    }
}

impl Stream {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "standard input",
            Self::Output => "standard output",
            Self::Error => "standard error",
        }
    }

    /// Complains if the stream was closed when the program was started.
    pub(crate) fn check_open(self) -> Result<(), Failure> {
        if CLOSED[self as usize].load(Ordering::Relaxed) {
            return Err(Failure::at(self.name(), "is closed"));
        }
        Ok(())
    }
}

/// Whether whoever started the program wants a signal to be ignored: `nohup` and `trap '' INT` do, and
/// shells without job control do for what they start in the background.
#[cfg(target_os = "linux")]
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// Elsewhere there is no way to ask that needs no `unsafe`; the signal is answered.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_ignored(_signal: i32) -> bool {
    false
}
