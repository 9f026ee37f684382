//! Files in the folder of a filter: those of users are never changed.

use std::fs;
use std::path::Path;

use coua::CuckooFilter;
use coua_store::{Lock, Notes, Options, Wait};

use crate::files::names_in;
use crate::samples::{bytes_of, commit};

/// Names that other programs may use in the folder of a filter, similar to those of this one.
const NAMES: [&str; 8] = [
    "seen.coua.next",
    "seen.coua.lock",
    "seen.coua.journal",
    "seen.coua.journal.next",
    ".seen.coua.x.tmp",
    ".seen.coua.notes-12.tmp",
    ".seen.coua.abcdefgh.tmp",
    ".seen.coua.abcdefgh",
];

fn new_filter() -> CuckooFilter {
    CuckooFilter::builder().capacity(500).build().unwrap()
}

/// Everything that writers do.
fn work(path: &Path) {
    drop(Options::new().create(path, new_filter).unwrap());
    let options = Options::new().max_log(1_000).background_from(0);
    let mut store = options.create(path, new_filter).unwrap();
    for round in 1..20 {
        store.insert(round.to_string()).unwrap();
        commit(&mut store, round).unwrap();
    }
    store.commit_snapshot().unwrap();
    store.finish().unwrap();
    let lock = Lock::take(path, Wait::No).unwrap();
    Options::new().replace(lock, new_filter(), Notes::default()).unwrap();
    assert!(Options::new().read(path).unwrap().filter.is_empty());
}

/// A text, an empty file, and another filter, as from a plausible `merge -o seen.coua.next`.
#[test]
fn files_of_others_are_left_alone() {
    let mut filter = CuckooFilter::new();
    filter.insert("theirs").unwrap();
    for (what, theirs) in [("text", &b"somebody else's"[..]), ("filter", &bytes_of(&filter))] {
        let folder = tempfile::tempdir().unwrap();
        let names = NAMES.iter().filter(|name| !is_killed_writers(name, what));
        let files: Vec<_> = names.map(|name| folder.path().join(name)).collect();
        for file in &files {
            fs::write(file, theirs).unwrap();
        }
        work(&folder.path().join("seen.coua"));
        for file in &files {
            assert!(fs::read(file).unwrap() == theirs, "{what}: {}", file.display());
        }
        assert_eq!(names_in(folder.path()).len(), files.len() + 1);
    }
}

/// A file with the name and the beginning of a killed writer's file counts as one.
fn is_killed_writers(name: &str, what: &str) -> bool {
    name == ".seen.coua.abcdefgh.tmp" && what == "filter"
}

/// Folders and links may have such names.
#[cfg(unix)]
#[test]
fn folders_and_links_are_left_alone() {
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("seen.coua"), folder.path().join(name));
        fs::create_dir(&other).unwrap();
        work(&path);
        assert!(other.is_dir(), "{name}");
        fs::remove_dir(&other).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &other).unwrap();
        work(&path);
        assert!(fs::symlink_metadata(&other).unwrap().is_symlink(), "{name}");
    }
}

/// An empty file, the beginning of the intended content, all of it, or zeros after a power failure.
#[test]
fn what_a_killed_writer_left_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let whole = bytes_of(&CuckooFilter::new());
    let zeros = [vec![0; 512], b"what came".to_vec()].concat();
    for left in [&[][..], &whole[..100], &whole, &[0; 100], &zeros] {
        let next = folder.path().join(".seen.coua.Xk3f9QpZ.tmp");
        fs::write(&next, left).unwrap();
        // A placeholder, and then the filter.
        for _ in 0..2 {
            Options::new().create(&path, CuckooFilter::new).unwrap().finish().unwrap();
            assert_eq!(names_in(folder.path()), ["seen.coua"]);
            fs::write(&next, left).unwrap();
        }
        fs::write(&path, "").unwrap();
    }
}
