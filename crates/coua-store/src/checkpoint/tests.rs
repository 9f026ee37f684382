//! The work goes on while a snapshot is made, and whatever comes between leaves the last commit.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use coua::window::Generations;
use coua::{CuckooFilter, KeyHash, LoadError, OutOfMemory};

use crate::checkpoint::{Signals, Spawn, Work};
use crate::faults::held::Held;
use crate::{Access, Options, Reason, Store, StoreError};

/// Hashes of a round: the log reaches its limit in the third.
const HASHES: u64 = 60;
const MAX_LOG: u64 = 1_700;

fn hashes(round: u64) -> Vec<KeyHash> {
    let mix = |n: u64| (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..HASHES).map(|n| KeyHash::from_u64(mix(mix(HASHES * round + n + 1)))).collect()
}

fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// A filter that grows in the course of some rounds.
fn make() -> CuckooFilter {
    let mut filter = CuckooFilter::builder().capacity(700).hash_bits(50).build().unwrap();
    filter.insert_batch(&hashes(1_000_000)).unwrap();
    for round in 2_000_000..2_000_010 {
        filter.insert_batch(&hashes(round)).unwrap();
    }
    filter
}

/// A store that works in the background when it is told, and a filter in memory that goes through the same.
struct Bench {
    folder: tempfile::TempDir,
    held: Arc<Held>,
    options: Options,
    make: fn() -> CuckooFilter,
    plain: Generations,
    round: u64,
}

impl Bench {
    fn new() -> Self {
        Self::of(make)
    }

    fn of(make: fn() -> CuckooFilter) -> Self {
        let held = Arc::new(Held::default());
        let mut options = Options::new().max_log(MAX_LOG).background_from(0);
        options.spawn = held.clone();
        // A few pieces in a transaction.
        options.piece = 200;
        options.limits.most_waiting = 0;
        let folder = tempfile::tempdir().unwrap();
        Self { folder, held, options, make, plain: make().into(), round: 0 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("seen.coua")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    fn open(&self) -> Store {
        self.options.create(self.path(), self.make).unwrap()
    }

    fn change(&mut self, store: &mut Store) {
        self.round += 1;
        let hashes = hashes(self.round);
        store.insert_batch(&hashes).unwrap();
        store.remove_batch(&hashes[..9]);
        self.plain.insert_batch(&hashes).unwrap();
        self.plain.remove_batch(&hashes[..9]);
    }

    /// A round, committed.
    fn commit(&mut self, store: &mut Store) {
        self.change(store);
        self.try_commit(store).unwrap();
        self.check();
    }

    /// A note says how many rounds there were.
    fn try_commit(&self, store: &mut Store) -> Result<(), StoreError> {
        store.set_note("round", &self.round.to_le_bytes()).unwrap();
        store.commit()
    }

    /// Rounds until the thread is at work; it has none but the last commit to do.
    fn commit_until_at_work(&mut self, store: &mut Store) {
        while !self.held.is_at_work() {
            self.commit(store);
            assert!(self.round < 1_000, "it never begins");
        }
    }

    fn round_on_disk(&self) -> u64 {
        let view = Options::new().access(Access::Map).read(self.path()).unwrap();
        view.notes.get("round").map_or(0, |note| u64::from_le_bytes(note.try_into().unwrap()))
    }

    /// The last round is what is on the disk.
    fn check(&self) {
        let view = Options::new().read(self.path()).unwrap();
        assert_eq!(self.round_on_disk(), self.round);
        assert!(bytes_of(&view.filter) == bytes_of(&self.plain), "round {}", self.round);
    }

    fn snapshot(&self) -> Vec<u8> {
        let view = Options::new().access(Access::Map).read(self.path()).unwrap();
        let mut bytes = fs::read(self.path()).unwrap();
        bytes.truncate(view.snapshot_bytes as usize);
        bytes
    }

    fn log_bytes(&self) -> u64 {
        Options::new().access(Access::Map).read(self.path()).unwrap().log_bytes
    }

    fn has_a_next(&self) -> bool {
        let names = self.names();
        names.len() == 2 && names[0].starts_with(".seen.coua.") && names[1] == "seen.coua"
    }
}

#[test]
fn the_work_goes_on_while_a_snapshot_is_made() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    for turn in 0..5 {
        bench.commit_until_at_work(&mut store);
        let begun = bytes_of(&bench.plain);
        let before = bench.snapshot();
        for _ in 0..turn {
            bench.commit(&mut store);
            assert!(bench.snapshot() == before, "it is not there yet");
        }
        // Pieces of a transaction that is not committed, while it is written.
        bench.change(&mut store);
        assert_eq!(bench.held.release(), 1);
        assert!(bench.snapshot() == before, "nobody has looked yet");
        let log = bench.log_bytes();
        bench.try_commit(&mut store).unwrap();
        bench.check();
        assert!(bench.snapshot() == begun, "it is the state at which it was begun, bit for bit");
        assert!(bench.log_bytes() < log);
        assert!(bench.has_a_next(), "{:?}", bench.names());
        if turn % 2 == 1 {
            drop(store);
            store = bench.open();
            assert!(bytes_of(store.filter()) == bytes_of(&bench.plain));
        }
    }
    let (first, last) = (bytes_of(&make().into()).len(), bench.snapshot().len());
    assert!(last > first, "it has grown: {first}, {last}");
    assert!(store.remove_note("round"));
    store.finish().unwrap();
    assert!(fs::read(bench.path()).unwrap() == bytes_of(&bench.plain));
    assert_eq!(bench.names(), ["seen.coua"]);
}

#[test]
fn an_end_gives_up_on_it_and_leaves_nothing() {
    for is_dropped in [true, false] {
        let mut bench = Bench::new();
        let mut store = bench.open();
        bench.commit_until_at_work(&mut store);
        bench.commit(&mut store);
        if is_dropped {
            bench.change(&mut store);
            drop(store);
            assert_eq!(bench.names(), ["seen.coua"]);
            assert_eq!(bench.round_on_disk(), bench.round - 1);
        } else {
            bench.change(&mut store);
            store.finish().unwrap();
            assert_eq!(bench.names(), ["seen.coua"]);
            assert!(bench.snapshot() == bytes_of(&bench.plain));
        }
        assert_eq!(bench.held.release(), 1, "it ends by itself");
    }
}

#[test]
fn for_a_log_as_large_as_the_filter_commits_wait() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    bench.commit_until_at_work(&mut store);
    let before = bench.snapshot();
    while bench.snapshot() == before {
        let (log, most) = (bench.log_bytes(), store.commit_inputs().largest() + 400);
        assert!(log < most, "{log}, {most}");
        bench.commit(&mut store);
    }
    assert!(bench.snapshot() == bytes_of(&bench.plain), "it was written at once");
    assert!(!bench.held.is_at_work());
    bench.commit_until_at_work(&mut store);
}

#[test]
fn what_cannot_be_made_in_the_background_is_written_at_once() {
    let small = |options: Options| options.background_from(1 << 20);
    let without_memory = |mut options: Options| {
        options.available_memory = || Some(10_000);
        options
    };
    for choose in [small, without_memory] as [fn(Options) -> Options; 2] {
        let mut bench = Bench::new();
        bench.options = choose(bench.options.clone());
        let mut store = bench.open();
        let mut snapshots = vec![];
        for _ in 0..12 {
            bench.commit(&mut store);
            assert!(!bench.held.is_at_work());
            assert!(bench.log_bytes() < 2 * MAX_LOG);
            snapshots.push(bench.snapshot());
        }
        snapshots.dedup();
        assert!(snapshots.len() > 2);
    }
}

#[test]
fn other_changes_meanwhile_are_written_at_once() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    bench.commit_until_at_work(&mut store);
    bench.commit(&mut store);
    store.rewrite(Generations::compact).unwrap();
    bench.plain.compact().unwrap();
    bench.commit(&mut store);
    assert!(bench.snapshot() == bytes_of(&bench.plain));
    assert_eq!(bench.held.release(), 1);
    bench.commit(&mut store);
}

/// All that was done was undone: the snapshot has the bytes that it had, and the log need not know.
#[test]
fn the_same_bytes_shorten_the_log() {
    // With room enough for what comes and goes.
    let roomy = || CuckooFilter::builder().capacity(15_000).build().unwrap();
    let mut bench = Bench::of(roomy);
    let mut store = bench.open();
    bench.try_commit(&mut store).unwrap();
    let (snapshot, more) = (bench.snapshot(), &hashes(77)[..9]);
    while !bench.held.is_at_work() {
        store.insert_batch(more).unwrap();
        store.remove_batch(more);
        bench.round += 1;
        bench.try_commit(&mut store).unwrap();
        assert!(bench.round < 1_000, "it never begins");
    }
    bench.held.release();
    assert!(bench.log_bytes() > MAX_LOG);
    bench.commit(&mut store);
    assert!(bench.snapshot() == snapshot);
    assert!(bench.log_bytes() < MAX_LOG);
    bench.commit_until_at_work(&mut store);
}

/// Does not do it.
#[derive(Debug)]
struct Lazy;

impl Spawn for Lazy {
    fn start(&self, work: Work, _signals: &Arc<Signals>) -> std::io::Result<()> {
        drop(work);
        Ok(())
    }
}

#[test]
fn a_thread_that_ends_early_is_an_error_of_the_next_commit() {
    let mut bench = Bench::new();
    bench.options.spawn = Arc::new(Lazy);
    let mut store = bench.open();
    let error = loop {
        bench.change(&mut store);
        if let Err(error) = bench.try_commit(&mut store) {
            break error;
        }
        bench.check();
        assert!(bench.round < 1_000, "it never fails");
    };
    assert!(error.to_string().contains("seen.coua: cannot write a new snapshot of"), "{error}");
    assert_eq!(bench.round_on_disk(), bench.round - 1);
    bench.try_commit(&mut store).unwrap();
    bench.check();
}

/// There seemed to be memory for a second filter when it was begun.
#[test]
fn without_memory_for_a_thread_the_snapshot_is_written_at_once() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    bench.commit_until_at_work(&mut store);
    let (sender, finished) = channel();
    let source = LoadError::OutOfMemory(OutOfMemory { bytes: 1 << 40 });
    sender.send(Err(Reason::Load(source).at(&bench.path()))).unwrap();
    if let Some(background) = &mut store.checkpointer.background {
        background.signals.stop.store(true, Ordering::Relaxed);
        background.finished = std::sync::Mutex::new(finished);
    }
    bench.commit(&mut store);
    assert!(bench.snapshot() == bytes_of(&bench.plain));
    bench.held.release();
    bench.commit_until_at_work(&mut store);
}

/// Mapped segments are not checked on opening, but before they get a new checksum.
#[test]
fn damage_is_not_written_on() {
    let mut bench = Bench::new();
    bench.options = bench.options.clone().access(Access::Map);
    let mut store = bench.open();
    bench.commit(&mut store);
    drop(store);
    let mut file = fs::read(bench.path()).unwrap();
    file[4096 + 100] ^= 1;
    fs::write(bench.path(), &file).unwrap();
    let mut store = bench.open();
    for commits in 0.. {
        if bench.held.is_at_work() {
            break;
        }
        assert!(commits < 1_000, "it never begins");
        bench.round += 1;
        store.insert_batch(&hashes(5)).unwrap();
        bench.try_commit(&mut store).unwrap();
    }
    bench.held.release();
    let committed = bench.round;
    bench.change(&mut store);
    let error = bench.try_commit(&mut store).unwrap_err();
    assert!(matches!(error, StoreError { reason: Reason::Load(_), .. }), "{error}");
    assert!(error.to_string().contains("segment 0"), "{error}");
    drop(store);
    assert!(fs::read(bench.path()).unwrap().starts_with(&file));
    assert_eq!(bench.names(), ["seen.coua"]);
    assert_eq!(bench.round_on_disk(), committed);
}
