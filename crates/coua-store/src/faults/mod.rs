//! Every step on the disk made to fail once, in every way, at every place: the state is always one
//! that was committed.

mod copies;
mod ends;
pub(crate) mod held;
mod pieces;
mod power;
mod replacement;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{CuckooFilter, KeyHash};
use coua_dev::cases::few_usual_or_all;

use crate::fs::{Disk, FileSystem, Folder};
use crate::{Notes, Options, Reason, Store, StoreError};
use held::Held;

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
    /// The process dies this number of steps later, with the failed one if it is 0.
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
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)> {
        self.act("create", || FileSystem.create(target))
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

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.act("truncate", || FileSystem.truncate(file, length))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act("rename", || FileSystem.rename(from, to))
    }

    fn sync_folder(&self, _folder: &Folder) -> io::Result<()> {
        self.act("sync folder", || Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.act("remove", || FileSystem.remove(path))
    }

    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.act("reserve", || FileSystem.reserve(file, bytes))
    }
}

/// A folder in memory, if the system has a place for it: nothing here needs a disk to be waited for.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn bytes_of(filter: &Generations) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    bytes
}

/// What is committed round by round.
#[derive(Clone, Copy)]
struct Script {
    make: fn() -> Generations,
    rounds: u64,
    /// Filters from this size on are written in the background.
    background_from: u64,
}

const SCRIPT: Script = Script { make: || empty().into(), rounds: 14, background_from: u64::MAX };
/// The same on a filter that forgets; it takes fewer rounds to meet every kind of step.
const AGING: Script = Script { make: aging, rounds: 6, background_from: u64::MAX };
/// Larger, and with snapshots in the background.
const BACKGROUND: Script = Script { make: || large().into(), rounds: 12, background_from: 0 };

fn empty() -> CuckooFilter {
    CuckooFilter::builder().capacity(400).rate(0.001).build().unwrap()
}

fn large() -> CuckooFilter {
    CuckooFilter::builder().capacity(4_000).rate(0.001).build().unwrap()
}

/// A round is half a generation long. Items that come again move, which is the most that such a filter logs.
fn aging() -> Generations {
    let window = Window::new(Clock::Arrival, 200, 2).unwrap();
    Generations::from_template(window.counted_from(AgeFrom::LastSeen), empty())
}

fn hashes(round: u64) -> Vec<KeyHash> {
    let mix = |n: u64| (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..20).map(|n| KeyHash::from_u64(mix(mix(100 * round + n + 1)))).collect()
}

/// The store's part of a round.
fn change(store: &mut Store, round: u64) {
    store.advance(50 * round);
    store.insert_batch(&hashes(round)).unwrap();
    store.insert_unique_batch(&hashes(round.saturating_sub(1))).unwrap();
    store.remove_batch(&hashes(round)[..5]);
    if round == 4 {
        store.rewrite(Generations::compact).unwrap();
    }
}

/// The same in memory.
fn change_in_memory(filter: &mut Generations, round: u64) {
    let (new, old) = (hashes(round), hashes(round.saturating_sub(1)));
    filter.advance(50 * round);
    filter.insert_batch(&new).unwrap();
    filter.insert_unique_batch(&old).unwrap();
    filter.remove_batch(&new[..5]);
}

impl Script {
    /// The bytes after each round; none before the first.
    fn expected(self) -> Vec<Option<Vec<u8>>> {
        let mut filter = (self.make)();
        let mut all = vec![None];
        for round in 1..=self.rounds {
            change_in_memory(&mut filter, round);
            if round == 4 {
                filter.compact().unwrap();
            }
            all.push(Some(bytes_of(&filter)));
        }
        all
    }
}

fn options(disk: Arc<dyn Disk>) -> Options {
    let mut options = Options::new().max_log(1_500);
    // A round takes two or three.
    options.piece = 100;
    options.disk = disk;
    options
}

/// Commits a round, whose number is a note.
fn commit(store: &mut Store, round: u64) -> Result<(), StoreError> {
    store.set_note("round", &round.to_le_bytes()).unwrap();
    store.commit()
}

fn round_of(notes: &Notes) -> u64 {
    notes.get("round").map_or(0, |note| u64::from_le_bytes(note.try_into().unwrap()))
}

impl Script {
    fn options(self, disk: Arc<dyn Disk>, held: &Arc<Held>) -> Options {
        let mut options = options(disk).background_from(self.background_from);
        options.spawn = held.clone();
        options
    }
}

/// The round whose state is on disk; it must be one of the script, whole.
fn round_on_disk(path: &Path, expected: &[Option<Vec<u8>>]) -> u64 {
    let (bytes, round) = match Options::new().read(path) {
        Ok(view) => (Some(bytes_of(&view.filter)), round_of(&view.notes)),
        Err(StoreError { reason: Reason::Blank, .. }) => (None, 0),
        Err(StoreError { reason: Reason::Io { source, .. }, .. })
            if source.kind() == io::ErrorKind::NotFound =>
        {
            (None, 0)
        }
        Err(error) => panic!("{error}"),
    };
    assert!(expected[round as usize] == bytes, "round {round} is not as it was committed");
    round
}

/// Plays the script from the round on disk to its end, on a disk that may fail; dies with it.
struct Play<'a> {
    path: PathBuf,
    disk: Arc<Faulty>,
    script: Script,
    /// Works in the background after every other round.
    held: Arc<Held>,
    expected: &'a [Option<Vec<u8>>],
}

impl Play<'_> {
    /// False if the process died on the way.
    fn to_the_end(&self) -> bool {
        loop {
            let disk: Arc<dyn Disk> = self.disk.clone();
            let begun = round_on_disk(&self.path, self.expected);
            match self.script.options(disk, &self.held).create(&self.path, self.script.make) {
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
        assert_eq!(round_of(store.notes()), begun);
        for round in begun + 1..=self.script.rounds {
            change(&mut store, round);
            while let Err(error) = commit(&mut store, round) {
                self.check_after_failure(round, &error);
                if self.disk.is_dead() {
                    return Some(false);
                }
                if matches!(error, StoreError { reason: Reason::Broken, .. }) {
                    return None;
                }
            }
            assert_eq!(round_on_disk(&self.path, self.expected), round);
            if round % 2 == 0 {
                self.held.release();
                assert_eq!(round_on_disk(&self.path, self.expected), round);
            }
            if round % 5 == 0 && self.script.background_from > 0 || round % 7 == 0 {
                return None;
            }
        }
        Some(true)
    }

    /// A failed commit leaves the state before it; or its own, and then it says so.
    fn check_after_failure(&self, round: u64, error: &StoreError) {
        let found = round_on_disk(&self.path, self.expected);
        let is_done = found == round;
        assert!(is_done || found + 1 == round, "{found} after {round}");
        if !matches!(error, StoreError { reason: Reason::Broken, .. }) {
            let is_told = matches!(error, StoreError { reason: Reason::Unsynced(_), .. });
            assert_eq!(is_done, is_told, "{:?}: {error}", self.disk.failed());
        }
    }
}

/// After a step that did nothing a second one may fail later, when the work is tried again. `./test` tries a sample of
/// the places, which differs from step to step, `./test --all` all of them.
fn thens(fails_at: usize, fault: Fault) -> Vec<Then> {
    let step = few_usual_or_all([40, 8, 1]);
    let places = if fault == Fault::Nothing { fails_at % step..24 } else { 0..1 };
    places.step_by(step).map(Then::Dies).chain([Then::Recovers]).collect()
}

/// What is in a folder beside a filter.
fn left_in(folder: &Path) -> Vec<OsString> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name != "seen.coua").collect()
}

fn fail_every_step_once(script: Script, least_steps: usize) {
    let expected = script.expected();
    let held = Arc::new(Held::default());
    let play = |path: &Path, disk: &Arc<Faulty>| {
        let (path, disk, held) = (path.to_owned(), disk.clone(), held.clone());
        Play { path, disk, script, held, expected: &expected }.to_the_end()
    };
    let count = |disk: &Faulty| disk.steps.lock().unwrap().len();
    let whole = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
    let folder = in_memory();
    let path = folder.path().join("seen.coua");
    assert!(play(&path, &whole));
    let steps = count(&whole);
    assert!(steps > least_steps, "{steps}");
    assert_eq!(held.done() > 1, script.background_from == 0, "{}", held.done());
    for fails_at in 0..steps {
        for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
            for then in thens(fails_at, fault) {
                let folder = in_memory();
                let path = folder.path().join("seen.coua");
                let disk = Faulty::new(fails_at, fault, then);
                let ended = play(&path, &disk);
                // Of a process that died no thread is left.
                held.release();
                assert!(ended || then != Then::Recovers, "{fails_at}: {fault:?}, {then:?}");
                // A process that dies takes its threads with it.
                held.release();
                let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
                assert!(play(&path, &disk));
                assert_eq!(round_on_disk(&path, &expected), script.rounds);
                let left = left_in(folder.path());
                assert!(left.is_empty(), "{fails_at}: {fault:?}, {then:?}: {left:?}");
            }
        }
    }
}

#[test]
fn every_step_fails_once_in_every_way() {
    fail_every_step_once(SCRIPT, 80);
}

#[test]
fn every_step_for_a_filter_that_forgets_fails_once_in_every_way() {
    fail_every_step_once(AGING, 40);
}

#[test]
fn every_step_of_a_background_snapshot_fails_once_in_every_way() {
    fail_every_step_once(BACKGROUND, 85);
}

/// A power cut forgets what was not synced: nothing gets its name before it is on the disk, and no
/// commit returns before its last step was a sync.
#[test]
fn nothing_is_renamed_before_it_is_synced() {
    let expected = SCRIPT.expected();
    let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
    let folder = in_memory();
    let path = folder.path().join("seen.coua");
    let mut store = options(disk.clone()).create(&path, empty).unwrap();
    for round in 1..=SCRIPT.rounds {
        change(&mut store, round);
        commit(&mut store, round).unwrap();
        let steps = disk.steps.lock().unwrap().clone();
        let last = |name| steps.iter().rposition(|step| *step == name);
        assert!(last("write") < last("sync").max(last("sync folder")));
    }
    let steps = disk.steps.lock().unwrap();
    let renames = steps.iter().enumerate().filter(|(_, step)| **step == "rename");
    for (at, _) in renames.clone() {
        assert_eq!(steps[at - 1], "sync");
        assert_eq!(steps[at + 1], "sync folder");
        let before = &steps[..at];
        let written = before.iter().rposition(|step| *step == "write").unwrap();
        assert!(before[written..].contains(&"sync"));
    }
    assert!(renames.count() >= 3, "a snapshot, more than once");
    assert_eq!(round_on_disk(&path, &expected), SCRIPT.rounds);
}
