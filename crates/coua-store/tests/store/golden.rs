//! The bytes of a journal, written by `docs/journal.md` alone.

use std::fs;
use std::path::Path;

use coua::{CuckooFilter, KeyHash};
use coua_store::{Place, Progress, Role, Store};

use crate::samples::{bytes_of, progress};
use crate::text::{frame, header, no_places, numbers, run, small, whole_checksum};

const HASHES: [u64; 3] = [1 << 63, 7 << 50, u64::MAX];

/// A filter with a commit of every kind of change.
fn write(path: &Path) {
    let [a, b, c] = HASHES.map(KeyHash::from_u64);
    let build = || CuckooFilter::with_capacity(100, 0.01).unwrap();
    let mut store = Store::create(path, build).unwrap();
    store.commit(&progress(1)).unwrap();
    let (mut removed, mut outcomes) = (Vec::new(), Vec::new());
    store.insert_unique_hash_batch(&[a, b, a], &mut outcomes).unwrap();
    store.remove_hash_batch(&[c, b], &mut removed);
    store.insert_hash_batch(&[c, a]).unwrap();
    let place = Place {
        role: Role::Output,
        path: "out".into(),
        inode: (1, 2),
        size: 3,
        offset: 4,
        tail: 5,
    };
    let input = Place { role: Role::Input, ..place.clone() };
    store
        .commit(&Progress { records: 2, note: b"note".to_vec(), places: vec![input, place] })
        .unwrap();
    store.commit(&progress(3)).unwrap();
}

#[test]
fn a_journal_has_the_bytes_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    write(&path);
    let snapshot = fs::read(&path).unwrap();
    let [a, b, c] = HASHES;
    let changes = [run(1, &[a, b]), run(2, &[b]), run(1, &[c, a])].concat();
    let places = |role| [small(&[role, 3]), b"out".to_vec(), numbers(&[1, 2, 3, 4, 5])].concat();
    let front = [numbers(&[2]), small(&[4]), b"note".to_vec(), small(&[2])].concat();
    let with_places = [front, places(1), places(2)].concat();
    let expected = [
        header(&snapshot),
        frame(2, 0, &snapshot, &no_places(1)),
        frame(1, 1, &snapshot, &changes),
        frame(2, 2, &snapshot, &with_places),
        frame(2, 3, &snapshot, &no_places(3)),
    ];
    assert!(fs::read(path.with_extension("coua.journal")).unwrap() == expected.concat());
}

/// Reading, rules 1 and 2.
#[test]
fn a_checkpoint_counts_if_its_snapshot_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    write(&path);
    let old = fs::read(&path).unwrap();
    let journal = fs::read(path.with_extension("coua.journal")).unwrap();
    let mut next = Store::read(&path).unwrap().filter;
    let committed = bytes_of(&next);
    next.insert_unique("one more").unwrap();
    let next = bytes_of(&next);
    let named = numbers(&[whole_checksum(&next), next.len() as u64]);
    let checkpoint = frame(3, 4, &old, &[named, no_places(9)].concat());
    let journal = [journal, checkpoint].concat();
    for (snapshot, state, records) in [(&old, &committed, 3), (&next, &next, 9)] {
        for open in [0, 1, 1] {
            if open == 0 {
                fs::write(&path, snapshot).unwrap();
                fs::write(path.with_extension("coua.journal"), &journal).unwrap();
            } else {
                Store::open(&path).unwrap().commit(&progress(records)).unwrap();
            }
            let view = Store::read(&path).unwrap();
            assert!(bytes_of(&view.filter) == *state);
            assert_eq!(view.progress, Some(progress(records)));
        }
    }
    // Behind a checkpoint there is never anything.
    fs::write(&path, &old).unwrap();
    let longer = [journal, frame(2, 5, &old, &no_places(4))].concat();
    fs::write(path.with_extension("coua.journal"), longer).unwrap();
    assert!(Store::read(&path).unwrap_err().to_string().contains("after a checkpoint"));
}
