//! What stands beside a filter: what a writer has left there, or somebody else's. That is never removed or
//! replaced.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use coua::LoadError;

use crate::error::StoreError;
use crate::journal;

/// How a snapshot begins (docs/format.md).
pub(crate) const SNAPSHOT: [u8; 8] = *b"\x89COUA\r\n\x1a";
/// Bytes that a disk writes whole or not at all.
const SECTOR: u64 = 512;

/// What has a name that a filter needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    /// What was to be written there has not come, as after a power cut.
    Blank,
    /// It begins as it should.
    Begun,
}

/// What is at `path`, where a writer leaves files that begin with `magic`.
///
/// # Errors
///
/// [`StoreError::Occupied`] if it is anything else.
pub(crate) fn at(path: &Path, magic: &[u8]) -> Result<Left, StoreError> {
    let occupied = || Err(StoreError::Occupied { path: path.to_owned() });
    let failed = |source| StoreError::io(path, "read", source);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Left::Nothing),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.is_file() => return occupied(),
        Ok(found) if found.len() == 0 => return Ok(Left::Blank),
        Ok(_) => {}
    }
    let mut begin = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(SECTOR).read_to_end(&mut begin).map_err(failed)?;
    if begin.iter().all(|byte| *byte == 0) {
        return Ok(Left::Blank);
    }
    let length = begin.len().min(magic.len());
    if begin[..length] == magic[..length] { Ok(Left::Begun) } else { occupied() }
}

/// Complains about what is neither a filter nor empty.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), StoreError> {
    let path = || path.to_owned();
    let found = match fs::metadata(path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|source| StoreError::io(&path(), "read", source))?,
    };
    if !found.is_file() {
        return Err(StoreError::NotRegular { path: path() });
    }
    match at(&path(), &SNAPSHOT) {
        Err(StoreError::Occupied { .. }) if at(&path(), &journal::MAGIC).is_ok() => {
            Err(StoreError::OverJournal { path: path() })
        }
        Err(StoreError::Occupied { .. }) => {
            Err(StoreError::Load { path: path(), source: LoadError::NotAFilter })
        }
        // Zeros are no filter: a snapshot has its name only when all of it is on the disk.
        Ok(Left::Blank) if found.len() > 0 => {
            Err(StoreError::Load { path: path(), source: LoadError::NotAFilter })
        }
        found => found.map(drop),
    }
}

/// Complains about what cannot be a lock: those are empty.
pub(crate) fn check_lock(path: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() || found.len() > 0 => {
            Err(StoreError::Occupied { path: path.to_owned() })
        }
        // What else is wrong is found out when it is opened.
        _ => Ok(()),
    }
}
