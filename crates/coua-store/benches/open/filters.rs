//! The filter files that are measured.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use coua::{CuckooFilter, KeyHash};
use coua_dev::random::nth;
use tempfile::TempDir;

/// The n-th of a row of distinct uniform hashes.
fn hash(n: u64) -> KeyHash {
    KeyHash::from_u64(nth(n))
}

/// A filter file, and the place where it is worked on.
pub(crate) struct Filter {
    /// Goes away with all files.
    _folder: TempDir,
    original: PathBuf,
    /// Another name of it, until a new snapshot takes it.
    pub(crate) path: PathBuf,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
}

/// Whether the file's pages are in memory before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    Warm,
    Cold,
}

impl Cache {
    pub(crate) const ALL: [Self; 2] = [Self::Cold, Self::Warm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// Gives `count` hashes from the `first` on to `each`, in blocks.
pub(crate) fn hashes(first: u64, count: u64, mut each: impl FnMut(&[KeyHash])) {
    let mut block = Vec::new();
    for begin in (first..first + count).step_by(4096) {
        block.clear();
        block.extend((begin..(begin + 4096).min(first + count)).map(hash));
        each(&block);
    }
}

impl Filter {
    pub(crate) fn new(items: u64, parent: &Path) -> Self {
        // 64-bit hashes, seven bytes an item at most; twice, for the next snapshot.
        check_space(parent, 14 * items);
        let folder = tempfile::tempdir_in(parent).unwrap();
        let original = folder.path().join("original.coua");
        // With some room, as most filters have that have grown: a full one grows at the first change.
        let mut filter = CuckooFilter::builder().capacity(items + items / 8).build().unwrap();
        hashes(0, items, |block| filter.insert_batch(block).unwrap());
        filter.save_atomically(&original).unwrap();
        let bytes = fs::metadata(&original).unwrap().len();
        let path = folder.path().join("seen.coua");
        Self { _folder: folder, original, path, items, bytes }
    }

    /// As it was before anything was done to it.
    pub(crate) fn restore(&self, cache: Cache) {
        fs::remove_file(&self.path).ok();
        // What was committed to it is the log at its end.
        let original = File::options().write(true).open(&self.original).unwrap();
        original.set_len(self.bytes).unwrap();
        fs::hard_link(&self.original, &self.path).unwrap();
        let file = File::open(&self.path).unwrap();
        match cache {
            Cache::Cold => forget(&file),
            Cache::Warm => {
                std::io::copy(&mut &file, &mut std::io::sink()).unwrap();
            }
        }
    }

    /// Bytes that were appended, or those of a new file.
    pub(crate) fn written(&self) -> u64 {
        let length = fs::metadata(&self.path).unwrap().len();
        let is_original = inode(&self.path) == inode(&self.original);
        if is_original { length - self.bytes } else { length }
    }
}

/// What changes with a new snapshot.
#[cfg(unix)]
pub(crate) fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[cfg(not(unix))]
pub(crate) fn inode(_path: &Path) -> u64 {
    panic!("new files are told apart on Unix alone");
}

/// Takes the file's pages out of the cache.
#[cfg(target_os = "linux")]
fn forget(file: &File) {
    file.sync_all().unwrap();
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn forget(_file: &File) {
    panic!("cold caches are measured on Linux alone");
}

#[cfg(target_os = "linux")]
fn check_space(folder: &Path, needed: u64) {
    let space = rustix::fs::statvfs(folder).unwrap();
    let free = space.f_bavail * space.f_frsize;
    assert!(free > needed, "{}: {free} bytes are free, {needed} are needed", folder.display());
}

#[cfg(not(target_os = "linux"))]
fn check_space(_folder: &Path, _needed: u64) {}
