//! Everything committed is in the file: moved, copied, linked, and read while it is replaced.

use std::fs;
use std::path::Path;

use coua::CuckooFilter;
use coua_store::{Damage, Options, Reason, StoreError};

use crate::files::names_in;
use crate::samples::{bytes_of, change, commit, committed, hashes, quick_folder, set_round};

/// A filter with a log, and with further notes besides that of the rounds.
fn with_log(path: &Path) -> (u64, Vec<u8>) {
    let mut store = Options::new().create(path, CuckooFilter::new).unwrap();
    store.set_note("first", b"").unwrap();
    for round in 1..4 {
        change(&mut store, round, 100);
        commit(&mut store, round).unwrap();
    }
    let view = Options::new().read(path).unwrap();
    store.set_note("another", b"value").unwrap();
    store.commit().unwrap();
    assert!(view.log_bytes > 0);
    committed(path)
}

#[test]
fn what_is_moved_copied_or_linked_is_whole() {
    type Carry = fn(&Path, &Path);
    let ways: [(&str, Carry); 3] = [
        ("rename", |from, to| fs::rename(from, to).unwrap()),
        ("copy", |from, to| assert!(fs::copy(from, to).unwrap() > 0)),
        ("hard link", |from, to| fs::hard_link(from, to).unwrap()),
    ];
    for (way, carry) in ways {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("seen.coua"), folder.path().join("moved"));
        let before = with_log(&path);
        carry(&path, &other);
        assert!(committed(&other) == before, "{way}");
        let mut store = Options::new().write(&other).unwrap();
        assert_eq!(store.notes().len(), 3, "{way}");
        assert!(bytes_of(store.filter()) == before.1, "{way}");
        store.insert("more").unwrap();
        commit(&mut store, 9).unwrap();
        drop(store);
        assert_eq!(committed(&other).0, 9, "{way}");
        if way == "copy" {
            assert!(committed(&path) == before);
        }
        assert_eq!(names_in(folder.path()).len(), if way == "rename" { 1 } else { 2 });
    }
}

/// Both names lead to one file until a new snapshot replaces one of them.
#[cfg(unix)]
#[test]
fn two_names_of_a_file_have_one_writer() {
    use coua_store::{Lock, Options, Wait};
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("seen.coua"), folder.path().join("linked"));
    with_log(&path);
    fs::hard_link(&path, &other).unwrap();
    let mut store = Options::new().write(&path).unwrap();
    assert!(matches!(Lock::take(&other, Wait::No), Err(StoreError { reason: Reason::Busy, .. })));
    store.insert("seen by both").unwrap();
    commit(&mut store, 7).unwrap();
    assert!(committed(&path) == committed(&other));
    let before = committed(&other);
    store.insert("seen by one").unwrap();
    set_round(&mut store, 8);
    store.commit_snapshot().unwrap();
    assert_eq!(committed(&path).0, 8);
    assert!(committed(&other) == before, "it is as it was");
    let mut second = Options::new().wait(Wait::No).write(&other).unwrap();
    commit(&mut second, 9).unwrap();
    assert_eq!((committed(&path).0, committed(&other).0), (8, 9));
}

/// An open file stays the same, whatever file takes its name.
#[test]
fn a_view_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut filter = CuckooFilter::new();
    filter.insert_batch(&hashes(1, 1_000_000)).unwrap();
    filter.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    // A mapped filter.
    let view = Options::new().expecting(1).read(&path).unwrap();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    Options::new().create(&path, CuckooFilter::new).unwrap().finish().unwrap();
    fs::remove_file(folder.path().join("moved")).unwrap();
    let present = view.filter.contains_batch(&hashes(1, 1_000_000));
    assert!(present.iter().all(|is_present| *is_present));
    assert!(Options::new().read(&path).unwrap().filter.is_empty());
}

/// The part of a batch that is written before the commit.
const PIECE: u64 = (1 << 20) / 8;

/// A slow copy has the first frames of a transaction that was then rolled back, and the last frames of another with the
/// same length. Each frame is intact.
#[test]
fn a_copy_of_two_transactions_is_refused() {
    let folder = quick_folder();
    let (path, copy) = (folder.path().join("seen.coua"), folder.path().join("copy"));
    let build = || CuckooFilter::builder().capacity(400_000).build().unwrap();
    let options = Options::new().max_log(1 << 30);
    let interrupt = |seed| {
        let mut store = options.create(&path, build).unwrap();
        store.insert_batch(&hashes(seed, PIECE)).unwrap();
        store
    };
    options.create(&path, build).unwrap().commit().unwrap();
    drop(interrupt(1));
    let begin = fs::read(&path).unwrap();
    let mut store = interrupt(2);
    assert_eq!(fs::metadata(&path).unwrap().len(), begin.len() as u64);
    store.commit().unwrap();
    drop(store);
    let end = fs::read(&path).unwrap();
    fs::write(&copy, [&begin[..], &end[begin.len()..]].concat()).unwrap();
    for refused in [Options::new().read(&copy).map(drop), Options::new().write(&copy).map(drop)] {
        let damage = match refused {
            Err(StoreError { reason: Reason::Damaged { offset, what, .. }, .. }) => (offset, what),
            other => panic!("{other:?}"),
        };
        assert_eq!(damage, (begin.len() as u64, Damage::Checksum));
    }
    assert_eq!(Options::new().read(&path).unwrap().filter.len(), PIECE);
}
