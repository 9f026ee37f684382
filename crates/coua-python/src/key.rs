//! One Python object as a key.

use coua::{KeyHash, KeyHasher};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyMemoryView, PyString, PyTuple};

use crate::values::converted;

/// The hash of a `str` (its UTF-8), of bytes, of an integer (8 bytes, little endian), or of a tuple of these.
#[inline]
pub(crate) fn hash(key: &Bound<'_, PyAny>, hasher: KeyHasher) -> PyResult<KeyHash> {
    // To compare types costs less than to ask for bases.
    if let Ok(text) = key.cast_exact::<PyString>() {
        Ok(hasher.hash(text.to_str()?.as_bytes()))
    } else if let Ok(number) = key.cast_exact::<PyInt>() {
        Ok(hasher.hash(integer(number)?))
    } else if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        Ok(hasher.hash(bytes.as_bytes()))
    } else {
        hash_of_rare(key, hasher)
    }
}

#[cold]
fn hash_of_rare(key: &Bound<'_, PyAny>, hasher: KeyHasher) -> PyResult<KeyHash> {
    let Ok(parts) = key.cast::<PyTuple>() else {
        return with_bytes(key, |bytes| hasher.hash(bytes));
    };
    if parts.len() < 2 {
        return Err(PyTypeError::new_err("a tuple of one part is not a key; use the part"));
    }
    let mut joined = Vec::new();
    for part in parts {
        with_bytes(&part, |bytes| append(bytes, &mut joined))?;
    }
    Ok(hasher.hash(joined))
}

/// Adds a part to a key of several.
pub(crate) fn append(part: &[u8], key: &mut Vec<u8>) {
    key.extend((part.len() as u64).to_le_bytes());
    key.extend(part);
}

/// Those of a key of one part.
fn with_bytes<R>(key: &Bound<'_, PyAny>, use_bytes: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(use_bytes(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(use_bytes(bytes.as_bytes()));
    }
    if key.is_instance_of::<PyByteArray>() || key.is_instance_of::<PyMemoryView>() {
        let bytes = key.py().get_type::<PyBytes>().call1((key,))?;
        return Ok(use_bytes(bytes.cast::<PyBytes>()?.as_bytes()));
    }
    // Integers of numpy, and enumerations, say so by __index__; a float, although it may be whole, does not. Arrays of
    // one number have it too.
    let is_number = key.hasattr("__index__")? && !key.hasattr("__len__")?;
    if is_number && !key.is_instance_of::<PyBool>() {
        let number = integer(key.call_method0("__index__")?.cast()?)?;
        return Ok(use_bytes(&number.to_le_bytes()));
    }
    Err(PyErr::from_value(converted("no_key", key)?))
}

/// As 64 bits; a negative one is its two's complement.
#[expect(
    unsafe_code,
    reason = "PyO3 learns of an overflow by an exception, which costs ten times as much"
)]
fn integer(key: &Bound<'_, PyInt>) -> PyResult<u64> {
    let mut overflow = 0;
    // SAFETY: `key` is an int, and the interpreter is held as long as it is borrowed.
    let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(key.as_ptr(), &raw mut overflow) };
    let number = match overflow {
        0 => Some(number.cast_unsigned()),
        1 => key.extract().ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        PyOverflowError::new_err(
            "an integer key must be between -2**63 and 2**64 - 1; pass larger ones as str or bytes",
        )
    })
}
