//! SIGINT and SIGTERM: finish the block, save, die by the signal; a second one ends the program at
//! once. SIGUSR1: one line about the progress.

use crate::platform::{self, Waker};
use crate::terminal::message::{self, Failure, Result, catch_signal, caught_signal};
use crate::terminal::progress::Counters;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A request to stop, which also wakes a thread that waits for input.
#[derive(Debug)]
pub(crate) struct CancelToken {
    cancelled: AtomicBool,
    waker: Waker,
}

impl CancelToken {
    pub(crate) fn new() -> Result<Self> {
        let waker = Waker::new().map_err(|error| Failure::io("signals", &error))?;
        Ok(Self { cancelled: AtomicBool::new(false), waker })
    }

    /// Whether to read no further.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// No more input is needed.
    pub(crate) fn cancel(&self) {
        if !self.cancelled.swap(true, Ordering::Relaxed) {
            self.waker.wake();
        }
    }

    /// Waits until `file` can be read.
    ///
    /// # Errors
    ///
    /// If the program must stop.
    pub(crate) fn wait_readable(&self, file: &File) -> io::Result<()> {
        self.waker.wait_readable(file)?;
        if self.is_cancelled() { Err(io::Error::other("stopped")) } else { Ok(()) }
    }

    /// Whether `file` can be read, or the program must stop, within this time.
    pub(crate) fn comes_within(&self, file: &File, time: Duration) -> bool {
        self.is_cancelled() || self.waker.comes_within(file, time)
    }
}

/// The present work, which signals end or report.
type Work = (Arc<CancelToken>, Arc<Counters>);

static WORK: Mutex<Option<Work>> = Mutex::new(None);

fn work() -> MutexGuard<'static, Option<Work>> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles signals in a separate thread from now on. The token, which they cancel, is for work with these counters.
pub(crate) fn listen(counters: Arc<Counters>) -> Result<Arc<CancelToken>> {
    let stop = Arc::new(CancelToken::new()?);
    let before = work().replace((stop.clone(), counters));
    if before.is_none() {
        delay()?;
    } else if caught_signal().is_some() {
        // It came after the work before, and has not been handled.
        stop.cancel();
    }
    Ok(stop)
}

/// Handles signals in a separate thread from now on. Without work, the first one only lets [`caught_signal`] return it.
pub(crate) fn delay() -> Result<()> {
    let end = |signal| {
        // This is the second signal: the user does not want to wait.
        if caught_signal().is_some() {
            platform::die_by(signal);
        }
        catch_signal(signal);
        if let Some((stop, _)) = &*work() {
            stop.cancel();
        }
    };
    let report = || {
        let line = work().as_ref().map(|(_, counters)| counters.line());
        line.into_iter().for_each(message::say);
    };
    platform::listen(end, report).map_err(|error| Failure::io("signals", &error))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::thread;

    #[test]
    fn a_waiting_reader_is_woken() {
        let stop = Arc::new(CancelToken::new().unwrap());
        let pipe = || {
            let (reader, writer) = io::pipe().unwrap();
            (File::from(OwnedFd::from(reader)), writer)
        };
        let (input, mut writer) = pipe();
        assert!(!stop.comes_within(&input, Duration::ZERO));
        writer.write_all(b"x").unwrap();
        assert!(stop.comes_within(&input, Duration::ZERO));
        stop.wait_readable(&input).unwrap();

        let (silent, _open) = pipe();
        let waiting = thread::spawn({
            let stop = stop.clone();
            move || stop.wait_readable(&silent).is_err()
        });
        stop.cancel();
        assert!(waiting.join().unwrap());
        assert!(stop.is_cancelled());
    }
}
