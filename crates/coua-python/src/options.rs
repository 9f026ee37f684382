//! Keywords that describe a new filter.

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHasher, WhenFull};
use coua_store::Requirements;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, Mismatch};
use crate::values::{Secret, Whole, converted};

/// Generations of a window if nothing is said, as in the program.
const GENERATIONS: u32 = 8;

const WHEN_FULL: [(&str, WhenFull); 3] =
    [("grow", WhenFull::Grow), ("error", WhenFull::Refuse), ("exceed", WhenFull::ExceedRate)];
const CLOCKS: [(&str, Clock); 2] = [("arrival", Clock::Arrival), ("given", Clock::Given)];
const AGES: [(&str, AgeFrom); 2] = [("first", AgeFrom::FirstSeen), ("last", AgeFrom::LastSeen)];

/// The options of a filter; `None` if not given.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) wanted: Requirements,
    pub(crate) key: Option<[u8; 16]>,
}

/// The hash with a seed or a secret key, which exclude each other.
pub(crate) fn hasher(seed: Option<Whole<u64>>, key: Option<Secret>) -> PyResult<Option<KeyHasher>> {
    match (seed, key) {
        (Some(_), Some(_)) => Err(error::value("seed and key exclude each other; use one")),
        (Some(seed), None) => Ok(Some(KeyHasher::Xxh3 { seed: seed.0 })),
        (None, key) => Ok(key.map(|key| KeyHasher::SipHash13 { key: key.0 })),
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
        let key = take::<Secret>(keywords, "key")?;
        let wanted = Requirements {
            capacity: number(keywords, "capacity")?,
            rate: take(keywords, "rate")?,
            max_items: number(keywords, "max_items")?,
            hash_bits: number(keywords, "hash_bits")?,
            when_full: named(keywords, "when_full", &WHEN_FULL)?,
            hasher: hasher(take(keywords, "seed")?, key)?,
            window: None,
        };
        Ok(Self { wanted, key: key.map(|key| key.0) })
    }

    /// Options of a window with this length or number of items, whose keywords begin with this.
    pub(crate) fn take_window(
        &mut self,
        length: Option<Length>,
        prefix: &str,
        keywords: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let items = number(keywords, &format!("{prefix}items"))?;
        let by = named(keywords, &format!("{prefix}by"), &AGES)?;
        let clock = named(keywords, "clock", &CLOCKS)?;
        let generations = number::<u32>(keywords, "generations")?;
        let (clock, length) = match (length, items, clock) {
            (Some(Length(milliseconds)), None, _) => {
                (clock.unwrap_or(Clock::Arrival), milliseconds)
            }
            (None, Some(items), None) => (Clock::Count, items),
            (None, None, _) if prefix.is_empty() => {
                return Err(error::value("a window needs a length such as \"7d\", or items"));
            }
            (None, None, None) if generations.is_none() && by.is_none() => return Ok(()),
            (None, None, _) => {
                return Err(error::value("generations, clock and window_by need a window"));
            }
            (None, Some(_), Some(_)) => {
                return Err(error::value("a window of items has no clock; drop clock="));
            }
            (Some(_), Some(_), _) => {
                return Err(error::value(
                    "a length of time and a number of items exclude each other; use one",
                ));
            }
        };
        let window = Window::new(clock, length, generations.unwrap_or(GENERATIONS));
        let window = window.map_err(error::value)?;
        self.wanted.window = Some(window.counted_from(by.unwrap_or_default()));
        Ok(())
    }

    /// A new filter.
    pub(crate) fn build(&self) -> PyResult<Generations> {
        self.wanted.build().map_err(error::build)
    }

    /// Returns an error if an existing filter differs from the description.
    pub(crate) fn agree_with(&self, filter: &Generations) -> PyResult<()> {
        let difference = self.wanted.difference(filter);
        difference.map_or(Ok(()), |it| Err(Mismatch::new_err(it)))
    }
}

/// The value of an option that has a name.
fn named<T: Copy>(
    keywords: &Bound<'_, PyDict>,
    option: &str,
    values: &[(&str, T)],
) -> PyResult<Option<T>> {
    let Some(found) = take::<String>(keywords, option)? else { return Ok(None) };
    let value = values.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
    value.map(Some).ok_or_else(|| {
        let names: Vec<_> = values.iter().map(|(name, _)| format!("{name:?}")).collect();
        let names = names.join(", ");
        error::value(format!("{option} is {found:?}: expected one of {names}"))
    })
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
