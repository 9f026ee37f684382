//! Where a filter is, and its options: from the command line.

use crate::clock::window_text;
use crate::filter::server::{Address, FORM};
use crate::terminal::{Failure, Result, counted};
use coua::shards::Division;
use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The location of a filter.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    File(PathBuf),
    Server(Address),
}

impl Location {
    /// Parses an argument of the command line.
    pub(crate) fn of(argument: &Path) -> Result<Self> {
        let text = argument.to_string_lossy();
        let is_there = argument.parent().is_some_and(Path::exists);
        match text.split_once("://") {
            Some((scheme, _)) if is_scheme(scheme) => {
                let wrong = |reason| Failure::at(without_password(&text), reason);
                Address::of(&text).map(Self::Server).map_err(wrong)
            }
            Some((scheme, _)) if !is_there => {
                let reason =
                    format!("unknown scheme {scheme}://; expected a file, or valkey://HOST/NAME");
                Err(Failure::at(without_password(&text), reason))
            }
            _ => Ok(Self::File(argument.to_owned())),
        }
    }

    /// Parses an argument that must be an address.
    pub(crate) fn address(argument: &Path) -> Result<Address> {
        match Self::of(argument)? {
            Self::Server(address) => Ok(address),
            Self::File(path) => {
                let reason = format!("is not an address: expected {FORM}");
                Err(Failure::at(path.display(), reason))
            }
        }
    }

    /// Returns an error if an option that works only with files is given with a server.
    pub(crate) fn refuse_on_server(&self, option: Option<&str>) -> Result<()> {
        option.filter(|_| self.file().is_none()).map_or(Ok(()), |option| {
            let reason = "works only with filter files, not with a filter on a server";
            Err(Failure::at(option, reason))
        })
    }

    /// The path of the file; `None` for a server.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

fn is_scheme(text: &str) -> bool {
    ["valkey", "valkeys", "redis", "rediss"].iter().any(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// An invalid address, for a message.
fn without_password(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => text.to_owned(),
    }
}

/// The file with the secret key of a filter, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Secret {
    file: Option<PathBuf>,
    /// The key, read once: the file may be a pipe.
    key: OnceCell<[u8; 16]>,
}

impl Secret {
    pub(crate) fn in_file(file: Option<PathBuf>) -> Self {
        Self { file, key: OnceCell::new() }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The option for the file, if it is given.
    pub(crate) fn option(&self) -> Option<&'static str> {
        self.file.as_ref().map(|_| "--secret")
    }

    /// The key, if there is one.
    pub(crate) fn key(&self) -> Result<Option<[u8; 16]>> {
        let Some(file) = &self.file else { return Ok(None) };
        if self.key.get().is_none() {
            self.key.set(read_key(file)?).ok();
        }
        Ok(self.key.get().copied())
    }
}

impl fmt::Debug for Secret {
    /// Does not show the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("file", &self.file).finish_non_exhaustive()
    }
}

/// More bytes than any form of a key has.
const MOST_OF_KEY_FILE: usize = 64;

/// Reads a SipHash key: 16 raw bytes, or 32 hexadecimal digits with an optional newline.
pub(crate) fn read_key(path: &Path) -> Result<[u8; 16]> {
    let mut content = Vec::new();
    let mut read = |file: File| file.take(MOST_OF_KEY_FILE as u64).read_to_end(&mut content);
    File::open(path).and_then(&mut read).map_err(|error| Failure::io(path.display(), &error))?;
    if let Ok(key) = <[u8; 16]>::try_from(content.as_slice()) {
        return Ok(key);
    }
    hexadecimal(content.trim_ascii()).ok_or_else(|| {
        let found = counted(content.len() as u64, "byte");
        let or_more = if content.len() == MOST_OF_KEY_FILE { " or more" } else { "" };
        let reason = format!(
            "is not a hash key (found {found}{or_more}, expected 16 bytes or 32 hexadecimal digits)"
        );
        Failure::at(path.display(), reason)
    })
}

fn hexadecimal(digits: &[u8]) -> Option<[u8; 16]> {
    let are_enough = digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| are_enough)?;
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}

/// The number of generations of a window: ages are accurate to 12.5 %.
pub(super) const GENERATIONS: u32 = 8;

/// The length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowLength {
    /// In milliseconds.
    Time(u64),
    Items(u64),
}

/// The requested window of a filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowSpec {
    pub(crate) length: Option<WindowLength>,
    pub(crate) age_from: Option<AgeFrom>,
    /// The filter uses the records' own times; otherwise their arrival.
    pub(crate) has_times: bool,
}

impl WindowSpec {
    /// The window of a new filter.
    pub(crate) fn window(&self) -> Result<Option<Window>> {
        self.divided(GENERATIONS)
    }

    /// The window with this number of generations.
    fn divided(&self, generations: u32) -> Result<Option<Window>> {
        let (clock, length) = match self.length {
            Some(WindowLength::Items(_)) if self.has_times => {
                let reason = "cannot be used with a --window of items, which has no times";
                return Err(Failure::at("--time-field", reason));
            }
            Some(WindowLength::Items(items)) => (Clock::Count, items),
            Some(WindowLength::Time(millis)) if self.has_times => (Clock::Given, millis),
            Some(WindowLength::Time(millis)) => (Clock::Arrival, millis),
            None => return self.no_window().map(|()| None),
        };
        let window = Window::new(clock, length, generations);
        let age_from = self.age_from.unwrap_or_default();
        let window = window.map_err(|error| {
            Failure::at("--window", format_args!("{error} (milliseconds or items)"))
        })?;
        Ok(Some(window.counted_from(age_from)))
    }

    /// Returns an error for options that need a window.
    fn no_window(&self) -> Result<()> {
        let options = [("--time-field", self.has_times), ("--window-by", self.age_from.is_some())];
        let needs_one = options.into_iter().find(|(_, is_given)| *is_given);
        needs_one.map_or(Ok(()), |(option, _)| Err(Failure::at(option, "needs --window")))
    }

    /// Returns an error if an existing filter with the window `found` does not have the requested one.
    pub(super) fn agree_with(&self, found: Option<Window>, name: &str) -> Result<()> {
        let Some(window) = found else {
            if self.length.is_none() {
                return self.no_window();
            }
            let reason = "the existing filter has no window; drop --window, or use another filter";
            return Err(Failure::at(name, reason));
        };
        let has_times = window.clock() == Clock::Given;
        if has_times != self.has_times {
            let reason = if has_times {
                "the filter uses the times of the records; add --time-field"
            } else {
                "the filter does not use the times of the records; drop --time-field"
            };
            return Err(Failure::at(name, reason));
        }
        let age_from = Some(window.age_from());
        let wanted = || Self { age_from, ..*self }.divided(window.generations());
        if self.length.is_some() && wanted()? != Some(window) {
            let found = window_text(window);
            let reason = format!(
                "the existing filter has the window {found}, not that of the options; drop them, or \
                 use another filter"
            );
            return Err(Failure::at(name, reason));
        }
        if let Some(wanted) = self.age_from.filter(|wanted| *wanted != window.age_from()) {
            let [found, wanted] = [window.age_from(), wanted].map(age_name);
            return Err(differs(name, "--window-by", found, wanted));
        }
        Ok(())
    }
}

/// The name of the value of `--window-by`.
pub(crate) const fn age_name(age_from: AgeFrom) -> &'static str {
    match age_from {
        AgeFrom::FirstSeen => "first",
        AgeFrom::LastSeen => "last",
    }
}

/// The name of the clock of a window in reports.
pub(crate) fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Arrival => "arrival",
        Clock::Given => "time-field",
        Clock::Count => "items",
    }
}

/// A window as JSON. The field names are part of the interface.
pub(crate) fn window_object(window: Window) -> Value {
    json!({
        "clock": clock_name(window.clock()),
        "length": window.length(),
        "generation_length": window.step(),
        "generations": window.generations(),
        "by": age_name(window.age_from()),
    })
}

/// The failure to report if the existing filter `name` was made with another value of an option.
pub(super) fn differs(
    name: impl fmt::Display,
    option: &str,
    found: impl fmt::Display,
    wanted: impl fmt::Display,
) -> Failure {
    let reason = format!(
        "the existing filter has {option} {found}, not {wanted}; drop {option}, or use another filter"
    );
    Failure::at(name, reason)
}

/// The treatment of more items than the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFull {
    /// Use more memory. The false-positive rate rises.
    Grow,
    Stop,
}

impl OnFull {
    /// The treatment that a filter has.
    pub(crate) fn of(filter: &CuckooFilter) -> Self {
        let has_limit = filter.max_items() != u64::MAX;
        match filter.when_full() {
            WhenFull::Refuse => Self::Stop,
            WhenFull::Grow if has_limit => Self::Stop,
            _ => Self::Grow,
        }
    }

    /// The name on the command line and in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Grow => "grow",
            Self::Stop => "stop",
        }
    }
}

/// The requested properties of a new filter. With a window, item numbers are for all generations together. An existing
/// filter must agree with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilterSpec {
    /// The items that the filter is made for, and up to which the rate holds.
    pub(crate) capacity: Option<u64>,
    pub(crate) rate: Option<f64>,
    pub(crate) on_full: Option<OnFull>,
    pub(crate) secret: Secret,
    pub(crate) window: WindowSpec,
}

impl FilterSpec {
    /// Whether items, rates and windows are all left open: then a run may use any number of filters.
    pub(crate) fn leaves_all_open(&self) -> bool {
        let has_window = !matches!(self.window.window(), Ok(None));
        self.capacity.is_none() && self.rate.is_none() && !has_window
    }

    /// Builds an empty filter for each shard.
    pub(super) fn build_shards(&self, division: Division) -> Result<Vec<CuckooFilter>> {
        let shards = self.builder()?.build_shards(division);
        shards.map_err(|error| Failure::at("new filter", error))
    }

    /// Builds a new filter.
    pub(crate) fn build(&self) -> Result<Generations> {
        let builder = self.builder()?;
        let filter = match self.window.window()? {
            Some(window) => builder.build_window(window),
            None => builder.build().map(Generations::from),
        };
        filter.map_err(|error| match error {
            BuildError::RateWithoutItems { .. } => rate_without_items(),
            error => Failure::at("new filter", error),
        })
    }

    fn builder(&self) -> Result<CuckooFilterBuilder> {
        let hasher = self.secret.key()?.map(|key| KeyHasher::SipHash13 { key });
        let mut builder = CuckooFilter::builder().hasher(hasher.unwrap_or_default());
        let stops = self.on_full == Some(OnFull::Stop);
        if stops && self.capacity.is_none() {
            return Err(Failure::at("--when-full stop", "needs --capacity"));
        }
        if let Some(items) = self.capacity {
            builder = builder.capacity(items);
            builder = if stops { builder.max_items(items) } else { builder };
        }
        let counts = matches!(self.window.length, Some(WindowLength::Items(_)));
        if !stops && (self.rate.is_some() || counts) {
            builder = builder.when_full(WhenFull::ExceedRate);
        }
        Ok(match self.rate {
            Some(rate) => builder.rate(rate),
            None => builder,
        })
    }

    /// Returns an error if the existing `filter` does not have these properties.
    pub(crate) fn agree_with(&self, filter: &Generations, name: &str) -> Result<()> {
        self.window.agree_with(filter.window(), name)?;
        let template = filter.template();
        let found = OnFull::of(template);
        if let Some(wanted) = self.on_full.filter(|wanted| *wanted != found) {
            return Err(differs(name, "--when-full", found.name(), wanted.name()));
        }
        let limit = Some(template.max_items()).filter(|items| *items != u64::MAX);
        // A window of items has its own limit.
        let counts = filter.window().is_some_and(|window| window.clock() == Clock::Count);
        if let (Some(wanted), Some(found), false) = (self.capacity, limit, counts)
            && wanted != found
        {
            return Err(differs(name, "--capacity", found, wanted));
        }
        let Some(wanted) = self.rate else { return Ok(()) };
        let Some(items) = limit.or(self.capacity) else {
            return Err(differs(name, "--rate", "unbounded (no limit of items)", wanted));
        };
        let found = items as f64 / template.hash_bits().exp2();
        if found > wanted * 1.001 {
            return Err(differs(name, "--rate", format_args!("{found:.2e}"), wanted));
        }
        Ok(())
    }
}

/// The failure to report for a rate without a number of items up to which it holds.
pub(super) fn rate_without_items() -> Failure {
    Failure::at("--rate", "needs a number of items; add --capacity")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::hexadecimal as hexadecimal_text;

    #[test]
    fn files_are_files() {
        for file in ["seen.coua", "valkey:/h/x", "./valkey"] {
            assert!(Location::of(Path::new(file)).unwrap().file().is_some(), "{file}");
        }
        let other = Location::of(Path::new("http://me:secret@h/x")).unwrap_err();
        assert!(other.reason().starts_with("unknown scheme http://"), "{other:?}");
    }

    #[test]
    fn passwords_are_never_shown() {
        let wrong = |text: &str| match Location::of(Path::new(text)) {
            Err(Failure::At { name, reason, .. }) => (name, reason),
            other => panic!("{text}: {other:?}"),
        };
        let (name, reason) = wrong("valkey://me:sec@ret@h:x/seen");
        assert_eq!(name, "valkey://h:x/seen");
        assert!(!reason.contains("ret@"), "{reason}");
        for text in [
            "valkey://me:12/secret@h/seen",
            "valkey://me:12?secret@h/seen",
            "valkey://me:12/x?secret=1@h/seen",
            "valkey://me:12/x#secret@h/seen",
            "valkey://me:secret/12@h/seen",
            "valkey://me/secret@h/seen?shards=2",
            "valkey://h/secret@x",
        ] {
            let (name, reason) = wrong(text);
            assert!(!format!("{name} {reason}").contains("secret"), "{text}: {name} {reason}");
            assert!(reason.contains("%2F") && reason.contains("%40"), "{text}: {reason}");
        }
    }

    #[test]
    fn keys_in_hexadecimal() {
        let key = hexadecimal(b"000102030405060708090a0b0c0d0e0F").unwrap();
        assert_eq!(key, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(hexadecimal_text(key), "000102030405060708090a0b0c0d0e0f");
        assert!(hexadecimal(b"00").is_none());
        assert!(hexadecimal(&[b'g'; 32]).is_none());
    }
}
