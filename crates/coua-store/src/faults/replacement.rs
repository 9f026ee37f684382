//! A filter is replaced by another one: every step fails once, or the power is cut after it. The old filter is there,
//! or the new one, never a mixture, also where the old one is damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::power::Volatile;
use super::{Fault, Faulty, Then, bytes_of, empty, hashes, in_memory, left_in, options};
use crate::fs::Disk;
use crate::{Lock, Notes, Options, Reason, StoreError, Wait};

/// A filter with a log and a note. Returns its path, and its bytes as they were committed.
fn old(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("seen.coua");
    let mut store = Options::new().create(&path, empty).unwrap();
    store.commit().unwrap();
    store.insert_batch(&hashes(1)).unwrap();
    store.set_note("a", b"note").unwrap();
    store.commit().unwrap();
    let bytes = bytes_of(store.filter());
    (path, bytes)
}

fn new() -> coua::CuckooFilter {
    let mut filter = empty();
    filter.insert_batch(&hashes(9)).unwrap();
    filter
}

fn replace(disk: Arc<dyn Disk>, path: &Path) -> Result<(), StoreError> {
    let lock = Lock::take(path, Wait::No)?;
    options(disk).replace(lock, new(), Notes::default())
}

/// The bytes and the number of notes that a reader finds.
fn found(path: &Path) -> Option<(Vec<u8>, usize)> {
    let view = Options::new().read(path).ok()?;
    Some((bytes_of(&view.filter), view.notes.len()))
}

#[test]
fn every_step_of_a_replacement_fails_once_in_every_way() {
    let new = Some((bytes_of(&new().into()), 0));
    let mut failures = 0;
    for is_ruined in [false, true] {
        for step in 0..16 {
            for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
                let folder = in_memory();
                let (path, bytes) = old(folder.path());
                if is_ruined {
                    let mut file = fs::read(&path).unwrap();
                    let first_frame = bytes_of(&empty().into()).len();
                    file[first_frame + 60] ^= 1;
                    fs::write(&path, file).unwrap();
                }
                let old = (!is_ruined).then_some((bytes, 1));
                let disk = Faulty::new(step, fault, Then::Dies(0));
                let replaced = replace(disk, &path);
                let what = format!("{is_ruined}, {step}: {fault:?}: {replaced:?}");
                failures += usize::from(replaced.is_err());
                let is_new = matches!(
                    &replaced,
                    Ok(()) | Err(StoreError { reason: Reason::Unsynced(_), .. })
                );
                let expected = if is_new { &new } else { &old };
                for _ in 0..2 {
                    assert!(&found(&path) == expected, "{what}");
                    // Which removes what the dead writer has left.
                    assert_eq!(Options::new().write(&path).is_ok(), expected.is_some(), "{what}");
                }
                assert!(left_in(folder.path()).is_empty(), "{what}: {:?}", left_in(folder.path()));
            }
        }
    }
    assert!(failures > 2 * 4 * 5, "{failures}");
}

#[test]
fn the_power_is_cut_after_every_step_of_a_replacement() {
    let folder = in_memory();
    let (path, committed) = old(folder.path());
    let new = bytes_of(&new().into());
    let disk = Volatile::new(folder.path());
    disk.all_is_on_the_disk();
    disk.may_be([Some(committed), Some(new.clone())]);
    replace(disk.clone(), &path).unwrap();
    disk.may_be([Some(new.clone()), Some(new)]);
    disk.cut_power();
    assert!(disk.cuts() > 5, "{}", disk.cuts());
    assert_eq!(left_in(folder.path()).len(), 0);
}
