//! The functions of `_convert.py`.

use pyo3::prelude::*;

/// What a function of `_convert.py` makes of a value.
pub(crate) fn converted<'py>(
    function: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    value.py().import("coua._convert")?.call_method1(function, (value,))
}
