//! Files that this process writes: it must not wait for itself.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use coua_store::{Lock, Reason, Store, StoreError, Wait, resolved};

use crate::failure::{Failure, Outcome};
use crate::status::coua_status::COUA_BUSY;

static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A filter in a file that this process writes.
pub(crate) struct OpenStore {
    pub(crate) store: Store,
    /// Dropped after the store whose lock it represents.
    _listed: Listed,
}

impl OpenStore {
    pub(crate) fn new(store: Store) -> Self {
        let path = store.path().to_owned();
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Self { store, _listed: Listed(path) }
    }
}

/// The entry of a file in the list.
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = open.iter().position(|path| *path == self.0) {
            open.swap_remove(place);
        }
    }
}

/// Takes the right to write a file. Another process that has it is waited for, if that is said; another handle of this
/// one is not, because this thread may be the one that is to close it.
pub(crate) fn lock(path: &Path, wait: Wait) -> Outcome<Lock> {
    match Lock::take(path, Wait::No) {
        Err(StoreError { reason: Reason::Busy, path, .. }) if is_open(&path) => Err(Failure::new(
            COUA_BUSY,
            format_args!(
                "{}: this process is writing it with another handle; close that first",
                path.display()
            ),
        )),
        Err(StoreError { reason: Reason::Busy, .. }) if wait != Wait::No => {
            Ok(Lock::take(path, wait)?)
        }
        taken => Ok(taken?),
    }
}

fn is_open(path: &Path) -> bool {
    let Ok(path) = resolved(path) else { return false };
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).contains(&path)
}
