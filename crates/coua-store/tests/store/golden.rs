//! The bytes of a log, written from `docs/format.md` alone.

use std::fs;

use coua::{CuckooFilter, KeyHash};
use coua_store::{Damage, Options, Reason, StoreError};

use crate::samples::bytes_of;
use crate::text::{frame, log, note, run};

const HASHES: [u64; 3] = [1 << 63, 7 << 50, u64::MAX];

fn build() -> CuckooFilter {
    CuckooFilter::with_capacity(100, 0.01).unwrap()
}

#[test]
fn a_log_has_the_bytes_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let [a, b, c] = HASHES.map(KeyHash::from_u64);
    let mut store = Options::new().create(&path, build).unwrap();
    store.commit().unwrap();
    let snapshot = fs::read(&path).unwrap();
    assert!(snapshot == bytes_of(&build()), "nothing follows");
    store.insert_unique_batch(&[a, b, a]).unwrap();
    store.remove_batch(&[c, b]);
    store.insert_batch(&[c, a]).unwrap();
    store.set_note("b", b"value").unwrap();
    store.set_note("a", b"").unwrap();
    store.commit().unwrap();
    store.set_note("b", b"another").unwrap();
    assert!(store.remove_note("a"));
    store.commit().unwrap();
    drop(store);
    let [a, b, c] = HASHES;
    let changes = [run(1, &[a, b]), run(2, &[b]), run(1, &[c, a])].concat();
    let set = [note(b"a", Some(b"")), note(b"b", Some(b"value"))].concat();
    let later = [note(b"a", None), note(b"b", Some(b"another"))].concat();
    let expected = [
        snapshot.clone(),
        log(&snapshot, 0, &[(1, &changes), (3, &set), (2, &[]), (3, &later), (2, &[])]),
    ];
    assert!(fs::read(&path).unwrap() == expected.concat());
    let view = Options::new().read(&path).unwrap();
    assert_eq!((view.transactions, view.notes.len(), view.uncommitted), (2, 1, 0));
    assert_eq!(view.snapshot_bytes + view.log_bytes, expected.concat().len() as u64);
    // The notes follow a new snapshot unchanged.
    Options::new().write(&path).unwrap().commit_snapshot().unwrap();
    let rewritten = fs::read(&path).unwrap();
    let snapshot = bytes_of(&view.filter);
    let expected = log(&snapshot, 0, &[(3, &note(b"b", Some(b"another"))), (2, &[])]);
    assert!(rewritten == [snapshot, expected].concat());
}

#[test]
fn frames_of_kinds_to_come_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let snapshot = bytes_of(&build());
    for kind in [0, 4, 5, u32::MAX] {
        fs::write(&path, [&snapshot[..], &frame(kind, 0, &snapshot, &[])].concat()).unwrap();
        let error = Options::new().read(&path).unwrap_err();
        let is_named = matches!(error, StoreError { reason: Reason::Damaged { what: Damage::Kind { found }, .. }, .. } if found == kind);
        assert!(is_named, "{error}");
    }
}
