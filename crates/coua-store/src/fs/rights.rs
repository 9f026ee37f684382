//! Rights to a file that replaces or copies another one: nothing is allowed that the other file does not allow.

use std::fs::{self, File};
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::{
    fs::Permissions,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
};

/// The bits of a mode for the group, and for everybody else.
#[cfg(unix)]
const GROUP: u32 = 0o070;
#[cfg(unix)]
const OTHERS: u32 = 0o007;

/// Gives a file that will replace the one at `old` its owner, group, permissions and, on Linux, access control list.
/// Leaves out what this process may not set, and every right that would be gained by that.
#[cfg(unix)]
pub(super) fn keep_rights(new: &File, old: &Path) -> io::Result<()> {
    let (found, created) = (fs::metadata(old)?, new.metadata()?);
    let keeps_group = created.gid() == found.gid() || fchown(new, None, Some(found.gid())).is_ok();
    if created.uid() != found.uid() {
        fchown(new, Some(found.uid()), None).ok();
    }
    let (list, mode) = (lists::of(old), found.mode());
    let keeps_list = list.as_ref().is_ok_and(|list| lists::set(new, list.as_deref()).is_ok());
    let mode = match list {
        _ if !keeps_list => for_owner(mode),
        _ if keeps_group => mode,
        Ok(None) => for_others(mode),
        _ => for_owner(mode),
    };
    new.set_permissions(Permissions::from_mode(mode))
}

/// Limits the rights to a new file to those to the file at `source`.
#[cfg(unix)]
pub(super) fn limit_rights(new: &File, source: &Path) -> io::Result<()> {
    let (found, created) = (fs::metadata(source)?, new.metadata()?);
    let mode = match lists::of(source) {
        Ok(None) if lists::set(new, None).is_err() => for_owner(found.mode()),
        Ok(None) if created.gid() == found.gid() => found.mode(),
        Ok(None) => for_others(found.mode()),
        _ => for_owner(found.mode()),
    };
    new.set_permissions(Permissions::from_mode(created.mode() & mode))
}

/// The mode for a file of another group: all but the owner have what both the group and everybody else had.
#[cfg(unix)]
fn for_others(mode: u32) -> u32 {
    let both = mode >> 3 & mode & OTHERS;
    for_owner(mode) | both << 3 | both
}

/// The mode that gives rights to the owner alone: a list may deny what the mode gives.
#[cfg(unix)]
fn for_owner(mode: u32) -> u32 {
    mode & !GROUP & !OTHERS
}

#[cfg(not(unix))]
pub(super) fn keep_rights(new: &File, old: &Path) -> io::Result<()> {
    new.set_permissions(fs::metadata(old)?.permissions())
}

#[cfg(not(unix))]
pub(super) fn limit_rights(_new: &File, _source: &Path) -> io::Result<()> {
    Ok(())
}

/// Access control lists, which Linux keeps as an extended attribute.
#[cfg(target_os = "linux")]
mod lists {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, getxattr};
    use rustix::io::{Errno, Result};
    use std::fs::File;
    use std::path::Path;

    const NAME: &str = "system.posix_acl_access";
    /// The most bytes of an attribute's value.
    const MOST: usize = 1 << 16;

    /// The list of a file, if it has one.
    pub(super) fn of(path: &Path) -> Result<Option<Vec<u8>>> {
        let mut list = vec![0; MOST];
        let found = getxattr(path, NAME, &mut list[..]);
        list.truncate(*found.as_ref().unwrap_or(&0));
        none_if_absent(found.map(|_| list))
    }

    /// Gives a file this list, or none.
    pub(super) fn set(file: &File, list: Option<&[u8]>) -> Result<()> {
        match list {
            Some(list) => fsetxattr(file, NAME, list, XattrFlags::empty()),
            None => none_if_absent(fremovexattr(file, NAME)).map(drop),
        }
    }

    fn none_if_absent<T>(found: Result<T>) -> Result<Option<T>> {
        match found {
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Elsewhere the mode says all, or lists do not show in it.
#[cfg(all(unix, not(target_os = "linux")))]
mod lists {
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    pub(super) fn of(_path: &Path) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    pub(super) fn set(_file: &File, _list: Option<&[u8]>) -> Result<()> {
        Ok(())
    }
}
