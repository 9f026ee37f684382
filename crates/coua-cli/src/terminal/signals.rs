//! SIGINT and SIGTERM: finish the block, save, die by the signal; a second one ends the program at
//! once. SIGUSR1: one line about the progress.

use crate::terminal::message::{self, Failure};
use crate::terminal::progress::Counters;
use crate::terminal::stream::is_ignored;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// The first signal that has asked the program to end; signals are the process's.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The signal that has asked the program to end, if one has.
pub(crate) fn caught() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// The wish to stop, which also wakes a thread that waits for input.
#[derive(Debug)]
pub(crate) struct Stop {
    signal: AtomicI32,
    cancelled: AtomicBool,
    /// Readable from the moment of the wish on.
    bell: UnixStream,
    rope: UnixStream,
}

impl Stop {
    pub(crate) fn new() -> io::Result<Self> {
        let (bell, rope) = UnixStream::pair()?;
        Ok(Self { signal: AtomicI32::new(0), cancelled: AtomicBool::new(false), bell, rope })
    }

    /// Whether to read no further.
    pub(crate) fn requested(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The signal that asked for it.
    pub(crate) fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// No more input is needed.
    pub(crate) fn cancel(&self) {
        if !self.cancelled.swap(true, Ordering::Relaxed) {
            // Cannot fail: both ends live, and one byte fits.
            (&self.rope).write_all(&[1]).ok();
        }
    }

    fn by_signal(&self, signal: i32) {
        self.signal.store(signal, Ordering::Relaxed);
        self.cancel();
    }

    /// Waits until `file` can be read.
    ///
    /// # Errors
    ///
    /// If the program is to stop.
    pub(crate) fn wait_readable(&self, file: &impl AsFd) -> io::Result<()> {
        loop {
            let mut both =
                [PollFd::new(file, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
            match poll(&mut both, None) {
                Err(Errno::INTR) => continue,
                result => result?,
            };
            if self.requested() {
                return Err(io::Error::other("stopped"));
            }
            if !both[0].revents().is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether reading from `file` would wait.
    pub(crate) fn would_wait(&self, file: &impl AsFd) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut one = [PollFd::new(file, PollFlags::IN)];
        // If it cannot be told, the read will tell.
        !self.requested() && poll(&mut one, Some(&at_once)) == Ok(0)
    }
}

/// From now on signals are answered by a thread of their own.
pub(crate) fn listen(stop: Arc<Stop>, counters: Arc<Counters>) -> Result<(), Failure> {
    // What was to be ignored stays ignored.
    let wanted = [SIGINT, SIGTERM, SIGUSR1].into_iter().filter(|signal| !is_ignored(*signal));
    let mut signals =
        Signals::new(wanted).map_err(|error| Failure::io("signal handlers", &error))?;
    let answer = move || {
        for signal in signals.forever() {
            match signal {
                SIGUSR1 => message::say(counters.line()),
                _ if stop.signal().is_some() => {
                    // The second one: the user does not want to wait.
                    emulate_default_handler(signal).ok();
                }
                _ => {
                    CAUGHT.store(signal, Ordering::Relaxed);
                    stop.by_signal(signal);
                }
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(answer)
        .map(drop)
        .map_err(|error| Failure::io("signal thread", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_reader_is_woken() {
        let stop = Arc::new(Stop::new().unwrap());
        let (input, mut writer) = UnixStream::pair().unwrap();
        assert!(stop.would_wait(&input));
        writer.write_all(b"x").unwrap();
        assert!(!stop.would_wait(&input));
        stop.wait_readable(&input).unwrap();

        let (silent, _open) = UnixStream::pair().unwrap();
        let waiting = thread::spawn({
            let stop = stop.clone();
            move || stop.wait_readable(&silent).is_err()
        });
        stop.by_signal(SIGTERM);
        assert!(waiting.join().unwrap());
        assert!(stop.requested());
        assert_eq!(stop.signal(), Some(SIGTERM));
    }
}
