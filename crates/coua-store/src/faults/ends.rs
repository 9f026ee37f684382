//! A run that ends: each step of its last commits made to fail once.

use std::path::Path;
use std::sync::Arc;

use coua::window::Generations;

use super::{
    Fault, Faulty, Then, bytes_of, change, change_in_memory, empty, in_memory, left_in, options,
};
use crate::fs::Disk;
use crate::{Options, Reason, StoreError};

/// Commits and ends. What has failed, and in which round.
fn end_twice(disk: Arc<dyn Disk>, path: &Path) -> Result<(), (usize, StoreError)> {
    let at = |round| move |error| (round, error);
    let options = options(disk);
    let mut store = options.create(path, empty).map_err(at(1))?;
    change(&mut store, 1);
    store.finish().map_err(at(1))?;
    let mut store = options.write(path).map_err(at(2))?;
    change(&mut store, 2);
    store.commit().map_err(at(2))?;
    change(&mut store, 3);
    store.commit().map_err(at(3))?;
    change(&mut store, 4);
    store.finish().map(drop).map_err(at(4))
}

#[test]
fn every_step_of_an_end_fails_once_in_every_way() {
    let mut filter = Generations::from(empty());
    let mut states = vec![None];
    for round in 1..=4 {
        change_in_memory(&mut filter, round);
        states.push(Some(bytes_of(&filter)));
    }
    for fails_at in 0.. {
        for fault in [Fault::Nothing, Fault::Half, Fault::Torn, Fault::Done] {
            for then in [Then::Recovers, Then::Dies(0)] {
                let folder = in_memory();
                let path = folder.path().join("seen.coua");
                let disk = Faulty::new(fails_at, fault, then);
                let ended = end_twice(disk.clone(), &path);
                let found = Options::new().read(&path).ok().map(|view| bytes_of(&view.filter));
                let what = format!("{fails_at}: {fault:?}, {then:?}");
                let expected = match &ended {
                    Ok(()) => 4,
                    Err((round, StoreError { reason: Reason::Unsynced(_), .. })) => *round,
                    Err((round, _)) => round - 1,
                };
                assert!(found == states[expected], "{what}: {ended:?}");
                let is_left = match (disk.failed(), fault) {
                    (Some("remove"), _) | (Some("create"), Fault::Done) => true,
                    _ => then != Then::Recovers,
                };
                let left = left_in(folder.path());
                assert!(is_left || left.is_empty(), "{what}: {ended:?}: {left:?}");
                if ended.is_ok() && disk.failed().is_none() {
                    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
                    assert!(fails_at > 25, "{fails_at}");
                    return;
                }
            }
        }
    }
}

#[test]
fn an_end_takes_no_space_for_a_snapshot_after_it() {
    let folder = in_memory();
    let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
    let mut store = options(disk.clone()).create(folder.path().join("seen.coua"), empty).unwrap();
    change(&mut store, 1);
    store.finish().unwrap();
    assert_eq!(disk.steps.lock().unwrap().last(), Some(&"sync folder"));
}
