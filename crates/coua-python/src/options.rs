//! Keywords that describe a new filter.

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHasher, WhenFull};
use coua_store::Requirements;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::converted;
use crate::error::{self, Mismatch};
use crate::values::{Secret, Whole};

/// Generations of a window if nothing is said, as in the program.
const GENERATIONS: u32 = 8;

/// The options of a filter; `None` if not given.
#[derive(Debug, Default)]
pub(crate) struct Options {
    wanted: Requirements,
    key: Option<[u8; 16]>,
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
    pub(crate) fn new(seed: Option<Whole<u64>>, key: Option<Secret>) -> PyResult<Self> {
        if seed.is_some() && key.is_some() {
            return Err(PyValueError::new_err("seed and key exclude each other; use one"));
        }
        Ok(Self { seed: seed.map(|it| it.0), key: key.map(|it| it.0) })
    }

    fn is_given(self) -> bool {
        self.seed.is_some() || self.key.is_some()
    }

    pub(crate) fn hasher(self) -> KeyHasher {
        match self.key {
            Some(key) => KeyHasher::siphash13(key),
            None => KeyHasher::xxh3(self.seed.unwrap_or(0)),
        }
    }
}

/// Removes a keyword's value; those left at the end are unknown keywords.
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

/// [`take`] of a number.
fn number<T: TryFrom<u64>>(keywords: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<T>> {
    Ok(take::<Whole<T>>(keywords, name)?.map(|it| it.0))
}

/// Returns an error for a keyword that nothing has taken.
pub(crate) fn check_empty(keywords: &Bound<'_, PyDict>) -> PyResult<()> {
    match keywords.keys().iter().next() {
        Some(name) => Err(PyTypeError::new_err(format!("unexpected keyword argument '{name}'"))),
        None => Ok(()),
    }
}

impl Options {
    /// The options of a filter that never forgets.
    pub(crate) fn take(keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut wanted = Requirements {
            capacity: number(keywords, "capacity")?,
            rate: take(keywords, "rate")?,
            max_items: number(keywords, "max_items")?,
            hash_bits: number(keywords, "hash_bits")?,
            when_full: take::<String>(keywords, "when_full")?
                .map(|name| when_full(&name))
                .transpose()?,
            ..Requirements::default()
        };
        let hashing = Hashing::new(take(keywords, "seed")?, take(keywords, "key")?)?;
        wanted.hasher = hashing.is_given().then(|| hashing.hasher());
        Ok(Self { wanted, key: hashing.key, window: None })
    }

    /// Options with this size, which is given beside the keywords.
    pub(crate) fn sized(self, capacity: Option<u64>, rate: Option<f64>) -> Self {
        Self { wanted: Requirements { capacity, rate, ..self.wanted }, ..self }
    }

    /// Options of a window with this length or number of items.
    pub(crate) fn take_window(
        &mut self,
        length: Option<Length>,
        items: Option<u64>,
        by: Option<String>,
        keywords: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let generations = number::<u32>(keywords, "generations")?;
        let clock = take::<String>(keywords, "clock")?;
        let (clock, length) = match (length, items) {
            (Some(Length(milliseconds)), None) => (clock_named(clock.as_deref())?, milliseconds),
            (None, Some(items)) if clock.is_none() => (Clock::Count, items),
            (None, Some(_)) => {
                return Err(PyValueError::new_err("a window of items has no clock; drop clock="));
            }
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "a length of time and a number of items exclude each other; use one",
                ));
            }
            (None, None) if generations.is_some() || clock.is_some() || by.is_some() => {
                return Err(PyValueError::new_err(
                    "generations, clock and window_by need a window",
                ));
            }
            (None, None) => return Ok(()),
        };
        let window = Window::new(clock, length, generations.unwrap_or(GENERATIONS));
        self.window = Some(window.map_err(error::value)?.counted_from(age_named(by.as_deref())?));
        Ok(())
    }

    pub(crate) fn key(&self) -> Option<[u8; 16]> {
        self.key
    }

    /// A new filter.
    pub(crate) fn build(&self) -> PyResult<Generations> {
        let filter = match self.window {
            Some(window) => self.wanted.builder().build_window(window),
            None => self.wanted.builder().build().map(Generations::from),
        };
        filter.map_err(error::build)
    }

    /// Returns an error if an existing filter differs from the description.
    pub(crate) fn agree_with(&self, filter: &Generations) -> PyResult<()> {
        let window = filter.window();
        if self.window.is_some() && self.window != window {
            let (found, wanted) = (words(window), words(self.window));
            return Err(Mismatch::new_err(format!(
                "the file has {found}, not {wanted}; drop that, or use another file"
            )));
        }
        let difference = self.wanted.difference(filter.template());
        difference.map_or(Ok(()), |it| Err(Mismatch::new_err(it.explain(it.option))))
    }
}

/// A window as it is given to `open`.
fn words(window: Option<Window>) -> String {
    let Some(window) = window else { return "no window".to_owned() };
    let (length, generations) = (window.length(), window.generations());
    let by = if window.age_from() == AgeFrom::LastSeen { ", window_by=\"last\"" } else { "" };
    let window = match window.clock() {
        Clock::Count => format!("window_items={length}"),
        Clock::Arrival => format!("window=\"{}\"", duration(length)),
        Clock::Given => format!("window=\"{}\", clock=\"given\"", duration(length)),
    };
    format!("{window}{by}, generations={generations}")
}

/// In the largest unit, up to days, of which it is a multiple.
fn duration(milliseconds: u64) -> String {
    let is_multiple = |(_, of): &&(&str, u64)| milliseconds.is_multiple_of(*of);
    let (unit, of) = UNITS[1..].iter().find(is_multiple).unwrap_or(&("ms", 1));
    format!("{}{unit}", milliseconds / of)
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

fn age_named(name: Option<&str>) -> PyResult<AgeFrom> {
    match name {
        None | Some("first") => Ok(AgeFrom::FirstSeen),
        Some("last") => Ok(AgeFrom::LastSeen),
        Some(name) => Err(unknown("by", name, "\"first\" or \"last\"")),
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
        converted("length", &value)?.extract().map(Self)
    }
}

/// Units of time in milliseconds, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];
