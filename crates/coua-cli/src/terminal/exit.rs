//! Exit codes as a type.

use crate::platform;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

/// The first signal that has asked the program to end; signals are the process's.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// Notes that a signal has asked the program to end.
pub(crate) fn catch(signal: i32) {
    CAUGHT.store(signal, Ordering::Relaxed);
}

/// The signal that has asked the program to end, if one has.
pub(crate) fn caught() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well (for `check`: something was found).
    Success,
    /// `check` found nothing.
    NothingFound,
    /// Something is wrong with the input, the output, the filter or the arguments.
    Error,
    /// The filter is full and may not grow.
    Full,
    /// What was done is written and need not be done again, but a power cut may still undo it.
    Unsynced,
    /// Stopped by this signal: the work so far is saved, and the program dies by the same signal,
    /// so that a shell loop around it stops too.
    Signal(i32),
}

impl Exit {
    /// By the signal that has asked the program to end, if one has.
    pub(crate) fn or_signal(self) -> Self {
        caught().map_or(self, Self::Signal)
    }

    /// Ends the process, or returns the code to end it with.
    pub(crate) fn finish(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::NothingFound => 1,
            Self::Error => 2,
            Self::Full => 3,
            Self::Unsynced => 4,
            Self::Signal(signal) => {
                // Returns only if the signal's default is not to end the process.
                platform::die_by(signal);
                128_u8.saturating_add(u8::try_from(signal).unwrap_or(0))
            }
        })
    }
}
