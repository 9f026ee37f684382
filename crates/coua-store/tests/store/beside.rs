//! Snapshots beside the work, by real threads, whenever they happen to be done.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use coua::CuckooFilter;
use coua::window::Generations;
use coua_store::{Access, Options, Store};

use crate::samples::{bytes_of, change, change_in_memory, committed, forgetful, progress};

/// Its name, how it is opened, and how it is made.
type Kind = (&'static str, Access, fn() -> Generations);

fn kinds() -> [Kind; 4] {
    let small = || CuckooFilter::builder().capacity(700).hash_bits(50).build().unwrap().into();
    [
        ("grows", Access::BySize, small),
        ("mapped", Access::Map, || CuckooFilter::new().into()),
        ("loaded", Access::Load, || CuckooFilter::new().into()),
        ("forgets", Access::BySize, forgetful),
    ]
}

fn written_at(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn every_commit_counts_and_every_byte_is_the_same() {
    for (name, access, make) in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let options = Options::new().access(access).most_journal(4_000).beside_from(0);
        let mut plain = make();
        let mut store = options.create(&path, make).unwrap();
        let (mut round, mut snapshots) = (0, 0);
        while snapshots < 6 && round < 3_000 {
            round += 1;
            change(&mut store, round, 60);
            change_in_memory(&mut plain, round, 60);
            let before = fs::metadata(&path).ok().map(|_| written_at(&path));
            store.commit(&progress(round)).unwrap();
            let is_new = before != Some(written_at(&path));
            snapshots += u64::from(is_new);
            if is_new || round % 16 == 0 {
                assert!(committed(&path) == (round, bytes_of(&plain)), "{name}, round {round}");
            }
            if round % 50 == 0 {
                drop(store);
                store = options.write(&path).unwrap();
                assert!(bytes_of(store.filter()) == bytes_of(&plain), "{name}, round {round}");
            }
        }
        assert!(snapshots >= 6, "{name}: {snapshots}");
        store.finish().unwrap();
        assert!(fs::read(&path).unwrap() == bytes_of(&plain), "{name}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

/// A filter of the size at which a store works beside without being told.
#[test]
fn large_filters_are_written_beside_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let large = || CuckooFilter::builder().capacity(4_000_000).build().unwrap();
    let mut store = Store::create(&path, large).unwrap();
    let mut plain = Generations::from(large());
    let mut round = 0;
    let mut commit = |store: &mut Store| {
        round += 1;
        change(store, round, 30_000);
        change_in_memory(&mut plain, round, 30_000);
        store.commit(&progress(round)).unwrap();
        (round, bytes_of(&plain))
    };
    commit(&mut store);
    let first = fs::read(&path).unwrap();
    assert!(first.len() > 16 << 20);
    let next_journal = folder.path().join("seen.coua.journal.next");
    while !next_journal.exists() {
        let (round, _) = commit(&mut store);
        assert!(round < 1_000, "it never begins");
    }
    assert!(fs::read(&path).unwrap() == first, "the work went on");
    let mut last = (0, vec![]);
    while next_journal.exists() {
        last = commit(&mut store);
        assert!(last.0 < 100_000, "it never ends");
    }
    let second = fs::read(&path).unwrap();
    assert!(second != first && second != last.1, "it is the state of a commit before");
    assert!(committed(&path) == last);
}
