//! The work goes on while a snapshot is made, and whatever comes between leaves the last commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

use coua::window::{Generations, When};
use coua::{CuckooFilter, KeyHash, LoadError, OutOfMemory};

use super::held::Held;
use super::{Crew, Signals, Work};
use crate::lock::inode_at;
use crate::{Access, Options, Progress, Store, StoreError};

/// Hashes of a round: the journal reaches its limit in the third.
const HASHES: u64 = 60;
const MOST_JOURNAL: u64 = 1_400;

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

/// A store that works beside when it is told, and a filter in memory that goes through the same.
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
        let mut options = Options::new().most_journal(MOST_JOURNAL).beside_from(0);
        options.crew = held.clone();
        // A few pieces in a transaction.
        options.piece = 200;
        options.patience = 0;
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
        self.options.create(&self.path(), self.make).unwrap()
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
        store.commit(&self.progress()).unwrap();
        self.check();
    }

    /// Rounds until the thread is at work; it has none but the last commit to do.
    fn commit_until_at_work(&mut self, store: &mut Store) {
        while !self.held.is_at_work() {
            self.commit(store);
            assert!(self.round < 1_000, "it never begins");
        }
    }

    fn progress(&self) -> Progress {
        Progress { records: self.round, ..Progress::default() }
    }

    /// The last round is what is on the disk.
    fn check(&self) {
        let view = Options::new().read(&self.path()).unwrap();
        assert_eq!(view.progress, Some(self.progress()));
        assert!(bytes_of(&view.filter) == bytes_of(&self.plain), "round {}", self.round);
    }

    fn snapshot(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn journal_bytes(&self) -> u64 {
        fs::metadata(self.path().with_extension("coua.journal")).unwrap().len()
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
        let journal = bench.journal_bytes();
        store.commit(&bench.progress()).unwrap();
        bench.check();
        assert!(bench.snapshot() == begun, "it is the state at which it was begun, bit for bit");
        assert!(bench.journal_bytes() < journal);
        let at_work = ["seen.coua", "seen.coua.journal", "seen.coua.lock", "seen.coua.next"];
        assert_eq!(bench.names(), at_work);
        if turn % 2 == 1 {
            drop(store);
            store = bench.open();
            assert!(bytes_of(store.filter()) == bytes_of(&bench.plain));
        }
    }
    let (first, last) = (bytes_of(&make().into()).len(), bench.snapshot().len());
    assert!(last > first, "it has grown: {first}, {last}");
    store.finish().unwrap();
    assert!(bench.snapshot() == bytes_of(&bench.plain));
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
            assert_eq!(bench.names(), ["seen.coua", "seen.coua.journal"]);
            let view = Options::new().read(&bench.path()).unwrap();
            assert_eq!(view.progress.unwrap().records, bench.round - 1);
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
fn a_journal_as_large_as_the_filter_is_waited_for() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    bench.commit_until_at_work(&mut store);
    let before = bench.snapshot();
    while bench.snapshot() == before {
        let (journal, most) = (bench.journal_bytes(), store.largest() + 200);
        assert!(journal < most, "{journal}, {most}");
        bench.commit(&mut store);
    }
    assert!(bench.snapshot() == bytes_of(&bench.plain), "it was written at once");
    assert!(!bench.held.is_at_work());
    bench.commit_until_at_work(&mut store);
}

#[test]
fn what_has_no_place_beside_is_written_at_once() {
    let small = |options: Options| options.beside_from(1 << 20);
    let without_room = |mut options: Options| {
        options.room = || Some(10_000);
        options
    };
    for choose in [small, without_room] as [fn(Options) -> Options; 2] {
        let mut bench = Bench::new();
        bench.options = choose(bench.options.clone());
        let mut store = bench.open();
        let mut snapshots = vec![];
        for _ in 0..12 {
            bench.commit(&mut store);
            assert!(!bench.held.is_at_work());
            assert!(bench.journal_bytes() < 2 * MOST_JOURNAL);
            snapshots.push(inode_at(&bench.path()));
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
    store.rewrite(Generations::compact);
    bench.plain.compact();
    bench.commit(&mut store);
    assert!(bench.snapshot() == bytes_of(&bench.plain));
    assert_eq!(bench.held.release(), 1);
    bench.commit(&mut store);
}

/// All that was done was undone: the snapshot has the bytes that it had, and the journal need not know.
#[test]
fn the_same_bytes_shorten_the_journal() {
    // With room enough for what comes and goes.
    let mut bench = Bench::of(CuckooFilter::new);
    let mut store = bench.open();
    store.commit(&bench.progress()).unwrap();
    let (inode, more) = (inode_at(&bench.path()), &hashes(77)[..9]);
    while !bench.held.is_at_work() {
        store.insert_batch(more).unwrap();
        store.remove_batch(more);
        bench.round += 1;
        store.commit(&bench.progress()).unwrap();
        assert!(bench.round < 1_000, "it never begins");
    }
    bench.held.release();
    assert!(bench.journal_bytes() > MOST_JOURNAL);
    bench.commit(&mut store);
    assert_eq!(inode_at(&bench.path()), inode);
    assert!(bench.journal_bytes() < MOST_JOURNAL);
    bench.commit_until_at_work(&mut store);
}

/// Does not do it.
#[derive(Debug)]
struct Lazy;

impl Crew for Lazy {
    fn start(&self, work: Work, _signals: &Arc<Signals>) -> std::io::Result<()> {
        drop(work);
        Ok(())
    }
}

#[test]
fn a_thread_that_ends_early_is_an_error_of_the_next_commit() {
    let mut bench = Bench::new();
    bench.options.crew = Arc::new(Lazy);
    let mut store = bench.open();
    let error = loop {
        bench.change(&mut store);
        if let Err(error) = store.commit(&bench.progress()) {
            break error;
        }
        bench.check();
        assert!(bench.round < 1_000, "it never fails");
    };
    assert!(error.to_string().contains("seen.coua.next: cannot write"), "{error}");
    let view = Options::new().read(&bench.path()).unwrap();
    assert_eq!(view.progress.unwrap().records, bench.round - 1);
    store.commit(&bench.progress()).unwrap();
    bench.check();
}

/// There seemed to be memory for a second filter when it was begun.
#[test]
fn without_memory_for_a_thread_the_snapshot_is_written_at_once() {
    let mut bench = Bench::new();
    let mut store = bench.open();
    bench.commit_until_at_work(&mut store);
    let (sender, made) = channel();
    let source = LoadError::OutOfMemory(OutOfMemory { bytes: 1 << 40 });
    sender.send(Err(StoreError::Load { path: bench.path(), source })).unwrap();
    if let Some(beside) = &mut store.beside {
        beside.stop();
        beside.made = made;
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
    let mut snapshot = bench.snapshot();
    snapshot[4096 + 100] ^= 1;
    fs::write(bench.path(), &snapshot).unwrap();
    let mut store = bench.open();
    for commits in 0.. {
        if bench.held.is_at_work() {
            break;
        }
        assert!(commits < 1_000, "it never begins");
        store.insert_batch(&hashes(5)).unwrap();
        store.commit(&Progress { records: 5, ..Progress::default() }).unwrap();
    }
    bench.held.release();
    store.insert_batch(&hashes(6)).unwrap();
    let error = store.commit(&Progress { records: 6, ..Progress::default() }).unwrap_err();
    assert!(matches!(error, StoreError::Load { .. }), "{error}");
    assert!(error.to_string().contains("segment 0"), "{error}");
    drop(store);
    assert!(bench.snapshot() == snapshot);
    assert_eq!(bench.names(), ["seen.coua", "seen.coua.journal"]);
    let damaged = |path: &Path| Options::new().access(Access::Map).read(path).unwrap();
    assert_eq!(damaged(&bench.path()).progress.unwrap().records, 5);
}
