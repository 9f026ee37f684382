//! The two-file form is taken over, or replaced: every step fails once, the process dies after it, or the power
//! is cut. What was committed is there at any moment, once, and in the end the journal is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coua::window::Generations;
use coua::{CuckooFilter, KeyHash, Load};

use super::power::Volatile;
use super::{Fault, Faulty, Then, bytes_of, empty, hashes, in_memory, left_in, options};
use crate::disk::Disk;
use crate::{Lock, Options, Reason, Runs, Store, StoreError, Wait};

#[expect(dead_code, reason = "it writes logs too")]
#[path = "../../tests/store/text.rs"]
mod text;

/// A filter in two files, and what is committed in it.
#[derive(Clone, Debug)]
struct Pair {
    name: String,
    snapshot: Vec<u8>,
    journal: Vec<u8>,
    committed: Vec<u8>,
    records: u64,
}

/// Copies, which repeated would count twice.
fn changes(round: u64) -> Vec<u8> {
    let hashes: Vec<u64> = hashes(round).iter().map(|hash| hash.to_u64()).collect();
    text::run(1, &hashes)
}

fn with(mut filter: CuckooFilter, rounds: &[u64]) -> CuckooFilter {
    for round in rounds {
        filter.insert_batch(&hashes(*round)).unwrap();
    }
    filter
}

fn snapshot(filter: CuckooFilter) -> Vec<u8> {
    bytes_of(&filter.into())
}

impl Pair {
    /// Two commits, and a third that was interrupted.
    fn of_commits(version: u8) -> Self {
        let old = snapshot(with(empty(), &[1]));
        let journal = [
            text::journal_header(version, &old),
            text::frame(1, 0, &old, &changes(2)),
            text::frame(2, 1, &old, &text::progress(1, b"job", Some("in"))),
            text::frame(1, 2, &old, &changes(3)),
            text::frame(2, 3, &old, &text::progress(2, b"job", Some("in"))),
            text::frame(1, 4, &old, &changes(4)),
        ];
        let committed = snapshot(with(empty(), &[1, 2, 3]));
        let name = format!("version {version}");
        Self { name, snapshot: old, journal: journal.concat(), committed, records: 2 }
    }

    /// A checkpoint has come true: its snapshot is there, and the journal of the one before.
    fn of_a_checkpoint(version: u8) -> Self {
        let old = snapshot(with(empty(), &[1]));
        let mut journal = [
            text::journal_header(version, &old),
            text::frame(1, 0, &old, &changes(2)),
            text::frame(2, 1, &old, &text::progress(1, b"job", Some("in"))),
        ]
        .concat();
        let from = journal.len() as u64;
        // Since version 2 it may lack what follows a commit; before, it lacks nothing.
        let (rounds, from): (&[u64], &[u64]) =
            if version > 1 { (&[1, 2], &[from]) } else { (&[1, 2, 3], &[]) };
        let next = snapshot(with(empty(), rounds));
        journal.extend(text::frame(1, 2, &old, &changes(3)));
        let named = text::numbers(&[text::whole_checksum(&next), next.len() as u64]);
        let progress = text::progress(2, b"job", Some("in"));
        let checkpoint = [named, text::numbers(from), progress].concat();
        journal.extend(text::frame(3, 3, &old, &checkpoint));
        let committed = snapshot(with(empty(), &[1, 2, 3]));
        let name = format!("a checkpoint of version {version}");
        Self { name, snapshot: next, journal, committed, records: 2 }
    }

    fn all() -> [Self; 4] {
        [
            Self::of_commits(1),
            Self::of_commits(2),
            Self::of_a_checkpoint(1),
            Self::of_a_checkpoint(2),
        ]
    }

    fn put(&self, folder: &Path) -> PathBuf {
        let path = folder.join("seen.coua");
        fs::write(&path, &self.snapshot).unwrap();
        fs::write(folder.join("seen.coua.journal"), &self.journal).unwrap();
        path
    }

    /// The filter's bytes before, and after each of the two commits.
    fn states(&self) -> [Vec<u8>; 3] {
        let mut filter = Load::new().bytes::<Generations>(&self.committed).unwrap();
        let mut states = [self.committed.clone(), vec![], vec![]];
        for round in [1, 2] {
            filter.insert_batch(&more(round)).unwrap();
            states[round as usize] = bytes_of(&filter);
        }
        states
    }
}

/// What is committed after the pair.
fn more(round: u64) -> Vec<KeyHash> {
    hashes(20 + round)
}

/// Commits twice. What went wrong, and in which of the two.
fn commit_twice(disk: Arc<dyn Disk>, path: &Path) -> Result<(), (usize, StoreError)> {
    let mut store = options(disk).expecting(0).write(path).map_err(|error| (1, error))?;
    for round in [1, 2] {
        store.insert_batch(&more(round)).unwrap();
        store.commit().map_err(|error| (round as usize, error))?;
    }
    Ok(())
}

/// The bytes that a reader finds, whatever the number of runs.
fn found(path: &Path) -> Vec<u8> {
    let view = Options::new().read(path).unwrap();
    bytes_of(&view.filter)
}

#[test]
fn every_step_of_a_takeover_fails_once_in_every_way() {
    for pair in Pair::all() {
        let states = pair.states();
        let mut steps = 0..;
        let is_over = |fails_at, fault, then| {
            let folder = in_memory();
            let path = pair.put(folder.path());
            assert!(found(&path) == states[0]);
            let disk = Faulty::new(fails_at, fault, then);
            let done = commit_twice(disk.clone(), &path);
            let what = format!("{}, {fails_at}: {fault:?}, {then:?}: {done:?}", pair.name);
            let expected = match &done {
                Ok(()) => 2,
                Err((round, StoreError { reason: Reason::Unsynced(_), .. })) => *round,
                Err((round, _)) => round - 1,
            };
            assert!(found(&path) == states[expected], "{what}");
            assert_eq!(Store::read(&path).unwrap().runs.get(1).unwrap().records, pair.records);
            // Whoever writes next finds the same, and leaves one file.
            let mut store = Store::open(&path).unwrap();
            assert!(bytes_of(store.filter()) == states[expected], "{what}");
            let round = 1 + expected.min(1) as u64;
            store.insert_batch(&more(round)).unwrap();
            store.commit().unwrap();
            let after = bytes_of(store.filter());
            drop(store);
            assert!(
                found(&path) == after && (expected == 2 || after == states[expected + 1]),
                "{what}"
            );
            assert!(left_in(folder.path()).is_empty(), "{what}: {:?}", left_in(folder.path()));
            done.is_ok() && disk.failed().is_none()
        };
        let last = steps.find(|fails_at| {
            let mut is_last = false;
            for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
                for then in [Then::Recovers, Then::Dies(0), Then::Dies(1), Then::Dies(2)] {
                    is_last = is_over(*fails_at, fault, then);
                }
            }
            is_last
        });
        assert!(last > Some(6), "{}: {last:?}", pair.name);
    }
}

#[test]
fn the_power_is_cut_after_every_step_of_a_takeover() {
    for pair in Pair::all() {
        let states = pair.states();
        let folder = in_memory();
        let path = pair.put(folder.path());
        let disk = Volatile::new(folder.path());
        disk.all_is_on_the_disk();
        disk.may_be([0, 0].map(|round| Some(states[round].clone())));
        let mut store = options(disk.clone()).write(&path).unwrap();
        for round in [1, 2] {
            disk.may_be([round - 1, round].map(|round| Some(states[round].clone())));
            store.insert_batch(&more(round as u64)).unwrap();
            store.commit().unwrap();
            disk.may_be([round, round].map(|round| Some(states[round].clone())));
            disk.cut_power();
        }
        assert!(disk.cuts() > 8, "{}", disk.cuts());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "the filter, and its next snapshot"
        );
    }
}

/// Whatever fails, nobody finds the old snapshot without its journal, which would be a filter that has forgotten
/// something, nor the new one with it. Also if the journal cannot be read.
#[test]
fn every_step_of_a_replacement_fails_once_in_every_way() {
    let new = snapshot(with(empty(), &[9]));
    for mut pair in Pair::all() {
        for is_ruined in [false, true] {
            if is_ruined {
                let middle = pair.journal.len() / 2;
                pair.journal[middle] ^= 1;
            }
            let old = (!is_ruined).then(|| pair.committed.clone());
            for (fails_at, fault) in steps_and_faults(16) {
                let folder = in_memory();
                let path = pair.put(folder.path());
                let disk = Faulty::new(fails_at, fault, Then::Dies(0));
                let replaced = replace(disk, &path);
                let what =
                    format!("{}, {is_ruined}, {fails_at}: {fault:?}: {replaced:?}", pair.name);
                let is_new = matches!(
                    &replaced,
                    Ok(()) | Err(StoreError { reason: Reason::Unsynced(_), .. })
                );
                let expected = if is_new { Some(&new) } else { old.as_ref() };
                for _ in 0..2 {
                    let view = Options::new().read(&path).ok();
                    let runs = view.as_ref().map_or(0, |view| view.runs.len());
                    let view = view.map(|view| bytes_of(&view.filter));
                    assert!(view.as_ref() == expected, "{what}");
                    assert_eq!(runs, usize::from(expected.is_some() && !is_new), "{what}");
                    // Which removes a journal that has stayed.
                    assert_eq!(Store::open(&path).is_ok(), expected.is_some(), "{what}");
                }
                let is_left = folder.path().join("seen.coua.journal").exists();
                assert_eq!(is_left, !is_new, "{what}");
            }
        }
    }
}

fn steps_and_faults(steps: usize) -> impl Iterator<Item = (usize, Fault)> {
    let faults = [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done];
    (0..steps).flat_map(move |step| faults.map(|fault| (step, fault)))
}

fn replace(disk: Arc<dyn Disk>, path: &Path) -> Result<(), StoreError> {
    let lock = Lock::take(path, Wait::No)?;
    options(disk).replace(lock, with(empty(), &[9]), Runs::default())
}

#[test]
fn the_power_is_cut_after_every_step_of_a_replacement() {
    let new = snapshot(with(empty(), &[9]));
    for pair in Pair::all() {
        let folder = in_memory();
        let path = pair.put(folder.path());
        let disk = Volatile::new(folder.path());
        disk.all_is_on_the_disk();
        disk.may_be([Some(pair.committed.clone()), Some(new.clone())]);
        replace(disk.clone(), &path).unwrap();
        disk.may_be([Some(new.clone()), Some(new.clone())]);
        disk.cut_power();
        assert!(disk.cuts() > 8, "{}", disk.cuts());
        assert_eq!(left_in(folder.path()).len(), 0);
    }
}
