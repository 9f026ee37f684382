//! The bytes of a log, and those of a journal of the two-file form, written by `docs/format.md` alone.

use std::fs;
use std::path::{Path, PathBuf};

use coua::{CuckooFilter, KeyHash, Load};
use coua_store::{Damage, Lock, Options, Place, Reason, Role, Run, Runs, Store, StoreError, Wait};

use crate::samples::bytes_of;
use crate::text::{
    checksum, entry, frame, journal_header, log, numbers, progress, run, sized, small, state,
    whole_checksum,
};

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
            &[(1, &changes), (4, &set.concat()), (2, &[]), (4, &advance.concat()), (2, &[])],
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
    for kind in [0, 6, 3] {
        fs::write(&path, [&snapshot[..], &frame(kind, 0, &snapshot, &[])].concat()).unwrap();
        let error = Store::read(&path).unwrap_err();
        let is_named = matches!(error, StoreError { reason: Reason::Damaged { what: Damage::Kind { found }, .. }, .. } if found == kind);
        assert!(is_named || kind == 3, "{error}");
    }
}

/// A filter in two files: the snapshot, two changes that are committed, and one that is not.
struct Pair {
    folder: tempfile::TempDir,
    snapshot: Vec<u8>,
    /// Without what is not committed.
    journal: Vec<u8>,
    /// The filter's bytes as they were committed.
    committed: Vec<u8>,
    /// The snapshot that a checkpoint names.
    next: Vec<u8>,
}

impl Pair {
    fn new(version: u8) -> Self {
        let [a, b, c] = HASHES;
        let mut filter = build();
        let snapshot = bytes_of(&filter);
        let note = b"{\"job\":{}}";
        let journal = [
            journal_header(version, &snapshot),
            frame(1, 0, &snapshot, &run(1, &[a, b])),
            frame(1, 1, &snapshot, &run(1, &[c])),
            frame(2, 2, &snapshot, &progress(7, note, Some("in"))),
        ];
        filter.insert_batch(&HASHES.map(KeyHash::from_u64)).unwrap();
        let committed = bytes_of(&filter);
        filter.insert_unique("one more").unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, snapshot, journal: journal.concat(), committed, next: bytes_of(&filter) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("seen.coua")
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.path().join("seen.coua.journal")
    }

    fn put(&self, snapshot: &[u8], journal: &[u8]) {
        fs::write(self.path(), snapshot).unwrap();
        fs::write(self.journal_path(), journal).unwrap();
    }

    /// The same journal, ended by a checkpoint of the next snapshot.
    fn with_checkpoint(&self, from: &[u64], changes: &[u64]) -> Vec<u8> {
        let mut out = self.journal.clone();
        let mut sequence = 3;
        if !changes.is_empty() {
            out.extend(frame(1, sequence, &self.snapshot, &run(1, changes)));
            sequence += 1;
        }
        let named = numbers(&[whole_checksum(&self.next), self.next.len() as u64]);
        let payload = [named, numbers(from), progress(8, b"note", Some("in"))].concat();
        [out, frame(3, sequence, &self.snapshot, &payload)].concat()
    }

    /// What is read, and what the first commit makes of it.
    fn is_taken_over(&self, bytes: &[u8], records: u64) {
        for open in 0..3 {
            if open > 0 {
                let mut store = Store::open(self.path()).unwrap();
                store.runs_mut().add(Run::default());
                store.commit().unwrap();
            }
            let view = Store::read(self.path()).unwrap();
            assert!(bytes_of(&view.filter) == bytes, "open {open}");
            assert_eq!(view.runs.get(1).map(|run| run.records), Some(records));
            assert_eq!(view.runs.len(), 1 + open);
            assert_eq!(self.journal_path().exists(), open == 0);
        }
    }
}

#[test]
fn two_files_are_read_and_become_one() {
    for version in [1, 2] {
        let pair = Pair::new(version);
        let interrupted = frame(1, 3, &pair.snapshot, &run(1, &[5]));
        pair.put(&pair.snapshot, &[&pair.journal[..], &interrupted].concat());
        pair.is_taken_over(&pair.committed, 7);
        // A small filter that ends is a snapshot and its runs alone.
        Store::open(pair.path()).unwrap().commit_snapshot().unwrap();
        assert!(fs::read(pair.path()).unwrap().starts_with(&pair.committed));
    }
}

#[test]
fn the_first_commit_has_the_bytes_of_the_text() {
    let pair = Pair::new(2);
    pair.put(&pair.snapshot, &pair.journal);
    let mut store = Store::open(pair.path()).unwrap();
    store.insert_batch(&[KeyHash::from_u64(5)]).unwrap();
    store.commit().unwrap();
    let [a, b, c] = HASHES;
    let name = checksum(&pair.journal[..64]);
    let none = checksum(b"");
    let position = numbers(&[14, 0, 0, none, 15]);
    let job = entry(
        1,
        1,
        &[&sized(b"{\"job\":{}}"), &state(0, 7, b""), &small(&[1, 1]), &sized(b"in"), &position],
    );
    let snapshot = &pair.snapshot;
    let expected = [
        snapshot.clone(),
        log(
            snapshot,
            0,
            &[
                (5, &numbers(&[name])),
                (1, &run(1, &[a, b])),
                (1, &run(1, &[c])),
                (4, &job),
                (2, &[]),
                (1, &run(1, &[5])),
                (2, &[]),
            ],
        ),
    ];
    assert!(fs::read(pair.path()).unwrap() == expected.concat());
}

/// A checkpoint counts if its snapshot came.
#[test]
fn checkpoints_of_two_files_are_read() {
    for (version, from) in [(1, vec![]), (2, vec![Pair::new(2).journal.len() as u64])] {
        let pair = Pair::new(version);
        let journal = pair.with_checkpoint(&from, &[]);
        pair.put(&pair.snapshot, &journal);
        pair.is_taken_over(&pair.committed, 7);
        pair.put(&pair.next, &journal);
        pair.is_taken_over(&pair.next, 8);
        let longer = [&journal[..], &frame(2, 4, &pair.snapshot, &progress(9, b"", None))].concat();
        pair.put(&pair.snapshot, &longer);
        let error = Store::read(pair.path()).unwrap_err().to_string();
        assert!(error.contains("after a checkpoint"), "{error}");
    }
}

/// What the next snapshot lacks begins at a place in the journal.
#[test]
fn the_end_of_a_journal_follows_the_next_snapshot() {
    let pair = Pair::new(2);
    let from = pair.journal.len() as u64;
    let changes = [5, 6];
    pair.put(&pair.next, &pair.with_checkpoint(&[from], &changes));
    let mut filter = Load::new().bytes::<CuckooFilter>(&pair.next).unwrap();
    filter.insert_batch(&changes.map(KeyHash::from_u64)).unwrap();
    pair.is_taken_over(&bytes_of(&filter), 8);
    for wrong in [from + 1, from - 56, 0, u64::MAX] {
        pair.put(&pair.next, &pair.with_checkpoint(&[wrong], &changes));
        let error = Store::read(pair.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("from field holds {wrong},")), "{error}");
    }
}

/// A journal that a crash has left beside the file that took it over, and one of another filter.
#[test]
fn journals_of_others_are_told_apart() {
    let pair = Pair::new(2);
    pair.put(&pair.snapshot, &pair.journal);
    pair.is_taken_over(&pair.committed, 7);
    // It came back, as if it had never been removed.
    fs::write(pair.journal_path(), &pair.journal).unwrap();
    assert!(bytes_of(&Store::read(pair.path()).unwrap().filter) == pair.committed);
    drop(Store::open(pair.path()).unwrap());
    assert!(!pair.journal_path().exists());
    // A log of its own, beside the journal of another filter: that is nobody's concern.
    let commit = frame(2, 0, &pair.next, &progress(1, b"", None));
    let other = [journal_header(2, &pair.next), commit].concat();
    fs::write(pair.journal_path(), &other).unwrap();
    Store::open(pair.path()).unwrap().finish().unwrap();
    assert_eq!(fs::read(pair.journal_path()).unwrap(), other);
    // Without a log it may be the journal that belongs to it.
    pair.put(&pair.snapshot, &other);
    for refused in [Store::read(pair.path()).map(drop), Store::open(pair.path()).map(drop)] {
        assert!(matches!(refused, Err(StoreError { reason: Reason::Foreign, .. })), "{refused:?}");
    }
    fs::remove_file(pair.path()).unwrap();
    let refused = Store::create(pair.path(), build).map(drop);
    assert!(matches!(refused, Err(StoreError { reason: Reason::Orphaned, .. })), "{refused:?}");
    assert!(!pair.path().exists() && fs::read(pair.journal_path()).unwrap() == other);
    // What does not begin like a journal is none.
    pair.put(&pair.snapshot, b"somebody's notes");
    Store::open(pair.path()).unwrap().commit_snapshot().unwrap();
    assert_eq!(fs::read(pair.journal_path()).unwrap(), b"somebody's notes");
}

#[test]
fn a_filter_replaces_both_files() {
    let pair = Pair::new(2);
    let ruin = [&pair.journal[..100], b"ruined", &pair.journal[106..]].concat();
    for journal in [&pair.journal, &ruin] {
        pair.put(&pair.snapshot, journal);
        let lock = Lock::take(&pair.path(), Wait::No).unwrap();
        Options::new().replace(lock, build(), Runs::default()).unwrap();
        assert!(!pair.journal_path().exists());
        // Had it stayed, it would be passed over.
        fs::write(pair.journal_path(), journal).unwrap();
        let view = Store::read(pair.path()).unwrap();
        assert!(view.filter.is_empty() && view.runs.is_empty());
        drop(Store::open(pair.path()).unwrap());
        assert!(!pair.journal_path().exists());
    }
}
