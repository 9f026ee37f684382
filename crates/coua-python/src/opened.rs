//! The files that this process has open for writing.
//!
//! The lock of a file only shows that some process has it. Waiting for this process itself, as in a notebook's cell
//! that runs again, would often never end.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::error::Locked;
use crate::fork::Process;

static OPENED: Mutex<Vec<(PathBuf, Process)>> = Mutex::new(Vec::new());

/// A file is noted as open until this is dropped.
#[derive(Debug)]
pub(crate) struct Opened(PathBuf);

impl Opened {
    /// The file with this name, which exists.
    pub(crate) fn new(path: &Path) -> Self {
        let path = target(path);
        let mut opened = opened();
        // Those of a parent are not open here.
        opened.retain(|(_, process)| process.is_this());
        opened.push((path.clone(), Process::this()));
        Self(path)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        opened().retain(|(path, _)| *path != self.0);
    }
}

/// Refuses to write a file that is open here.
pub(crate) fn check(path: &Path) -> PyResult<()> {
    let target = target(path);
    let is_open = opened().iter().any(|(path, process)| *path == target && process.is_this());
    if !is_open {
        return Ok(());
    }
    Err(Locked::new_err(format!(
        "{}: this process has it open for writing; use that filter, or close() it first",
        path.display()
    )))
}

/// The file itself, links resolved.
fn target(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn opened() -> MutexGuard<'static, Vec<(PathBuf, Process)>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}
