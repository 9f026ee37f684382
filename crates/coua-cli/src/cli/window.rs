//! Options about filters that forget.

use crate::cli::input::TimeSource;
use crate::clock::{self, Now, TimeFormat};
use crate::resume::JobSpec;
use crate::terminal::message::Failure;
use clap::Args;
use coua::window::{Clock, Generations, Window};

/// Generations of a window if nothing is said: an item's age is told to 12.5 %.
const GENERATIONS: u32 = 8;
const NO_WINDOW: &str = "has a meaning only with --window";
const NO_GENERATIONS: &str = "has a meaning only with --window or --window-items";

/// What a new filter forgets. For a filter file that exists, whatever is given here must agree with it,
/// and nothing need be given but --time-field.
#[derive(Args, Debug)]
#[command(next_help_heading = "Window")]
pub(crate) struct WindowArgs {
    /// Forget what is older than LENGTH, such as 7d, 36h or 1d 12h
    ///
    /// A record counts as seen for at least LENGTH after it was first seen, and for at most one
    /// generation (LENGTH / --generations) more; then it is new again. Repeats do not make it younger.
    /// Its time is that of its arrival, unless --time-field says where it stands. What is too old is
    /// forgotten while running, and when a filter file is opened.
    #[arg(long, value_name = "LENGTH", value_parser = clock::duration,
          conflicts_with = "window_items")]
    pub(crate) window: Option<u64>,

    /// Remember the last N different records, and forget older ones
    ///
    /// They are forgotten a generation at a time: N / --generations, rounded up, so N is rounded up to a
    /// multiple of --generations, and at most one generation more is remembered.
    #[arg(long, value_name = "N", value_parser = crate::cli::value::count)]
    pub(crate) window_items: Option<u64>,

    /// Parts of the window that are forgotten together: more forget more exactly, and cost time
    ///
    /// A record that is not known is looked up in up to N + 1 of them, and each takes 0.1 MB at least
    /// [default: 8]
    #[arg(long, value_name = "N")]
    pub(crate) generations: Option<u32>,

    /// Where a record's own time is: fields as for -k, with --csv a column, or a JSON pointer
    ///
    /// The latest time so far is then the present, so that old files can be replayed; records may come
    /// out of order. A record older than the window passes if it is not known, and is not remembered.
    /// A record whose time cannot be read, or lies more than one generation ahead of the system's
    /// clock, is one without a key (--on-missing), and moves nothing.
    #[arg(long, value_name = "FIELD")]
    pub(crate) time_field: Option<String>,

    /// How the time is written: rfc3339, seconds or milliseconds (since 1970), or a format such as
    /// %d/%b/%Y:%H:%M:%S %z [default: any of the first three]
    ///
    /// Of plain numbers, those from 100,000,000,000 on are taken for milliseconds. A time that does not
    /// tell its offset is taken for one in UTC.
    #[arg(long, value_name = "FORMAT", value_parser = TimeFormat::named, requires = "time_field",
          allow_hyphen_values = true)]
    time_format: Option<TimeFormat>,
}

/// The window that --window (with its clock), --window-items and --generations describe.
pub(crate) fn window_of(
    length: Option<(Clock, u64)>,
    items: Option<u64>,
    generations: Option<u32>,
) -> Result<Option<Window>, Failure> {
    let (option, clock, length) = match (length, items, generations) {
        (Some((clock, millis)), ..) => ("--window", clock, millis),
        (None, Some(items), _) => ("--window-items", Clock::Count, items),
        (None, None, Some(_)) => return Err(Failure::at("--generations", NO_GENERATIONS)),
        (None, None, None) => return Ok(None),
    };
    let window = Window::new(clock, length, generations.unwrap_or(GENERATIONS));
    window.map(Some).map_err(|error| Failure::at(option, error))
}

/// What to take for the present.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Window")]
pub(crate) struct NowArgs {
    /// Take TIME for the present, instead of what the system's clock says
    ///
    /// For filters with --window: to ask what was, or will be, remembered at a time, and for runs that
    /// give the same result at any time. Written as the times of records: a number is one of seconds since
    /// 1970, not a year (from 100,000,000,000 on, of milliseconds).
    #[arg(long, value_name = "TIME", value_parser = clock::moment)]
    pub(crate) now: Option<u64>,
}

impl NowArgs {
    /// For a filter with this window. Complains if it is stated and makes no difference to that.
    pub(crate) fn for_window(self, window: Option<Window>) -> Result<Now, Failure> {
        let is_timed = window.is_some_and(|window| window.clock() != Clock::Count);
        match self.now {
            None => Ok(Now::System),
            Some(millis) if is_timed => Ok(Now::Fixed(millis)),
            Some(_) => Err(Failure::at("--now", "has a meaning only for filters with --window")),
        }
    }
}

impl WindowArgs {
    /// The window of a new filter.
    pub(crate) fn window(&self) -> Result<Option<Window>, Failure> {
        if self.window_items.is_some() && self.time_field.is_some() {
            let reason = "has no meaning with --window-items, which counts";
            return Err(Failure::at("--time-field", reason));
        }
        if self.window.is_none() && self.window_items.is_none() {
            return self.no_window().map(|()| None);
        }
        let clock = if self.time_field.is_some() { Clock::Given } else { Clock::Arrival };
        window_of(self.window.map(|millis| (clock, millis)), self.window_items, self.generations)
    }

    fn no_window(&self) -> Result<(), Failure> {
        if self.time_field.is_some() {
            return Err(Failure::at("--time-field", NO_WINDOW));
        }
        window_of(None, None, self.generations).map(drop)
    }

    /// Adds the options on which the result depends. The window itself is the filter's, with which the others
    /// must agree.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let format = self.time_format.as_ref();
        spec.with("time-field", self.time_field.as_ref()).with("time-format", format)
    }

    /// Where the times of records are, if they have some.
    pub(crate) fn time_source(&self) -> Option<TimeSource<'_>> {
        let format = self.time_format.clone().unwrap_or_default();
        self.time_field.as_deref().map(|field| TimeSource { field, format })
    }

    /// Complains if `filter`, which exists already, does not forget as described.
    pub(crate) fn agree_with(&self, filter: &Generations, name: &str) -> Result<(), Failure> {
        let Some(window) = filter.window() else {
            if self.window.is_none() && self.window_items.is_none() {
                return self.no_window();
            }
            let reason = "the filter exists, and never forgets: leave the window out, or name another \
                          file";
            return Err(Failure::at(name, reason));
        };
        let has_times = window.clock() == Clock::Given;
        if has_times != self.time_field.is_some() {
            let reason = if has_times {
                "the filter goes by the times of the records: say by --time-field where they are"
            } else {
                "the filter does not go by the times of the records: leave --time-field out"
            };
            return Err(Failure::at(name, reason));
        }
        let is_counted = window.clock() == Clock::Count;
        let wanted = if is_counted { self.window_items } else { self.window };
        let other = if is_counted { self.window } else { self.window_items };
        let generations = self.generations.unwrap_or(window.generations());
        let wanted = Window::new(window.clock(), wanted.unwrap_or(window.length()), generations);
        if other.is_some() || wanted.ok() != Some(window) {
            let found = window_text(window);
            let reason = format!(
                "the filter exists, and its window is {found}, not what the options say: leave them \
                 out, or name another file"
            );
            return Err(Failure::at(name, reason));
        }
        Ok(())
    }
}

/// A window for people.
pub(crate) fn window_text(window: Window) -> String {
    let (length, parts) = (window.length(), window.generations());
    match window.clock() {
        Clock::Count => format!("{length} items in {parts} generations"),
        Clock::Arrival | Clock::Given => {
            format!("{} in {parts} generations", clock::duration_text(length))
        }
    }
}
