//! Files that will replace a filter: `.seen.coua.Xk3f9QpZ.tmp` for `seen.coua`. A killed writer leaves its
//! file, which the next writer of that filter removes.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use coua::snapshot::MAGIC;
use tempfile::{Builder, NamedTempFile};

use super::Folder;
use super::rights::keep_rights;

/// Random characters of a name.
const RANDOM: usize = 8;
const END: &str = ".tmp";
/// The most bytes used of the filter's name: file systems allow 255 in total.
const MOST_NAME: usize = 200;
const SECTOR: u64 = 512;

/// Creates a file with the owner and the permissions of the filter that it will replace.
pub(crate) fn create(target: &Path) -> io::Result<NamedTempFile> {
    let begin = begin_of(target);
    let mut builder = Builder::new();
    // Private until it has the permissions of the filter.
    let file = builder
        .prefix(&begin)
        .suffix(END)
        .rand_bytes(RANDOM)
        .tempfile_in(Folder::path_of(target))?;
    keep_rights(file.as_file(), target)?;
    Ok(file)
}

/// Removes the files that killed writers of this filter have left. Only its writer may call this.
pub(crate) fn clear(target: &Path) {
    let Ok(entries) = fs::read_dir(Folder::path_of(target)) else { return };
    let begin = begin_of(target);
    for entry in entries.filter_map(Result::ok) {
        if is_name(&entry.file_name(), &begin) && is_abandoned(&entry.path()) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn begin_of(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut end = name.len().min(MOST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.", &name[..end]).into()
}

fn is_name(name: &OsString, begin: &OsString) -> bool {
    let (name, begin) = (name.as_encoded_bytes(), begin.as_encoded_bytes());
    let random = name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(END.as_bytes()));
    random.is_some_and(|bytes| bytes.len() == RANDOM && bytes.iter().all(u8::is_ascii_alphanumeric))
}

/// Whether this is the file of a writer that has ended.
fn is_abandoned(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let Some(mut file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    let mut begin = Vec::new();
    let read = file.by_ref().take(SECTOR).read_to_end(&mut begin);
    let is_ours = begin.starts_with(&MAGIC) || begin.iter().all(|&byte| byte == 0);
    read.is_ok() && is_ours && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_writers_of_the_filter_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("seen.coua");
        fs::write(&target, "").unwrap();
        let (_, left) = create(&target).unwrap().keep().unwrap();
        let (at_work, held) = create(&target).unwrap().keep().unwrap();
        at_work.try_lock().unwrap();
        let others =
            [".seen.coua.notes.tmp", ".seen.coua.abcdefgh.tmp", ".seen2.coua.abcdefgh.tmp"];
        for name in others {
            fs::write(folder.path().join(name), "somebody's").unwrap();
        }
        clear(&target);
        assert!(!left.exists() && held.exists() && target.exists());
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        drop(at_work);
        clear(&target);
        assert!(!held.exists());
    }

    #[test]
    fn long_names_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "\u{e9}".repeat(127)] {
            let target = folder.path().join(name);
            fs::write(&target, "").unwrap();
            let (_, path) = create(&target).unwrap().keep().unwrap();
            clear(&target);
            assert!(!path.exists());
        }
    }
}
