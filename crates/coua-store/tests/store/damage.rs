//! Files whose log was truncated, damaged, repeated or exchanged.

use std::fs;
use std::path::PathBuf;

use coua::CuckooFilter;
use coua_store::{Damage, Options, Reason, StoreError};

use crate::samples::{bytes_of, change, commit, committed, quick_folder, round_of};

/// A filter of a few commits, and the state on disk after each: length of the file, bytes of the filter.
struct Sample {
    folder: tempfile::TempDir,
    commits: Vec<(u64, Vec<u8>)>,
    file: Vec<u8>,
    /// Bytes of the snapshot.
    base: usize,
}

impl Sample {
    fn new(seed: u64) -> Self {
        Self::of(seed, 150)
    }

    /// With commits of about `changes` changes.
    fn of(seed: u64, changes: u64) -> Self {
        let folder = quick_folder();
        let path = folder.path().join("seen.coua");
        let build = || CuckooFilter::builder().capacity(2_000).rate(0.01).build().unwrap();
        let mut store = Options::new().create(&path, build).unwrap();
        let mut commits = Vec::new();
        for round in 0..4 {
            if round > 0 {
                change(&mut store, seed + round, changes);
            }
            commit(&mut store, round).unwrap();
            commits.push((fs::metadata(&path).unwrap().len(), bytes_of(store.filter())));
        }
        let base = commits[0].1.len();
        Self { file: fs::read(&path).unwrap(), folder, commits, base }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("seen.coua")
    }

    fn put(&self, file: &[u8]) {
        fs::write(self.path(), file).unwrap();
    }

    /// The error of readers and writers, which must be the same.
    fn error(&self, file: &[u8]) -> StoreError {
        self.put(file);
        let reader = Options::new().read(self.path()).map(drop).unwrap_err();
        let writer = Options::new().write(self.path()).map(drop).unwrap_err();
        assert_eq!(reader.to_string(), writer.to_string());
        assert!(Options::new().verify(self.path()).is_err(), "{reader}");
        assert!(fs::read(self.path()).unwrap() == file, "it is left as it is");
        reader
    }

    /// The place of the damage in the log.
    fn damage(&self, file: &[u8]) -> (u64, Damage) {
        let error = self.error(file);
        let text = error.to_string();
        assert!(text.contains("seen.coua: damaged at byte"), "{text}");
        match error {
            StoreError { reason: Reason::Damaged { offset, what, .. }, .. } => (offset, what),
            error => panic!("{error}"),
        }
    }

    /// The number of valid commits.
    fn round(&self, file: &[u8]) -> u64 {
        self.put(file);
        let (round, bytes) = committed(&self.path());
        assert!(bytes == self.commits[round as usize].1, "round {round}");
        let uncommitted = Options::new().read(self.path()).unwrap().uncommitted;
        let (length, _) = self.commits[round as usize];
        let length = if file.len() as u64 >= length { length } else { self.base as u64 };
        assert_eq!(uncommitted, file.len() as u64 - length);
        // A writer truncates the rest, and continues.
        let mut store = Options::new().write(self.path()).unwrap();
        assert!(bytes_of(store.filter()) == bytes);
        assert_eq!(fs::metadata(self.path()).unwrap().len(), length);
        store.insert("something new").unwrap();
        commit(&mut store, 99).unwrap();
        assert_eq!(committed(&self.path()).0, 99);
        round
    }
}

#[test]
fn every_flipped_bit_of_the_log_is_found() {
    let sample = Sample::new(10);
    let mut bytes = sample.file.clone();
    for at in sample.base..bytes.len() {
        for bit in [at % 8, (at + 3) % 8] {
            bytes[at] ^= 1 << bit;
            let (offset, _) = sample.damage(&bytes);
            assert!(offset <= at as u64 && offset >= sample.base as u64, "byte {at}: {offset}");
            bytes[at] ^= 1 << bit;
        }
    }
    sample.put(&bytes);
    assert_eq!(committed(&sample.path()).0, 3);
}

/// Also in the gaps of a snapshot, and at the start of the log.
#[test]
fn every_flipped_bit_of_the_snapshot_is_found() {
    let sample = Sample::new(15);
    let mut bytes = sample.file.clone();
    for at in 0..sample.base {
        bytes[at] ^= 1 << (at % 8);
        let error = sample.error(&bytes);
        // With a wrong length or checksum, the log belongs to another snapshot.
        let is_named =
            matches!(error, StoreError { reason: Reason::Load(_) | Reason::Damaged { .. }, .. });
        assert!(is_named, "byte {at}: {error}");
        bytes[at] ^= 1 << (at % 8);
    }
}

#[test]
fn every_cut_leaves_the_last_whole_commit() {
    let sample = Sample::of(20, 40);
    for length in 0..sample.base {
        match sample.error(&sample.file[..length]) {
            StoreError { reason: Reason::Blank, .. } => assert_eq!(length, 0),
            StoreError { reason: Reason::Load(_), .. } => assert!(length > 0),
            error => panic!("{length}: {error}"),
        }
    }
    for length in sample.base..=sample.file.len() {
        let whole = sample.commits.iter().rposition(|(end, _)| *end <= length as u64);
        // The log contains the number of the first round, because the filter is small.
        assert_eq!(sample.round(&sample.file[..length]), whole.unwrap_or(0) as u64, "{length}");
    }
}

#[test]
fn sectors_that_were_never_written_are_an_interrupted_commit() {
    let sample = Sample::new(30);
    let last = sample.commits[2].0 as usize;
    let end = sample.file.len();
    for begin in (last..end).filter(|at| *at == last || at % 512 == 0) {
        for sectors in 1..4 {
            let mut torn = sample.file.clone();
            let until = (begin / 512 + sectors) * 512;
            torn[begin..until.min(end)].fill(0);
            assert_eq!(sample.round(&torn), 2, "{begin}, {sectors}");
        }
    }
    for zeros in [1, 47, 48, 512, 5_000] {
        let longer = [&sample.file[..], &vec![0; zeros]].concat();
        assert_eq!(sample.round(&longer), 3);
    }
}

/// A sector of zeros before the last commit must be damage.
#[test]
fn lost_sectors_in_the_middle_are_damage() {
    let sample = Sample::new(40);
    let (first, second) = (sample.commits[0].0 as usize, sample.commits[1].0 as usize);
    for begin in (first..second - 512).filter(|at| at % 512 == 0) {
        let mut damaged = sample.file.clone();
        damaged[begin..begin + 512].fill(0);
        let (offset, what) = sample.damage(&damaged);
        assert_eq!((offset, what), (first as u64, Damage::Checksum));
    }
}

#[test]
fn appended_bytes_are_found() {
    let sample = Sample::new(50);
    let end = sample.file.len() as u64;
    for junk in [vec![7; 48], vec![0xff; 700], b"FRAM".repeat(300)] {
        let longer = [&sample.file[..], &junk].concat();
        assert_eq!(sample.damage(&longer), (end, Damage::Checksum));
    }
}

#[test]
fn repeated_and_missing_frames_are_found() {
    let sample = Sample::new(60);
    let ends: Vec<usize> = sample.commits.iter().map(|(end, _)| *end as usize).collect();
    let part = |from: usize, to: usize| &sample.file[ends[from]..ends[to]];
    let repeated = [&sample.file[..], part(2, 3)].concat();
    let (offset, what) = sample.damage(&repeated);
    assert_eq!(offset, ends[3] as u64);
    assert!(matches!(what, Damage::Sequence { .. }), "{what}");
    let twice = [&sample.file[..ends[2]], part(1, 2), part(2, 3)].concat();
    assert_eq!(sample.damage(&twice).0, ends[2] as u64);
    let missing = [&sample.file[..ends[1]], part(2, 3)].concat();
    let (offset, what) = sample.damage(&missing);
    assert_eq!(offset, ends[1] as u64);
    assert!(matches!(what, Damage::Sequence { .. }), "{what}");
}

#[test]
fn frames_of_another_filter_are_found() {
    let (sample, mut other) = (Sample::new(70), Sample::new(80));
    // Both began with the same empty filter; now they have different snapshots.
    let mut store = Options::new().write(other.path()).unwrap();
    store.commit_snapshot().unwrap();
    let base = bytes_of(store.filter()).len();
    change(&mut store, 90, 150);
    commit(&mut store, 10).unwrap();
    drop(store);
    other.file = fs::read(other.path()).unwrap();
    let mixed = [&sample.file[..], &other.file[base..]].concat();
    let (offset, what) = sample.damage(&mixed);
    assert_eq!(offset, sample.file.len() as u64);
    assert!(matches!(what, Damage::Frame { .. }), "{what}");
    let exchanged = [&sample.file[..sample.base], &other.file[base..]].concat();
    let (offset, what) = sample.damage(&exchanged);
    assert_eq!(offset, sample.base as u64);
    assert!(matches!(what, Damage::Frame { .. }), "{what}");
}

/// Mapped segments are not checked on opening, but before they are rewritten.
#[test]
fn damage_in_a_mapped_snapshot_is_not_written_on() {
    use coua_store::Access;
    let sample = Sample::new(110);
    let mut file = sample.file.clone();
    file[320 + 100] ^= 1;
    sample.put(&file);
    assert!(Options::new().access(Access::Load).write(sample.path()).is_err());
    let mut store = Options::new().access(Access::Map).write(sample.path()).unwrap();
    store.insert("a").unwrap();
    commit(&mut store, 5).unwrap();
    let error = store.commit_snapshot().unwrap_err();
    assert!(error.to_string().contains("segment 0"), "{error}");
    drop(store);
    assert!(fs::read(sample.path()).unwrap().starts_with(&file));
    let view = Options::new().access(Access::Map).read(sample.path()).unwrap();
    assert_eq!(round_of(&view.notes), 5);
}

/// Loading refuses such a file, too.
#[test]
fn a_generation_twice_is_not_verified() {
    use coua::window::{Generations, Window};
    use std::time::Duration;
    use xxhash_rust::xxh3::xxh3_64;

    const HEADER: usize = 192;
    const PARTS: usize = 3 * 64;
    let folder = quick_folder();
    let path = folder.path().join("seen.coua");
    let window = Window::given(Duration::from_millis(100), 2).unwrap();
    let template = CuckooFilter::builder().capacity(100).build().unwrap();
    let mut filter = Generations::from_template(window, template);
    for time in [0, 50] {
        filter.advance(time);
        filter.insert(time).unwrap();
    }
    let mut bytes = bytes_of(&filter);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Options::new().verify(&path).unwrap().items, 2);
    // The number of the second generation becomes that of the first.
    let second = HEADER + 2 * 64;
    assert_eq!(bytes[second..second + 8], 1_u64.to_le_bytes());
    bytes[second] = 0;
    let segments = u64::from_le_bytes(bytes[72..80].try_into().unwrap()) as usize;
    let tables = xxh3_64(&bytes[HEADER..HEADER + PARTS + 32 * segments]);
    let trailer = bytes.len() - 32;
    bytes[trailer..trailer + 8].copy_from_slice(&tables.to_le_bytes());
    let whole = xxh3_64(&[&bytes[..HEADER], &bytes[trailer..trailer + 16]].concat());
    bytes[trailer + 16..trailer + 24].copy_from_slice(&whole.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let loaded = Options::new().read(&path).map(drop).unwrap_err().to_string();
    let verified = Options::new().verify(&path).unwrap_err().to_string();
    assert!(verified.contains("generation"), "{verified}");
    assert_eq!(loaded, verified);
}
