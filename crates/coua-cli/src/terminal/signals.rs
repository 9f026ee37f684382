//! A command at work: its progress, on a terminal after a second and on SIGUSR1, and its end by SIGINT and SIGTERM, which
//! finish the block, save, and die by the signal; a second one ends the program at once.

use crate::platform::{self, Waker};
use crate::terminal::message::{self, Failure, Result, Verbosity, catch_signal, caught_signal};
use crate::terminal::report::{counted, grouped, size};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shorter work needs no progress display.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);

/// The counters of a running command, shared by the threads.
#[derive(Debug)]
pub(crate) struct Counters {
    started: Instant,
    total_bytes: Option<u64>,
    /// Raw bytes read.
    pub(crate) consumed: Arc<AtomicU64>,
    /// The name of the command's counter.
    counted: &'static str,
    /// Records that were processed.
    records: AtomicU64,
    /// The number of records that the command counts.
    count: AtomicU64,
}

impl Counters {
    pub(crate) fn new(total_bytes: Option<u64>, counted: &'static str) -> Self {
        let (started, consumed) = (Instant::now(), Arc::default());
        let (records, count) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { started, total_bytes, consumed, counted, records, count }
    }

    /// `count` is the number of records that the command counts; 0 as long as that is unknown.
    pub(crate) fn update(&self, records: u64, count: u64) {
        self.records.store(records, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// One line: percent, time left, records, the command's count, rate.
    pub(crate) fn line(&self) -> String {
        let seconds = self.seconds().max(1e-6);
        let [records, count, consumed] = [&self.records, &self.count, &self.consumed]
            .map(|number| number.load(Ordering::Relaxed));
        let count = Some(count).filter(|count| *count > 0);
        let count =
            count.map_or_else(String::new, |it| format!("{} {}, ", grouped(it), self.counted));
        let text = format!(
            "{}, {count}{}/s, {}",
            counted(records, "record"),
            grouped((records as f64 / seconds) as u64),
            size(consumed),
        );
        let Some(total) = self.total_bytes.filter(|total| *total > 0) else {
            return text;
        };
        let done = (consumed as f64 / total as f64).min(1.0);
        let left = (done > 0.0).then(|| format!("{:.0} s left, ", seconds * (1.0 - done) / done));
        let left = left.unwrap_or_default();
        format!("{:.0} %, {left}{text} of {}", done * 100.0, size(total))
    }
}

/// A progress line on the terminal, if no records are printed there. It is redrawn, and removed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The thread that shows the line, until the sender is dropped.
    work: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Shows the progress of a command.
    pub(crate) fn of(verbosity: Verbosity, counters: Arc<Counters>) -> Self {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        if verbosity == Verbosity::Quiet || !is_shown {
            return Self::default();
        }
        let (sender, end) = mpsc::channel();
        let show = move || show(&end, &counters);
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(show);
        // If there is no thread, the work continues without progress.
        Self { work: thread.ok().map(|thread| (sender, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.work.take() {
            drop(end);
            thread.join().ok();
        }
    }
}

/// Shows the line until the end.
fn show(end: &Receiver<()>, counters: &Counters) {
    if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected) {
        return;
    }
    draw(&counters.line());
    while end.recv_timeout(BETWEEN_DRAWINGS) == Err(RecvTimeoutError::Timeout) {
        draw(&counters.line());
    }
    draw("");
}

/// Replaces the line on the terminal.
fn draw(line: &str) {
    // A line in the last column would move the cursor to the next line.
    let width = platform::terminal_width().unwrap_or(80).saturating_sub(1);
    let line: String = line.chars().take(width).collect();
    // Blanks take the previous line away; the cursor stays behind the new one.
    let text = format!("\r{line:width$}\r{line}");
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far() {
        let counters = Counters::new(Some(2000), "unique");
        counters.consumed.store(500, Ordering::Relaxed);
        counters.update(1234, 1000);
        let line = counters.line();
        assert!(line.starts_with("25 %, "), "{line}");
        assert!(line.contains(" s left, 1,234 records, 1,000 unique, "), "{line}");
        assert!(line.ends_with("/s, 500 B of 2.0 kB"), "{line}");
        counters.update(1234, 0);
        let line = counters.line();
        assert!(!line.contains("unique"), "{line}");
        assert!(Counters::new(None, "found").line().starts_with("0 records, "));
    }

    #[cfg(unix)]
    #[test]
    fn a_waiting_reader_is_woken() {
        use std::os::fd::OwnedFd;
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
