//! The times of a batch.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::pandas::pandas;

/// Times as numpy or pandas have them, `datetime` objects, or milliseconds since 1970. A time without a zone is of UTC.
pub(crate) fn milliseconds(times: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let numpy = times.py().import("numpy")?;
    let zoneless = without_zone(times)?;
    let mut array = numpy.call_method1("asarray", (zoneless.as_ref().unwrap_or(times),))?;
    if kind(&array)? == 'O' {
        array = numpy.call_method1("array", (datetimes(&array)?, "datetime64[ms]"))?;
    }
    let array = match kind(&array)? {
        'M' => {
            array.call_method1("astype", ("datetime64[ms]",))?.call_method1("astype", ("int64",))?
        }
        'i' | 'u' => array.call_method1("astype", ("int64",))?,
        _ => return Err(no_times()),
    };
    let array = array.cast::<PyArray1<i64>>()?.readonly();
    let times = array.as_array().iter().map(|time| u64::try_from(*time)).collect::<Result<_, _>>();
    times.map_err(|_| PyValueError::new_err("a time is before 1970, or missing"))
}

fn kind(array: &Bound<'_, PyAny>) -> PyResult<char> {
    array.cast::<PyUntypedArray>()?.dtype().getattr("kind")?.extract()
}

/// A column of pandas that has a zone, in UTC.
fn without_zone<'py>(times: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let has_zone = times.getattr("dtype").is_ok_and(|dtype| dtype.hasattr("tz").unwrap_or(false));
    match pandas(times.py())? {
        Some(pandas) if has_zone => {
            let index = pandas.call_method1("DatetimeIndex", (times,))?;
            index.call_method1("tz_convert", (times.py().None(),)).map(Some)
        }
        _ => Ok(None),
    }
}

/// Those of an array of objects, without their zones.
fn datetimes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let datetime = array.py().import("datetime")?;
    let (kind, utc) =
        (datetime.getattr("datetime")?, datetime.getattr("timezone")?.getattr("utc")?);
    let zoneless = PyDict::new(array.py());
    zoneless.set_item("tzinfo", array.py().None())?;
    let times = PyList::empty(array.py());
    for time in array.try_iter()? {
        let time = time?;
        if !time.is_instance(&kind)? {
            return Err(no_times());
        }
        let has_zone = !time.getattr("tzinfo")?.is_none();
        let time = if has_zone { time.call_method1("astimezone", (&utc,))? } else { time };
        times.append(time.call_method("replace", (), Some(&zoneless))?)?;
    }
    Ok(times)
}

fn no_times() -> PyErr {
    PyTypeError::new_err(
        "times must be datetime64, datetime objects, or integers (milliseconds since 1970)",
    )
}
