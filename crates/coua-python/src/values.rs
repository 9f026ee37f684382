//! Arguments.

use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// A number of something: an integer from 0 to the largest of its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<T>(pub(crate) T);

impl<'py, T: TryFrom<u64>> FromPyObject<'_, 'py> for Whole<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let number = match value.extract::<u64>() {
            Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
                return Err(error);
            }
            number => number.ok().and_then(|number| T::try_from(number).ok()),
        };
        number.map(Self).ok_or_else(|| {
            let (found, bits) = (&*value, 8 * size_of::<T>());
            PyOverflowError::new_err(format!("{found} is not between 0 and 2**{bits} - 1"))
        })
    }
}

/// A secret key.
#[derive(Clone, Copy)]
pub(crate) struct Secret(pub(crate) [u8; 16]);

impl<'py> FromPyObject<'_, 'py> for Secret {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let bytes = buffer(&value)?;
        let bytes = bytes.as_slice().map_err(crate::error::value)?;
        bytes.try_into().map(Self).map_err(|_| {
            PyValueError::new_err(format!(
                "a key must have 16 bytes, such as secrets.token_bytes(16), not {}",
                bytes.len()
            ))
        })
    }
}

/// The name of a file, as Python's own functions take it.
#[derive(Clone, Debug)]
pub(crate) struct FileName(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for FileName {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.py().import("os")?.call_method1("fsdecode", (value,))?.extract().map(Self)
    }
}

/// What a function of `_convert.py` makes of a value.
pub(crate) fn converted<'py>(
    function: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    value.py().import("coua._convert")?.call_method1(function, (value,))
}

/// The bytes of whatever has them: bytes, bytearray, memoryview, mmap, an array.
pub(crate) fn buffer<'py>(data: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, u8>> {
    let array = data.py().import("numpy")?.call_method1("frombuffer", (data, "u1"))?;
    Ok(array.cast_into::<PyArray1<u8>>()?.readonly())
}
