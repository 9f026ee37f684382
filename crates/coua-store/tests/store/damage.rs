//! Journals that were cut off, damaged, repeated or exchanged.

use std::fs;
use std::path::PathBuf;

use coua::CuckooFilter;
use coua_store::{Damage, Options, Store, StoreError};

use crate::samples::{bytes_of, change, committed, progress};

/// A store of a few commits, and what was on disk after each: length of the journal, bytes.
struct Sample {
    folder: tempfile::TempDir,
    commits: Vec<(u64, Vec<u8>)>,
    journal: Vec<u8>,
}

impl Sample {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let build = || CuckooFilter::builder().capacity(2_000).rate(0.01).build().unwrap();
        let mut store = Store::create(&path, build).unwrap();
        let mut commits = Vec::new();
        for round in 0..4 {
            if round > 0 {
                change(&mut store, seed + round, 150);
            }
            store.commit(&progress(round)).unwrap();
            let length = fs::metadata(path.with_extension("coua.journal")).unwrap().len();
            commits.push((length, bytes_of(store.filter())));
        }
        let journal = fs::read(path.with_extension("coua.journal")).unwrap();
        Self { folder, commits, journal }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("seen.coua")
    }

    fn put(&self, journal: &[u8]) {
        fs::write(self.path().with_extension("coua.journal"), journal).unwrap();
    }

    /// Where the damage is said to be; writers and readers say the same.
    fn damage(&self, journal: &[u8]) -> (u64, Damage) {
        self.put(journal);
        let errors = [
            Store::read(&self.path()).map(drop).unwrap_err(),
            Store::open(&self.path()).map(drop).unwrap_err(),
        ];
        let text = errors[0].to_string();
        assert!(text.contains("seen.coua.journal") && text.contains("byte"), "{text}");
        let [reader, writer] = errors.map(|error| match error {
            StoreError::Damaged { offset, what, .. } => (offset, what),
            error => panic!("{error}"),
        });
        assert_eq!(reader, writer);
        assert!(fs::read(self.path().with_extension("coua.journal")).unwrap() == journal);
        reader
    }

    /// The number of commits that count.
    fn round(&self, journal: &[u8]) -> u64 {
        self.put(journal);
        let (round, bytes) = committed(&self.path());
        assert!(bytes == self.commits[round as usize].1, "round {round}");
        // A writer cuts the rest off, and goes on.
        let mut store = Store::open(&self.path()).unwrap();
        assert!(bytes_of(store.filter()) == bytes);
        let (length, _) = self.commits[round as usize];
        let now = fs::metadata(self.path().with_extension("coua.journal")).unwrap().len();
        assert_eq!(now, length);
        store.insert("something new").unwrap();
        store.commit(&progress(99)).unwrap();
        assert_eq!(committed(&self.path()).0, 99);
        round
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let sample = Sample::new(10);
    let mut bytes = sample.journal.clone();
    for at in 0..bytes.len() {
        bytes[at] ^= 1 << (at % 8);
        let (offset, _) = sample.damage(&bytes);
        assert!(offset <= at as u64 && (offset == 0) == (at < 64), "byte {at}: {offset}");
        bytes[at] ^= 1 << (at % 8);
    }
    sample.put(&bytes);
    assert_eq!(committed(&sample.path()).0, 3);
}

#[test]
fn every_cut_leaves_the_last_whole_commit() {
    let sample = Sample::new(20);
    for length in 0..64 {
        assert_eq!(sample.damage(&sample.journal[..length]), (0, Damage::NotAJournal));
    }
    for length in 64..=sample.journal.len() {
        let whole = sample.commits.iter().rposition(|(end, _)| *end <= length as u64);
        // The first commit is that of the snapshot: its progress is in the journal.
        let Some(whole) = whole else { continue };
        assert_eq!(sample.round(&sample.journal[..length]), whole as u64, "{length}");
    }
}

#[test]
fn sectors_that_were_never_written_are_an_interrupted_commit() {
    let sample = Sample::new(30);
    let last = sample.commits[2].0 as usize;
    let end = sample.journal.len();
    for begin in (last..end).filter(|at| *at == last || at % 512 == 0) {
        for sectors in 1..4 {
            let mut torn = sample.journal.clone();
            let until = (begin / 512 + sectors) * 512;
            torn[begin..until.min(end)].fill(0);
            assert_eq!(sample.round(&torn), 2, "{begin}, {sectors}");
        }
    }
    for zeros in [1, 47, 48, 512, 5_000] {
        let longer = [&sample.journal[..], &vec![0; zeros]].concat();
        assert_eq!(sample.round(&longer), 3);
    }
}

/// A sector of zeros before the last commit was there once.
#[test]
fn lost_sectors_in_the_middle_are_damage() {
    let sample = Sample::new(40);
    let (first, second) = (sample.commits[0].0 as usize, sample.commits[1].0 as usize);
    for begin in (first..second - 512).filter(|at| at % 512 == 0) {
        let mut damaged = sample.journal.clone();
        damaged[begin..begin + 512].fill(0);
        let (offset, what) = sample.damage(&damaged);
        assert_eq!((offset, what), (first as u64, Damage::Checksum));
    }
}

#[test]
fn appended_bytes_are_found() {
    let sample = Sample::new(50);
    let end = sample.journal.len() as u64;
    for junk in [vec![7; 48], vec![0xff; 700], b"FRAM".repeat(300)] {
        let longer = [&sample.journal[..], &junk].concat();
        assert_eq!(sample.damage(&longer), (end, Damage::Checksum));
    }
}

#[test]
fn repeated_and_missing_frames_are_found() {
    let sample = Sample::new(60);
    let ends: Vec<usize> = sample.commits.iter().map(|(end, _)| *end as usize).collect();
    let part = |from: usize, to: usize| &sample.journal[ends[from]..ends[to]];
    let repeated = [&sample.journal[..], part(2, 3)].concat();
    let (offset, what) = sample.damage(&repeated);
    assert_eq!(offset, ends[3] as u64);
    assert!(matches!(what, Damage::Sequence { .. }), "{what}");
    let twice = [&sample.journal[..ends[2]], part(1, 2), part(2, 3)].concat();
    assert_eq!(sample.damage(&twice).0, ends[2] as u64);
    let missing = [&sample.journal[..ends[1]], part(2, 3)].concat();
    let (offset, what) = sample.damage(&missing);
    assert_eq!(offset, ends[1] as u64);
    assert!(matches!(what, Damage::Sequence { .. }), "{what}");
}

#[test]
fn frames_of_another_filter_are_found() {
    let (sample, mut other) = (Sample::new(70), Sample::new(80));
    // Both began with the same empty filter; now they have different snapshots.
    let mut store = Store::open(&other.path()).unwrap();
    store.commit_snapshot(&progress(9)).unwrap();
    change(&mut store, 90, 150);
    store.commit(&progress(10)).unwrap();
    drop(store);
    other.journal = fs::read(other.path().with_extension("coua.journal")).unwrap();
    let mixed = [&sample.journal[..], &other.journal[64..]].concat();
    let (offset, what) = sample.damage(&mixed);
    assert_eq!(offset, sample.journal.len() as u64);
    assert!(matches!(what, Damage::Frame { .. }), "{what}");
    sample.put(&other.journal);
    for error in [Store::read(&sample.path()).map(drop), Store::open(&sample.path()).map(drop)] {
        assert!(matches!(error, Err(StoreError::Foreign { .. })));
    }
    // A snapshot that is damaged is named itself.
    sample.put(&sample.journal);
    let mut snapshot = fs::read(sample.path()).unwrap();
    let end = snapshot.len();
    snapshot[end - 12] ^= 1;
    fs::write(sample.path(), &snapshot).unwrap();
    assert!(matches!(Store::read(&sample.path()), Err(StoreError::Load { .. })));
}

#[test]
fn later_versions_are_named() {
    let sample = Sample::new(100);
    let mut later = sample.journal.clone();
    later[8] = 3;
    assert_eq!(sample.damage(&later), (0, Damage::Version { found: 3 }));
    later[0] = 0;
    assert_eq!(sample.damage(&later), (0, Damage::NotAJournal));
}

/// Mapped segments are not checked on opening, but before they would be written anew.
#[test]
fn damage_in_a_mapped_snapshot_is_not_written_on() {
    use coua_store::Access;
    let sample = Sample::new(110);
    let mut snapshot = fs::read(sample.path()).unwrap();
    snapshot[4096 + 100] ^= 1;
    fs::write(sample.path(), &snapshot).unwrap();
    assert!(Options::new().access(Access::Load).write(&sample.path()).is_err());
    let mut store = Options::new().access(Access::Map).write(&sample.path()).unwrap();
    store.insert("a").unwrap();
    store.commit(&progress(5)).unwrap();
    let error = store.commit_snapshot(&progress(6)).unwrap_err();
    assert!(error.to_string().contains("segment 0"), "{error}");
    drop(store);
    assert!(fs::read(sample.path()).unwrap() == snapshot);
    let view = Options::new().access(Access::Map).read(&sample.path()).unwrap();
    assert_eq!(view.progress, Some(progress(5)));
}
