//! The bytes of a log, written by `docs/format.md` alone.

use std::fs;
use std::path::Path;

use coua::{CuckooFilter, KeyHash};
use coua_store::{Damage, Place, Reason, Role, Run, Store, StoreError};

use crate::samples::bytes_of;
use crate::text::{entry, frame, log, numbers, run, sized, small, state};

const HASHES: [u64; 3] = [1 << 63, 7 << 50, u64::MAX];

fn build() -> CuckooFilter {
    CuckooFilter::with_capacity(100, 0.01).unwrap()
}

fn place(role: Role, path: &str, offset: u64) -> Place {
    let mut place = Place::start(role, Path::new(path));
    (place.offset, place.records, place.note) = (offset, 2, 3);
    (place.head, place.tail) = (4, 5);
    place
}

#[test]
fn a_log_has_the_bytes_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let [a, b, c] = HASHES.map(KeyHash::from_u64);
    let mut store = Store::create(&path, build).unwrap();
    store.commit().unwrap();
    let snapshot = fs::read(&path).unwrap();
    assert!(snapshot == bytes_of(&build()), "nothing follows");
    store.insert_unique_batch(&[a, b, a]).unwrap();
    store.remove_batch(&[c, b]);
    store.insert_batch(&[c, a]).unwrap();
    let places = vec![place(Role::Input, "in", 1), place(Role::Output, "out", 0)];
    let new = Run { job: b"job".to_vec(), records: 9, places, ..Run::default() };
    let number = store.runs_mut().add(new.clone());
    store.runs_mut().add(Run::default());
    store.commit().unwrap();
    let run_now = store.runs_mut().get_mut(number).unwrap();
    (run_now.has_ended, run_now.records, run_now.state) = (true, 10, b"state".to_vec());
    run_now.places[1].offset = 77;
    store.runs_mut().remove(number + 1);
    store.commit().unwrap();
    drop(store);
    let [a, b, c] = HASHES;
    let changes = [run(1, &[a, b]), run(2, &[b]), run(1, &[c, a])].concat();
    let position = |offset| numbers(&[offset, 2, 3, 4, 5]);
    let first = [
        sized(b"job"),
        state(0, 9, b""),
        small(&[2]),
        [small(&[1]), sized(b"in"), position(1)].concat(),
        [small(&[2]), sized(b"out"), position(0)].concat(),
    ];
    let set = [
        entry(1, 1, &[&first.concat()]),
        entry(1, 2, &[&sized(b""), &state(0, 0, b""), &small(&[0])]),
    ];
    let advance =
        [entry(3, 2, &[]), entry(2, 1, &[&state(1, 10, b"state"), &small(&[1, 1]), &position(77)])];
    let expected = [
        snapshot.clone(),
        log(
            &snapshot,
            0,
            &[(1, &changes), (3, &set.concat()), (2, &[]), (3, &advance.concat()), (2, &[])],
        ),
    ];
    assert!(fs::read(&path).unwrap() == expected.concat());
    let view = Store::read(&path).unwrap();
    assert_eq!((view.transactions, view.runs.len(), view.uncommitted), (2, 1, 0));
    assert_eq!(view.snapshot_bytes + view.log_bytes, expected.concat().len() as u64);
    // A new snapshot has the runs as they are.
    Store::open(&path).unwrap().commit_snapshot().unwrap();
    let rewritten = fs::read(&path).unwrap();
    let snapshot = bytes_of(&view.filter);
    assert!(rewritten.starts_with(&snapshot));
    assert_eq!(Store::read(&path).unwrap().runs, view.runs);
}

#[test]
fn frames_of_kinds_to_come_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let snapshot = bytes_of(&build());
    for kind in [0, 4, 5, u32::MAX] {
        fs::write(&path, [&snapshot[..], &frame(kind, 0, &snapshot, &[])].concat()).unwrap();
        let error = Store::read(&path).unwrap_err();
        let is_named = matches!(error, StoreError { reason: Reason::Damaged { what: Damage::Kind { found }, .. }, .. } if found == kind);
        assert!(is_named, "{error}");
    }
}
