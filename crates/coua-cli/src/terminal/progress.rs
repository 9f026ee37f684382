//! How far the work is: on a terminal after a second, and when SIGUSR1 asks.

use crate::cli::run::Quiet;
use crate::terminal::text::{counted, grouped, size};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shorter work needs no progress display.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(200);

/// What a command counts, beside the records.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    /// First occurrences.
    Unique,
    Added,
    Removed,
    Found,
}

impl Counted {
    fn word(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Found => "found",
        }
    }
}

/// What a running command has done; shared by the threads.
#[derive(Debug)]
pub(crate) struct Counters {
    started: Instant,
    total_bytes: Option<u64>,
    /// Raw bytes read.
    pub(crate) consumed: Arc<AtomicU64>,
    records: AtomicU64,
    counted: Counted,
    count: AtomicU64,
    load_in_millionths: AtomicU64,
}

/// The load of a filter on a server, which is not asked all the time.
const UNKNOWN: u64 = u64::MAX;

impl Counters {
    pub(crate) fn new(total_bytes: Option<u64>, counted: Counted) -> Self {
        Self {
            started: Instant::now(),
            total_bytes,
            consumed: Arc::default(),
            records: AtomicU64::new(0),
            counted,
            count: AtomicU64::new(0),
            load_in_millionths: AtomicU64::new(UNKNOWN),
        }
    }

    /// `count` is how many of the records are what the command counts.
    pub(crate) fn update(&self, records: u64, count: u64, load: Option<f64>) {
        self.records.store(records, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        let load = load.map_or(UNKNOWN, |load| (load * 1e6) as u64);
        self.load_in_millionths.store(load, Ordering::Relaxed);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// One line: rate, percent, time left, records and what is counted of them, load.
    pub(crate) fn line(&self) -> String {
        let seconds = self.seconds().max(1e-6);
        let records = self.records.load(Ordering::Relaxed);
        let consumed = self.consumed.load(Ordering::Relaxed);
        let load = match self.load_in_millionths.load(Ordering::Relaxed) {
            UNKNOWN => String::new(),
            millionths => format!("load {:.0} %, ", millionths as f64 / 1e4),
        };
        let text = format!(
            "{}, {} {}, {}/s, {load}{}",
            counted(records, "record"),
            grouped(self.count.load(Ordering::Relaxed)),
            self.counted.word(),
            grouped((records as f64 / seconds) as u64),
            size(consumed),
        );
        let Some(total) = self.total_bytes.filter(|total| *total > 0) else {
            return text;
        };
        let done = (consumed as f64 / total as f64).min(1.0);
        let percent = done * 100.0;
        if done > 0.0 {
            let left = seconds * (1.0 - done) / done;
            format!("{percent:.0} %, {left:.0} s left, {text} of {}", size(total))
        } else {
            format!("0 %, {text} of {}", size(total))
        }
    }
}

/// The line on a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    counters: Arc<Counters>,
    wanted: bool,
    drawn: Option<(ProgressBar, Instant)>,
}

impl Progress {
    /// Nothing is shown unless standard error is a terminal, nor where it would mix with records.
    pub(crate) fn new(counters: Arc<Counters>, quiet: Quiet) -> Self {
        let wanted = !quiet.quiet && io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { counters, wanted, drawn: None }
    }

    /// Redraws, if it is time.
    pub(crate) fn tick(&mut self) {
        if !self.wanted {
            return;
        }
        match &mut self.drawn {
            None if self.counters.started.elapsed() < PATIENCE => {}
            None => self.drawn = Some((line_on_terminal(), Instant::now())),
            Some((_, last)) if last.elapsed() < BETWEEN_DRAWINGS => {}
            Some((line, last)) => {
                *last = Instant::now();
                line.set_message(self.counters.line());
            }
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if let Some((line, _)) = self.drawn.take() {
            line.finish_and_clear();
        }
    }
}

fn line_on_terminal() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        line.set_style(style);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far() {
        let counters = Counters::new(Some(2000), Counted::Unique);
        counters.consumed.store(500, Ordering::Relaxed);
        counters.update(1234, 1000, Some(0.5));
        let line = counters.line();
        assert!(line.starts_with("25 %, "), "{line}");
        assert!(line.contains(" s left, 1,234 records, 1,000 unique, "), "{line}");
        assert!(line.ends_with("load 50 %, 500 B of 2.0 kB"), "{line}");
        counters.update(1234, 1000, None);
        assert!(!counters.line().contains("load"), "{}", counters.line());
        assert!(Counters::new(None, Counted::Found).line().starts_with("0 records, "));
    }
}
