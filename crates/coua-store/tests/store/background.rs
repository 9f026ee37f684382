//! Snapshots in the background, by real threads that finish at any time.

use std::fs;
use std::path::Path;

use coua::CuckooFilter;
use coua::window::Generations;
use coua_store::{Access, Options, Store};

use crate::samples::{
    bytes_of, change, change_in_memory, commit, committed, finish, forgetful, renewing, snapshot_of,
};

/// The name, the access, and the constructor of a filter.
type Kind = (&'static str, Access, fn() -> Generations);

fn kinds() -> [Kind; 5] {
    let small = || CuckooFilter::builder().capacity(700).hash_bits(50).build().unwrap().into();
    [
        ("grows", Access::BySize, small),
        ("mapped", Access::Map, || CuckooFilter::new().into()),
        ("loaded", Access::Load, || CuckooFilter::new().into()),
        ("forgets", Access::BySize, forgetful),
        ("moves", Access::BySize, renewing),
    ]
}

#[test]
fn every_commit_counts_and_every_byte_is_the_same() {
    for (name, access, make) in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let options = Options::new().access(access).max_log(4_000).background_from(0);
        let mut plain = make();
        let mut store = options.create(&path, make).unwrap();
        let (mut round, mut snapshots) = (0, 0);
        while snapshots < 6 && round < 3_000 {
            round += 1;
            change(&mut store, round, 60);
            change_in_memory(&mut plain, round, 60);
            let before = (round > 1).then(|| snapshot_of(&path));
            commit(&mut store, round).unwrap();
            let is_new = before.is_some_and(|before| snapshot_of(&path) != before);
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
        finish(store).unwrap();
        assert!(fs::read(&path).unwrap() == bytes_of(&plain), "{name}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

/// Whether the next snapshot is being written; before that only its space is reserved.
fn is_begun(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.any(|entry| {
        let is_next = entry.path().extension().is_some_and(|end| end == "tmp");
        // It may be renamed into place meanwhile.
        is_next && entry.metadata().is_ok_and(|found| found.len() > 0)
    })
}

/// A filter of the size from which a store writes snapshots in the background by default.
#[test]
fn large_filters_are_written_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let large = || CuckooFilter::builder().capacity(4_000_000).build().unwrap();
    let mut store = Options::new().create(&path, large).unwrap();
    let mut plain = Generations::from(large());
    let mut round = 0;
    let mut one_more = |store: &mut Store| {
        round += 1;
        change(store, round, 30_000);
        change_in_memory(&mut plain, round, 30_000);
        commit(store, round).unwrap();
        (round, bytes_of(&plain))
    };
    one_more(&mut store);
    let first = snapshot_of(&path);
    assert!(first.len() > 16 << 20);
    let mut last = (0, vec![]);
    while !is_begun(folder.path()) {
        last = one_more(&mut store);
        assert!(last.0 < 1_000, "it never begins");
    }
    assert!(fs::read(&path).unwrap().starts_with(&first), "the work went on");
    while is_begun(folder.path()) {
        last = one_more(&mut store);
        assert!(last.0 < 100_000, "it never ends");
    }
    let second = snapshot_of(&path);
    assert!(second != first && second != last.1, "it is the state of a commit before");
    assert!(committed(&path) == last);
}
