//! Exceptions.

use std::fmt::Display;
use std::io;
use std::path::Path;

use coua::{BuildError, FullReason};
use coua_store::{Reason, StoreError};
use numpy::PyArray1;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::import_exception;
use pyo3::prelude::*;

// Exceptions of several bases are made in Python.
import_exception!(coua.errors, Closed);
import_exception!(coua.errors, Error);
import_exception!(coua.errors, FileError);
import_exception!(coua.errors, Full);
import_exception!(coua.errors, LoadError);
import_exception!(coua.errors, Locked);
import_exception!(coua.errors, MergeError);
import_exception!(coua.errors, Mismatch);

/// A key or batch that was refused; the filter's own words say why.
#[cold]
pub(crate) fn full(
    py: Python<'_>,
    done: usize,
    why: coua::Full,
    answers: Option<Vec<bool>>,
) -> PyErr {
    let error = match why.reason {
        FullReason::OutOfMemory => PyMemoryError::new_err(why.to_string()),
        _ => Full::new_err(why.to_string()),
    };
    let value = error.value(py);
    let answers = answers.map(|answers| PyArray1::from_vec(py, answers));
    // Both kinds of exception take attributes.
    let noted = value.setattr("done", done).and_then(|()| value.setattr("answers", answers));
    match noted {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// A filter that cannot be made as described.
pub(crate) fn build(error: BuildError) -> PyErr {
    match error {
        BuildError::OutOfMemory(error) => PyMemoryError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Something that is said of values that were given.
pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Bytes that are no filter.
pub(crate) fn load(error: coua::LoadError) -> PyErr {
    match error {
        coua::LoadError::Io(error) => FileError::new_err(error.to_string()),
        coua::LoadError::OutOfMemory(error) => PyMemoryError::new_err(error.to_string()),
        coua::LoadError::KeyNeeded => {
            LoadError::new_err("the filter has a secret key; pass it as key=")
        }
        error => LoadError::new_err(error.to_string()),
    }
}

/// A file that cannot be opened, or written.
pub(crate) fn store(error: &StoreError) -> PyErr {
    match &error.reason {
        Reason::Io { source, .. }
        | Reason::Folder(source)
        | Reason::Unsynced(source)
        | Reason::Load(coua::LoadError::Io(source)) => system(&error.path, source, &error.reason),
        Reason::Busy => {
            Locked::new_err(format!("{error}; wait for it (wait=), or use another file"))
        }
        Reason::OpenHere => Locked::new_err(error.to_string()),
        Reason::Load(coua::LoadError::OutOfMemory(_)) => PyMemoryError::new_err(error.to_string()),
        Reason::Load(_) => LoadError::new_err(error.to_string()),
        _ => Error::new_err(error.to_string()),
    }
}

/// As Python says it of its own files, so that `FileNotFoundError` and the like can be caught.
pub(crate) fn system(path: &Path, source: &io::Error, reason: &impl Display) -> PyErr {
    const NOT_FOUND: i32 = 2;
    let number =
        source.raw_os_error().or((source.kind() == io::ErrorKind::NotFound).then_some(NOT_FOUND));
    match number {
        Some(number) => {
            FileError::new_err((number, reason.to_string(), path.as_os_str().to_owned()))
        }
        None => FileError::new_err(format!("{}: {reason}", path.display())),
    }
}
