//! The times of a batch.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Times as numpy has them, or milliseconds since 1970.
pub(crate) fn milliseconds(times: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let array = times.py().import("numpy")?.call_method1("asarray", (times,))?;
    let array = match array.cast::<PyUntypedArray>()?.dtype().getattr("kind")?.extract::<char>()? {
        'M' => {
            array.call_method1("astype", ("datetime64[ms]",))?.call_method1("astype", ("int64",))?
        }
        'i' | 'u' => array.call_method1("astype", ("int64",))?,
        _ => {
            return Err(PyTypeError::new_err(
                "times are neither datetime64 nor integers (milliseconds since 1970)",
            ));
        }
    };
    let array = array.cast::<PyArray1<i64>>()?.readonly();
    let times = array.as_array().iter().map(|time| u64::try_from(*time)).collect::<Result<_, _>>();
    times.map_err(|_| PyValueError::new_err("a time is before 1970, or missing"))
}
