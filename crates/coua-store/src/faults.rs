//! Every step on the disk made to fail once, in every way, at every place: the state is always one
//! that was committed.

use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use coua::{CuckooFilter, Generations, KeyHash};

use crate::disk::{Disk, FileSystem};
use crate::{Options, Progress, Store, StoreError};

/// How a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It does nothing.
    Nothing,
    /// A write does its first half; another step nothing.
    Half,
    /// A write leaves a sector of zeros in its middle; another step does nothing.
    Torn,
    /// It is done, and said to have failed.
    Done,
}

/// What happens afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// All is well again.
    Recovers,
    /// The process dies so many steps later, with the failed one if that is 0.
    Dies(usize),
}

#[derive(Debug)]
struct Faulty {
    /// The steps so far, by name.
    steps: Mutex<Vec<&'static str>>,
    fails_at: usize,
    fault: Fault,
    then: Then,
}

impl Faulty {
    fn new(fails_at: usize, fault: Fault, then: Then) -> Arc<Self> {
        Arc::new(Self { steps: Mutex::default(), fails_at, fault, then })
    }

    /// How this step is to fail, if it is.
    fn step(&self, name: &'static str) -> Option<Fault> {
        let mut steps = self.steps.lock().unwrap();
        steps.push(name);
        let number = steps.len() - 1;
        if number == self.fails_at {
            Some(self.fault)
        } else {
            let dies_at = match self.then {
                Then::Recovers => usize::MAX,
                Then::Dies(later) => self.fails_at.saturating_add(later),
            };
            (number >= dies_at).then_some(Fault::Nothing)
        }
    }

    fn act<T>(&self, name: &'static str, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.step(name) {
            None => act(),
            Some(Fault::Done) => act().and(Err(io::Error::other("said to have failed"))),
            Some(_) => Err(io::Error::other("made to fail")),
        }
    }

    /// Nothing works any more.
    fn is_dead(&self) -> bool {
        let Then::Dies(later) = self.then else { return false };
        self.steps.lock().unwrap().len() > self.fails_at.saturating_add(later)
    }

    /// The name of the step that failed.
    fn failed(&self) -> Option<&'static str> {
        self.steps.lock().unwrap().get(self.fails_at).copied()
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path, permissions: Option<&Permissions>) -> io::Result<File> {
        self.act("create", || FileSystem.create(path, permissions))
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut partly = bytes.to_vec();
        match self.step("write") {
            None => return FileSystem.write(file, bytes, at),
            Some(Fault::Nothing) => partly.clear(),
            Some(Fault::Half) => partly.truncate(bytes.len() / 2),
            Some(Fault::Torn) => {
                // From a border of sectors in the file, as a disk does it.
                let begin = (at + bytes.len() as u64 / 2) / 512 * 512;
                let begin = usize::try_from(begin.saturating_sub(at)).unwrap();
                let end = partly.len().min(begin + 512);
                partly[begin..end].fill(0);
            }
            Some(Fault::Done) => {}
        }
        FileSystem.write(file, &partly, at)?;
        Err(io::Error::other("made to fail"))
    }

    /// Without waiting: what is tested is what the store does, not what the disk does.
    fn sync(&self, _file: &File) -> io::Result<()> {
        self.act("sync", || Ok(()))
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        self.act("cut", || FileSystem.cut(file, length))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act("rename", || FileSystem.rename(from, to))
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        self.act("sync folder", || Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.act("remove", || FileSystem.remove(path))
    }

    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.act("reserve", || FileSystem.reserve(file, bytes))
    }
}

/// What has bytes.
trait Written {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()>;
}

impl Written for CuckooFilter {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.write_to(out)
    }
}

impl Written for Generations {
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.write_to(out)
    }
}

fn bytes_of(filter: &impl Written) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write(&mut bytes).unwrap();
    bytes
}

fn empty() -> CuckooFilter {
    CuckooFilter::builder().capacity(400).rate(0.001).build().unwrap()
}

fn hashes(round: u64) -> Vec<KeyHash> {
    let mix = |n: u64| (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..20).map(|n| KeyHash::from_u64(mix(mix(100 * round + n + 1)))).collect()
}

/// Commits of the script.
const ROUNDS: u64 = 14;

/// The store's part of a round.
fn change(store: &mut Store, round: u64) {
    let (mut removed, mut outcomes) = (Vec::new(), Vec::new());
    store.insert_hash_batch(&hashes(round)).unwrap();
    store.insert_unique_hash_batch(&hashes(round.saturating_sub(1)), &mut outcomes).unwrap();
    store.remove_hash_batch(&hashes(round)[..5], &mut removed);
    if round == 4 {
        store.rewrite(Generations::compact);
    }
}

/// The same on a plain filter: the bytes after each round; none before the first.
fn expected() -> Vec<Option<Vec<u8>>> {
    let mut filter = empty();
    let mut all = vec![None];
    for round in 1..=ROUNDS {
        let (mut removed, mut outcomes) = (Vec::new(), Vec::new());
        filter.insert_hash_batch(&hashes(round)).unwrap();
        filter.insert_unique_hash_batch(&hashes(round - 1), &mut outcomes).unwrap();
        filter.remove_hash_batch(&hashes(round)[..5], &mut removed);
        if round == 4 {
            filter.compact();
        }
        all.push(Some(bytes_of(&filter)));
    }
    all
}

fn options(disk: Arc<dyn Disk>) -> Options {
    let mut options = Options::new().most_journal(1_500);
    // A round takes two or three.
    options.piece = 100;
    options.disk = disk;
    options
}

fn progress(round: u64) -> Progress {
    Progress { records: round, ..Progress::default() }
}

/// The round whose state is on disk; it must be one of the script, whole.
fn round_on_disk(path: &Path, expected: &[Option<Vec<u8>>]) -> u64 {
    let (bytes, round) = match Options::new().read(path) {
        Ok(view) => (Some(bytes_of(&view.filter)), view.progress.map_or(0, |p| p.records)),
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => (None, 0),
        Err(error) => panic!("{error}"),
    };
    assert!(expected[round as usize] == bytes, "round {round} is not as it was committed");
    round
}

/// Plays the script from the round on disk to its end, on a disk that may fail; dies with it.
struct Play<'a> {
    path: PathBuf,
    disk: Arc<Faulty>,
    expected: &'a [Option<Vec<u8>>],
}

impl Play<'_> {
    /// False if the process died on the way.
    fn to_the_end(&self) -> bool {
        loop {
            let disk: Arc<dyn Disk> = self.disk.clone();
            let begun = round_on_disk(&self.path, self.expected);
            match options(disk).create(&self.path, empty) {
                Ok(store) => {
                    if let Some(ended) = self.on(store, begun) {
                        return ended;
                    }
                }
                Err(_) if self.disk.is_dead() => return false,
                Err(_) => {}
            }
        }
    }

    /// None if the store must be opened again.
    fn on(&self, mut store: Store, begun: u64) -> Option<bool> {
        assert_eq!(store.progress().map_or(0, |progress| progress.records), begun);
        for round in begun + 1..=ROUNDS {
            change(&mut store, round);
            while let Err(error) = store.commit(&progress(round)) {
                self.check_after_failure(round);
                if self.disk.is_dead() {
                    return Some(false);
                }
                if matches!(error, StoreError::Broken { .. }) {
                    return None;
                }
            }
            assert_eq!(round_on_disk(&self.path, self.expected), round);
            if round % 5 == 0 {
                return None;
            }
        }
        Some(true)
    }

    /// A failed commit leaves the state before it; or its own, if only the last step's success is
    /// unknown, or nobody lived to take it back.
    fn check_after_failure(&self, round: u64) {
        let found = round_on_disk(&self.path, self.expected);
        let may_be_done = self.disk.is_dead()
            || self.disk.fault == Fault::Done
            || self.disk.failed() == Some("sync folder");
        assert!(found + 1 == round || (may_be_done && found == round), "{found} after {round}");
    }
}

/// After a step that did nothing a second one may fail later, when the work is tried again.
fn thens(fault: Fault) -> Vec<Then> {
    let most = if fault == Fault::Nothing { 24 } else { 1 };
    (0..most).map(Then::Dies).chain([Then::Recovers]).collect()
}

#[test]
fn every_step_fails_once_in_every_way() {
    let expected = expected();
    let count = |disk: &Faulty| disk.steps.lock().unwrap().len();
    let whole = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    assert!(Play { path, disk: whole.clone(), expected: &expected }.to_the_end());
    let steps = count(&whole);
    assert!(steps > 80, "{steps}");
    for fails_at in 0..steps {
        for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
            for then in thens(fault) {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("seen.coua");
                let disk = Faulty::new(fails_at, fault, then);
                let play = Play { path: path.clone(), disk, expected: &expected };
                let ended = play.to_the_end();
                assert!(ended || then != Then::Recovers, "{fails_at}: {fault:?}, {then:?}");
                let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
                assert!(Play { path: path.clone(), disk, expected: &expected }.to_the_end());
                assert_eq!(round_on_disk(&path, &expected), ROUNDS);
                let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
                left.retain(|entry| {
                    let name = entry.as_ref().unwrap().file_name();
                    name != "seen.coua" && name != "seen.coua.journal"
                });
                assert!(left.is_empty(), "{fails_at}: {fault:?}, {then:?}: {left:?}");
            }
        }
    }
}

/// Commits and ends: the bytes on disk after each, where all went well.
fn end_twice(disk: Arc<dyn Disk>, path: &Path) -> Result<(), StoreError> {
    let options = options(disk);
    let mut store = options.create(path, empty)?;
    change(&mut store, 1);
    store.finish()?;
    let mut store = options.write(path)?;
    change(&mut store, 2);
    store.commit(&progress(0))?;
    change(&mut store, 3);
    store.finish().map(drop)
}

#[test]
fn every_step_of_an_end_fails_once_in_every_way() {
    let mut filter = empty();
    let mut states = vec![None];
    for round in 1..=3 {
        let (mut removed, mut outcomes) = (Vec::new(), Vec::new());
        filter.insert_hash_batch(&hashes(round)).unwrap();
        filter.insert_unique_hash_batch(&hashes(round - 1), &mut outcomes).unwrap();
        filter.remove_hash_batch(&hashes(round)[..5], &mut removed);
        states.push(Some(bytes_of(&filter)));
    }
    for fails_at in 0.. {
        for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
            for then in [Then::Recovers, Then::Dies(0)] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("seen.coua");
                let disk = Faulty::new(fails_at, fault, then);
                let ended = end_twice(disk.clone(), &path);
                let found = Options::new().read(&path).ok().map(|view| bytes_of(&view.filter));
                let what = format!("{fails_at}: {fault:?}, {then:?}");
                assert!(states.contains(&found), "{what}");
                assert!(ended.is_err() || found == states[3], "{what}");
                if ended.is_ok() && disk.failed().is_none() {
                    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
                    assert!(fails_at > 30, "{fails_at}");
                    return;
                }
            }
        }
    }
}

/// A power cut forgets what was not synced: nothing gets its name before it is on the disk, and no
/// commit returns before its last step was a sync.
#[test]
fn nothing_is_renamed_before_it_is_synced() {
    let expected = expected();
    let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut store = options(disk.clone()).create(&path, empty).unwrap();
    for round in 1..=ROUNDS {
        change(&mut store, round);
        store.commit(&progress(round)).unwrap();
        let steps = disk.steps.lock().unwrap().clone();
        let last = |name| steps.iter().rposition(|step| *step == name);
        assert!(last("write") < last("sync").max(last("sync folder")));
    }
    let steps = disk.steps.lock().unwrap();
    let renames = steps.iter().enumerate().filter(|(_, step)| **step == "rename");
    for (at, _) in renames.clone() {
        // The last things before are a sync (of the file, or of the journal that names it).
        assert_eq!(steps[at - 1], "sync");
        assert_eq!(steps[at + 1], "sync folder");
        let before = &steps[..at];
        let written = before.iter().rposition(|step| *step == "write").unwrap();
        assert!(before[written..].contains(&"sync"));
    }
    assert!(renames.count() >= 6, "a journal, a snapshot and a journal, more than once");
    assert_eq!(round_on_disk(&path, &expected), ROUNDS);
}
