//! However a filter is opened and committed, its bytes are the same as those of a filter in memory.

use std::fs;

use coua::window::Generations;
use coua::{CuckooFilter, KeyHasher};
use coua_store::{Access, Options, Reason, StoreError};

use crate::files::names_in;
use crate::samples::{
    bytes_of, change, change_plainly, commit, committed, finish, hashes, log_bytes, round_of,
    set_round, snapshot_of,
};

fn kinds() -> Vec<(&'static str, CuckooFilter)> {
    let build = CuckooFilter::builder;
    vec![
        ("open", CuckooFilter::new()),
        ("fixed", build().capacity(30_000).rate(0.001).build().unwrap()),
        ("narrow", build().hash_bits(30).build().unwrap()),
    ]
}

#[test]
fn every_access_gives_the_same_bytes() {
    for (name, filter) in kinds() {
        for access in [Access::Map, Access::Load, Access::BySize] {
            for max_log in [0, 10_000, 1 << 30] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("seen.coua");
                let options = Options::new().access(access).max_log(max_log);
                let mut plain = filter.clone();
                for round in 1..=8 {
                    let mut store = options.create(&path, || filter.clone()).unwrap();
                    change(&mut store, round, 1_000);
                    change_plainly(&mut plain, round, 1_000);
                    commit(&mut store, round).unwrap();
                    let what = format!("{name}, {access:?}, {max_log}, round {round}");
                    assert!(bytes_of(store.filter()) == bytes_of(&plain), "{what}");
                    assert!(committed(&path) == (round, bytes_of(&plain)), "{what}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_committed_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    drop(store);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was committed");
    store = Options::new().create(&path, CuckooFilter::new).unwrap();
    change(&mut store, 1, 100);
    commit(&mut store, 1).unwrap();
    let before = committed(&path);
    change(&mut store, 2, 100_000);
    assert!(committed(&path) == before, "pieces of a transaction do not count");
    drop(store);
    assert!(committed(&path) == before);
    let store = Options::new().write(&path).unwrap();
    assert_eq!(round_of(store.notes()), 1);
    assert!(bytes_of(store.filter()) == before.1);
}

#[test]
fn a_log_of_many_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let options = Options::new().max_log(1 << 40);
    let mut plain = CuckooFilter::new();
    let mut store = options.create(&path, CuckooFilter::new).unwrap();
    commit(&mut store, 0).unwrap();
    for round in 1..=2 {
        change(&mut store, round, 300_000);
        change_plainly(&mut plain, round, 300_000);
        commit(&mut store, round).unwrap();
        assert!(committed(&path) == (round, bytes_of(&plain)));
    }
    assert!(log_bytes(&path) > 4 << 20);
}

#[test]
fn small_changes_write_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut large = CuckooFilter::new();
    large.insert_batch(&hashes(1, 2_000_000)).unwrap();
    large.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    let before = fs::metadata(&path).unwrap().len();
    let mut store = Options::new().expecting(1_000).write(&path).unwrap();
    store.insert_batch(&hashes(2, 1_000)).unwrap();
    commit(&mut store, 1).unwrap();
    let written = fs::metadata(&path).unwrap().len() - before;
    assert!(written < 10_000, "{written}");
    assert_eq!(names_in(folder.path()), ["seen.coua"], "no space was reserved");
    assert!(snapshot_of(&path) == bytes_of(&large), "it was not written again");
    drop(store);
    large.insert_batch(&hashes(2, 1_000)).unwrap();
    assert!(committed(&path) == (1, bytes_of(&large)));
}

#[test]
fn an_end_without_changes_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut large = CuckooFilter::new();
    large.insert_batch(&hashes(1, 2_000_000)).unwrap();
    large.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    for round in 0..4 {
        let mut store = Options::new().write(&path).unwrap();
        let before = fs::read(&path).unwrap();
        store.insert_unique_batch(&hashes(1 + round / 2, 9)).unwrap();
        store.finish().unwrap();
        // Only the third has changes.
        assert_eq!(fs::read(&path).unwrap() != before, round == 2, "{round}");
    }
    assert_eq!(Options::new().read(&path).unwrap().filter.len(), 2_000_009);
}

#[test]
fn work_that_turns_out_large_leaves_the_mapping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut plain = CuckooFilter::new();
    plain.insert_batch(&hashes(1, 500_000)).unwrap();
    plain.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    let mut store = Options::new().write(&path).unwrap();
    for round in 2..20 {
        change(&mut store, round, 1_000);
        change_plainly(&mut plain, round, 1_000);
        if round % 5 == 0 {
            commit(&mut store, round).unwrap();
            assert!(committed(&path) == (round, bytes_of(&plain)));
        }
    }
}

#[test]
fn other_changes_are_kept_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    for key in 0..50_000u32 {
        store.insert(key.to_le_bytes()).unwrap();
    }
    for key in 100..50_000u32 {
        assert!(store.remove(key.to_le_bytes()));
    }
    commit(&mut store, 1).unwrap();
    store.rewrite(Generations::compact).unwrap();
    commit(&mut store, 2).unwrap();
    assert!(committed(&path) == (2, bytes_of(store.filter())));
    store.rewrite(|filter| filter.unbounded_mut().unwrap().clear());
    commit(&mut store, 3).unwrap();
    assert!(store.filter().is_empty() && committed(&path).0 == 3);
    // The same bytes again: only the note of the run is new.
    for round in [4, 5] {
        set_round(&mut store, round);
        store.commit_snapshot().unwrap();
    }
    assert!(committed(&path) == (5, bytes_of(store.filter())));
    store.insert("a").unwrap();
    commit(&mut store, 6).unwrap();
    assert!(committed(&path) == (6, bytes_of(store.filter())));
}

#[test]
fn a_full_filter_keeps_what_was_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let build = || CuckooFilter::with_capacity(500, 0.01).unwrap();
    let mut store = Options::new().create(&path, build).unwrap();
    commit(&mut store, 0).unwrap();
    let stopped = store.insert_batch(&hashes(1, 600)).unwrap_err();
    assert_eq!(stopped.done, 500);
    assert!(store.insert_unique_batch(&hashes(1, 600)).is_err());
    commit(&mut store, 1).unwrap();
    let mut plain = build();
    plain.insert_batch(&hashes(1, 500)).unwrap();
    assert!(committed(&path) == (1, bytes_of(&plain)));
}

#[test]
fn secret_keys_are_needed_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let key = *b"0123456789abcdef";
    let hasher = KeyHasher::SipHash13 { key };
    let build = || CuckooFilter::builder().hasher(hasher).build().unwrap();
    let options = Options::new().key(key);
    let mut store = options.create(&path, build).unwrap();
    store.insert("a").unwrap();
    commit(&mut store, 1).unwrap();
    store.insert("b").unwrap();
    commit(&mut store, 2).unwrap();
    drop(store);
    assert!(options.read(&path).unwrap().filter.contains("b"));
    assert_eq!(options.verify(&path).unwrap().items, 2);
    assert!(Options::new().key([0; 16]).verify(&path).is_err());
    assert!(Options::new().verify(&path).is_err());
    assert!(matches!(Options::new().read(&path), Err(StoreError { reason: Reason::Load(_), .. })));
    assert!(Options::new().key([0; 16]).write(&path).is_err());
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(16).any(|window| window == key));
    }
}

/// The filter is large enough that its end stays in the log.
#[test]
fn a_run_with_commits_ends_the_same_wherever_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original.coua");
    let mut large = CuckooFilter::new();
    large.insert_batch(&hashes(1, 500_000)).unwrap();
    large.write_to(std::fs::File::create(&original).unwrap()).unwrap();
    let ends = [&[][..], &[1], &[2, 5], &[1, 2, 3, 4, 5]].map(|commits| {
        let path = folder.path().join("seen.coua");
        fs::copy(&original, &path).unwrap();
        let mut store = Options::new().write(&path).unwrap();
        commit(&mut store, 0).unwrap();
        for round in 1..=6 {
            change(&mut store, round, 500);
            if commits.contains(&round) {
                commit(&mut store, round).unwrap();
                // Interrupted, and resumed.
                drop(store);
                store = Options::new().write(&path).unwrap();
                commit(&mut store, round).unwrap();
            }
        }
        let bytes = bytes_of(store.filter());
        finish(store).unwrap();
        assert!(bytes_of(&Options::new().read(&path).unwrap().filter) == bytes);
        assert!(snapshot_of(&path) == fs::read(&original).unwrap(), "it is not written again");
        bytes
    });
    let [none, with @ ..] = ends;
    assert!(with.iter().all(|bytes| *bytes == none));
}
