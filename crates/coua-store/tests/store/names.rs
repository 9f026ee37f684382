//! The names that a filter needs beside it: what has them, and whose it is.

use std::fs;
use std::path::Path;

use coua::CuckooFilter;
use coua_store::{Lock, Options, Progress, Store, StoreError, Wait};

use crate::files::names_in;
use crate::samples::progress;

/// Opens the filter for writing in every way that there is.
fn every_writer(path: &Path) -> [Result<(), StoreError>; 3] {
    let replace = |lock| Options::new().replace(lock, CuckooFilter::new(), &Progress::default());
    [
        Store::open(path).map(drop),
        Store::create(path, CuckooFilter::new).map(drop),
        Lock::take(path, Wait::No).and_then(replace),
    ]
}

/// Also where there is no filter yet.
#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let theirs: &[u8] = b"somebody else's";
    for is_there in [false, true] {
        for name in ["coua.lock", "coua.next", "coua.journal", "coua.journal.next"] {
            let file = path.with_extension(name);
            fs::write(&file, theirs).unwrap();
            for result in every_writer(&path) {
                let error = result.unwrap_err();
                let text = error.to_string();
                let is_told = matches!(&error, StoreError::Occupied { path } if *path == file);
                let is_damaged =
                    matches!(&error, StoreError::Damaged { path, .. } if *path == file);
                let is_missing = !is_there && text.contains("seen.coua: cannot open");
                assert!(is_told || is_damaged && is_there || is_missing, "{name}: {text}");
                assert_eq!(fs::read(&file).unwrap(), theirs, "{name}: {text}");
                assert_eq!(path.exists(), is_there);
            }
            fs::remove_file(&file).unwrap();
            #[cfg(unix)]
            if !is_there || name != "coua.journal" {
                std::os::unix::fs::symlink("nowhere", &file).unwrap();
                assert!(every_writer(&path).iter().all(Result::is_err), "{name}");
                fs::remove_file(&file).unwrap();
            }
        }
        assert_eq!(names_in(folder.path()).len(), usize::from(is_there));
        CuckooFilter::new().save_atomically(&path).unwrap();
    }
}

/// Nothing, the beginning of what it was to be, or the zeros of a power cut.
#[test]
fn what_a_crash_left_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let whole = || {
        let mut snapshot = Vec::new();
        CuckooFilter::new().write_to(&mut snapshot).unwrap();
        snapshot
    };
    let zeros = [vec![0; 512], b"what came".to_vec()].concat();
    for next in [vec![], b"\x89CO".to_vec(), whole(), vec![0; 100], zeros] {
        let mut next_journal = next.clone();
        if let Some(first @ 0x89) = next_journal.first_mut() {
            *first = 0x8a;
            next_journal.truncate(2);
        }
        fs::write(path.with_extension("coua.next"), &next).unwrap();
        fs::write(path.with_extension("coua.journal.next"), &next_journal).unwrap();
        fs::write(path.with_extension("coua.lock"), "").unwrap();
        fs::write(path.with_extension("coua.journal"), &next_journal).unwrap();
        Store::create(&path, CuckooFilter::new).unwrap().finish().unwrap();
        assert_eq!(names_in(folder.path()), ["seen.coua"]);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn no_filter_replaces_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Store::create(&path, CuckooFilter::new).unwrap();
    store.commit(&progress(1)).unwrap();
    drop(store);
    let journal = path.with_extension("coua.journal");
    let before = fs::read(&journal).unwrap();
    let lock = Lock::take(&journal, Wait::No).unwrap();
    let replaced = Options::new().replace(lock, CuckooFilter::new(), &Progress::default());
    assert!(matches!(replaced, Err(StoreError::OverJournal { .. })));
    assert_eq!(fs::read(&journal).unwrap(), before);
}
