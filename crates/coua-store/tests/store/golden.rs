//! The bytes of a journal, written by `docs/journal.md` alone.

use std::fs;
use std::path::Path;

use coua::{CuckooFilter, KeyHash};
use coua_store::{Lock, Options, Place, Progress, Role, Store, Wait};

use crate::samples::{bytes_of, progress};
use crate::text::{frame, header, header_of, no_places, numbers, run, small, whole_checksum};

const HASHES: [u64; 3] = [1 << 63, 7 << 50, u64::MAX];

/// A filter with a commit of every kind of change.
fn write(path: &Path) {
    let [a, b, c] = HASHES.map(KeyHash::from_u64);
    let build = || CuckooFilter::with_capacity(100, 0.01).unwrap();
    let mut store = Store::create(path, build).unwrap();
    store.commit(&progress(1)).unwrap();
    store.insert_unique_batch(&[a, b, a]).unwrap();
    store.remove_batch(&[c, b]);
    store.insert_batch(&[c, a]).unwrap();
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

/// A journal of four commits after a snapshot, and that of a checkpoint behind it.
struct Sample {
    snapshot: Vec<u8>,
    journal: Vec<u8>,
    /// The state of the journal.
    committed: Vec<u8>,
    next: Vec<u8>,
}

impl Sample {
    fn new(path: &Path) -> Self {
        write(path);
        let mut filter = Store::read(path).unwrap().filter;
        let committed = bytes_of(&filter);
        filter.insert_unique("one more").unwrap();
        let journal = fs::read(path.with_extension("coua.journal")).unwrap();
        Self { snapshot: fs::read(path).unwrap(), journal, committed, next: bytes_of(&filter) }
    }

    /// The same journal as version 1 has it.
    fn of_version_1(mut self) -> Self {
        self.journal.splice(..64, header_of(1, &self.snapshot));
        self
    }

    /// With a checkpoint that names the next snapshot, and a field of version 2.
    fn with_checkpoint(&self, from: &[u64], changes: &[u8]) -> Vec<u8> {
        let Self { snapshot, journal, next, .. } = self;
        let named = numbers(&[whole_checksum(next), next.len() as u64]);
        let payload = [named, numbers(from), no_places(9)].concat();
        if changes.is_empty() {
            return [&journal[..], &frame(3, 4, snapshot, &payload)].concat();
        }
        let changes = frame(1, 4, snapshot, changes);
        [&journal[..], &changes, &frame(3, 5, snapshot, &payload)].concat()
    }
}

/// Reading, rules 1 and 2.
#[test]
fn a_checkpoint_counts_if_its_snapshot_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let old = Sample::new(&folder.path().join("old.coua")).of_version_1();
    let new = Sample::new(&path);
    let all = new.journal.len() as u64;
    for (sample, from) in [(old, &[][..]), (new, &[all])] {
        let journal = sample.with_checkpoint(from, &[]);
        let Sample { snapshot, committed, next, .. } = &sample;
        for (snapshot, state, records) in [(snapshot, committed, 3), (next, next, 9)] {
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
        fs::write(&path, snapshot).unwrap();
        let longer = [journal, frame(2, 5, snapshot, &no_places(4))].concat();
        fs::write(path.with_extension("coua.journal"), longer).unwrap();
        assert!(Store::read(&path).unwrap_err().to_string().contains("after a checkpoint"));
    }
}

/// Version 1 goes on as version 1, up to the next snapshot.
#[test]
fn version_1_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let sample = Sample::new(&path).of_version_1();
    let journal = path.with_extension("coua.journal");
    fs::write(&journal, &sample.journal).unwrap();
    let mut store = Store::open(&path).unwrap();
    assert!(bytes_of(store.filter()) == sample.committed);
    store.insert_batch(&[KeyHash::from_u64(5)]).unwrap();
    store.commit(&progress(4)).unwrap();
    let more = [
        frame(1, 4, &sample.snapshot, &run(1, &[5])),
        frame(2, 5, &sample.snapshot, &no_places(4)),
    ];
    assert!(fs::read(&journal).unwrap() == [sample.journal, more.concat()].concat());
    store.commit_snapshot(&progress(5)).unwrap();
    assert_eq!(fs::read(&journal).unwrap()[8], 2);
}

/// What the next snapshot lacks stands behind a place in the journal.
#[test]
fn the_end_of_a_journal_goes_on_behind_the_next_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let sample = Sample::new(&path);
    let journal_path = path.with_extension("coua.journal");
    // The second commit: what follows is 3, without changes, and the checkpoint's own.
    let from =
        sample.journal.len() as u64 - frame(2, 3, &sample.snapshot, &no_places(3)).len() as u64;
    let changes = run(1, &[5, 6]);
    let journal = sample.with_checkpoint(&[from], &changes);
    fs::write(&journal_path, &journal).unwrap();
    assert!(bytes_of(&Store::read(&path).unwrap().filter) == sample.committed, "it did not come");
    fs::write(&path, &sample.next).unwrap();
    let mut filter = CuckooFilter::from_bytes(&sample.next).unwrap();
    filter.insert_batch(&[5, 6].map(KeyHash::from_u64)).unwrap();
    for _ in 0..2 {
        let view = Store::read(&path).unwrap();
        assert!(bytes_of(&view.filter) == bytes_of(&filter));
        assert_eq!(view.progress, Some(progress(9)));
        let mut store = Store::open(&path).unwrap();
        assert!(bytes_of(store.filter()) == bytes_of(&filter));
        // Looking writes nothing.
        store.commit(&progress(9)).unwrap();
        assert!(fs::read(&journal_path).unwrap() == journal);
    }
    // A writer carries the end into the next journal.
    Store::open(&path).unwrap().commit(&progress(10)).unwrap();
    let next = &sample.next;
    let expected = [
        header(next),
        frame(2, 0, next, &no_places(3)),
        frame(1, 1, next, &changes),
        frame(2, 2, next, &no_places(9)),
        frame(2, 3, next, &no_places(10)),
    ];
    assert!(fs::read(&journal_path).unwrap() == expected.concat());
    assert!(bytes_of(&Store::read(&path).unwrap().filter) == bytes_of(&filter));
    // A place within a transaction, or beside a frame, is none.
    for wrong in [from + 1, from - 56, journal.len() as u64, 0, u64::MAX] {
        fs::write(&journal_path, sample.with_checkpoint(&[wrong], &changes)).unwrap();
        let message = Store::read(&path).unwrap_err().to_string();
        assert!(message.contains(&format!("from field holds {wrong},")), "{message}");
    }
}

/// A filter that replaces one whose journal has an end that is not in its snapshot: whole either way.
#[test]
fn what_is_replaced_keeps_its_end_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let sample = Sample::new(&path);
    let journal = sample.with_checkpoint(&[64], &run(1, &[5, 6]));
    fs::write(path.with_extension("coua.journal"), journal).unwrap();
    fs::write(&path, &sample.next).unwrap();
    let lock = Lock::take(&path, Wait::No).unwrap();
    Options::new().replace(lock, CuckooFilter::new(), &Progress::default()).unwrap();
    assert!(CuckooFilter::read(&path).unwrap().is_empty());
    assert!(!path.with_extension("coua.journal").exists());
}
