//! What is said of a new filter, by keywords.

use std::time::Duration;

use coua::window::{Clock, Generations, Window};
use coua::{CuckooFilter, CuckooFilterBuilder, HashAlgorithm, KeyHasher, Layout, WhenFull};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;

/// Generations of a window if nothing is said, as in the program.
const GENERATIONS: u32 = 8;

/// The description of a filter. What is `None` was left out.
#[derive(Debug, Default)]
pub(crate) struct Options {
    capacity: Option<u64>,
    rate: Option<f64>,
    max_items: Option<u64>,
    hash_bits: Option<u32>,
    layout: Option<Layout>,
    when_full: Option<WhenFull>,
    hasher: Hashing,
    window: Option<Window>,
}

/// A seed or a secret key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hashing {
    seed: Option<u64>,
    key: Option<[u8; 16]>,
}

impl Hashing {
    /// From `seed` and `key`, which exclude each other.
    pub(crate) fn new(seed: Option<u64>, key: Option<[u8; 16]>) -> PyResult<Self> {
        if seed.is_some() && key.is_some() {
            return Err(PyValueError::new_err(
                "both a seed and a key were given: give one of them",
            ));
        }
        Ok(Self { seed, key })
    }

    pub(crate) fn hasher(self) -> KeyHasher {
        match self.key {
            Some(key) => KeyHasher::siphash13(key),
            None => KeyHasher::xxh3(self.seed.unwrap_or(0)),
        }
    }
}

/// Takes a keyword's value away, so that what is left at the end is unknown.
pub(crate) fn take<'py, T>(keywords: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let Some(value) = keywords.get_item(name)? else { return Ok(None) };
    keywords.del_item(name)?;
    if value.is_none() {
        return Ok(None);
    }
    value.extract().map(Some).map_err(|error: <T as FromPyObject<'_, 'py>>::Error| {
        let error: PyErr = error.into();
        error.add_note(keywords.py(), format!("(argument {name})")).ok();
        error
    })
}

/// Complains about a keyword that nothing has taken.
pub(crate) fn check_empty(keywords: &Bound<'_, PyDict>) -> PyResult<()> {
    match keywords.keys().iter().next() {
        Some(name) => Err(PyTypeError::new_err(format!("unexpected keyword argument '{name}'"))),
        None => Ok(()),
    }
}

impl Options {
    /// The options of a filter that never forgets.
    pub(crate) fn take(keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            capacity: take(keywords, "capacity")?,
            rate: take(keywords, "rate")?,
            max_items: take(keywords, "max_items")?,
            hash_bits: take(keywords, "hash_bits")?,
            layout: take::<String>(keywords, "layout")?.map(|name| layout(&name)).transpose()?,
            when_full: take::<String>(keywords, "when_full")?
                .map(|name| when_full(&name))
                .transpose()?,
            hasher: Hashing::new(take(keywords, "seed")?, take(keywords, "key")?)?,
            window: None,
        })
    }

    /// Of this size, given beside the keywords.
    pub(crate) fn sized(self, capacity: Option<u64>, rate: Option<f64>) -> Self {
        Self { capacity, rate, ..self }
    }

    /// Of a window with this length, or so many items.
    pub(crate) fn take_window(
        &mut self,
        length: Option<Length>,
        items: Option<u64>,
        keywords: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let generations = take::<u32>(keywords, "generations")?;
        let clock = take::<String>(keywords, "clock")?;
        let (clock, length) = match (length, items) {
            (Some(Length(milliseconds)), None) => (clock_named(clock.as_deref())?, milliseconds),
            (None, Some(items)) if clock.is_none() => (Clock::Count, items),
            (None, Some(_)) => {
                return Err(PyValueError::new_err(
                    "a window of items has no clock: leave clock out",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "both a length of time and a number of items were given",
                ));
            }
            (None, None) if generations.is_some() || clock.is_some() => {
                return Err(PyValueError::new_err(
                    "generations and clock are for windows: give a window",
                ));
            }
            (None, None) => return Ok(()),
        };
        let window = Window::new(clock, length, generations.unwrap_or(GENERATIONS));
        self.window = Some(window.map_err(error::value)?);
        Ok(())
    }

    pub(crate) fn key(&self) -> Option<[u8; 16]> {
        self.hasher.key
    }

    /// A new filter.
    pub(crate) fn build(&self) -> PyResult<Generations> {
        let filter = match self.window {
            Some(window) => Generations::build(window, self.builder()),
            None => self.builder().build().map(Generations::from),
        };
        filter.map_err(error::build)
    }

    fn builder(&self) -> CuckooFilterBuilder {
        let mut builder = CuckooFilter::builder().hasher(self.hasher.hasher());
        if let Some(rate) = self.rate {
            builder = builder.rate(rate);
        }
        if let Some(bits) = self.hash_bits {
            builder = builder.hash_bits(bits);
        }
        if let Some(layout) = self.layout {
            builder = builder.layout(layout);
        }
        if let Some(when_full) = self.when_full {
            builder = builder.when_full(when_full);
        }
        if let Some(items) = self.max_items {
            builder = builder.max_items(items);
        }
        if let Some(items) = self.capacity {
            builder = builder.capacity(items);
        }
        builder
    }

    /// Complains if a filter that exists is not as it was described.
    pub(crate) fn agree_with(&self, filter: &Generations) -> PyResult<()> {
        let plain = filter.template();
        let differs = |option: &str, found: &str| {
            Err(PyValueError::new_err(format!(
                "the filter exists, and its {option} is {found}, not what {option} says: leave {option} out, \
                 or name another file"
            )))
        };
        if self.window.is_some() && self.window != filter.window() {
            return differs(
                "window",
                &filter.window().map_or("none".into(), |window| format!("{window:?}")),
            );
        }
        let is_keyed = matches!(filter.hasher().algorithm(), HashAlgorithm::SipHash13 { .. });
        if self.hasher.key.is_some() != is_keyed
            || self.hasher.seed.is_some() && self.hasher.hasher() != filter.hasher()
        {
            return differs("seed or key", "another one");
        }
        if self.layout.is_some_and(|layout| layout != plain.layout()) {
            return differs("layout", &format!("{:?}", plain.layout()).to_lowercase());
        }
        if self.when_full.is_some_and(|when| when != plain.when_full()) {
            return differs("when_full", &format!("{:?}", plain.when_full()).to_lowercase());
        }
        if self.max_items.is_some_and(|items| items != plain.max_items()) {
            let items = plain.max_items();
            let found = if items == u64::MAX { "unlimited" } else { &items.to_string() };
            return differs("max_items", found);
        }
        if self.hash_bits.is_some_and(|bits| (f64::from(bits) - plain.hash_bits()).abs() >= 1.0) {
            return differs("hash_bits", &format!("{:.2}", plain.hash_bits()));
        }
        let holds = plain.max_items() as f64 / plain.hash_bits().exp2();
        if self.rate.is_some_and(|rate| holds > rate * 1.001) {
            return differs("rate", &format!("{holds:.1e}"));
        }
        Ok(())
    }
}

pub(crate) fn layout(name: &str) -> PyResult<Layout> {
    match name {
        "buckets" => Ok(Layout::Buckets),
        "overlapping" => Ok(Layout::Overlapping),
        _ => Err(unknown("layout", name, "\"buckets\" or \"overlapping\"")),
    }
}

fn when_full(name: &str) -> PyResult<WhenFull> {
    match name {
        "grow" => Ok(WhenFull::Grow),
        "error" => Ok(WhenFull::Refuse),
        "exceed" => Ok(WhenFull::ExceedRate),
        _ => Err(unknown("when_full", name, "\"grow\", \"error\" or \"exceed\"")),
    }
}

fn clock_named(name: Option<&str>) -> PyResult<Clock> {
    match name {
        None | Some("arrival") => Ok(Clock::Arrival),
        Some("given") => Ok(Clock::Given),
        Some(name) => Err(unknown("clock", name, "\"arrival\" or \"given\"")),
    }
}

fn unknown(option: &str, found: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{option} is {found:?}: expected {expected}"))
}

/// A length of time in milliseconds: a `timedelta`, or text such as `7d` or `36h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length(u64);

impl<'py> FromPyObject<'_, 'py> for Length {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(text) = value.extract::<String>() else {
            let length: Duration = value.extract().map_err(|_| {
                PyTypeError::new_err("a window is neither text such as \"7d\" nor a timedelta")
            })?;
            return Ok(Self(u64::try_from(length.as_millis()).unwrap_or(u64::MAX)));
        };
        parsed(&text).map(Self).ok_or_else(|| {
            unknown("window", &text, "a number with ms, s, m, h, d or w, such as \"7d\" or \"36h\"")
        })
    }
}

/// Several parts are added up.
fn parsed(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let letters =
            after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let milliseconds: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(milliseconds)?)?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then_some(sum)
}
