//! Copies of a file that is being written, made byte by byte: a state that was committed, or an error.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use coua::CuckooFilter;
use coua::window::Generations;

use super::{Script, bytes_of, change, commit, hashes, in_memory, options, round_of};
use crate::fs::FileSystem;
use crate::{Options, Reason, StoreError};

const SCRIPT: Script = Script { make: growing, rounds: 500, ..super::SCRIPT };

fn growing() -> Generations {
    CuckooFilter::builder().capacity(400).hash_bits(50).build().unwrap().into()
}

/// Copies as a slow program does that knows nothing of filters: it waits at the end, and looks whether there
/// is more.
fn copy(from: &Path, at_once: usize) -> io::Result<Vec<u8>> {
    let (mut from, mut copy, mut bytes) = (File::open(from)?, Vec::new(), vec![0; at_once]);
    let mut ends = 0;
    while ends < 2 {
        let count = from.read(&mut bytes)?;
        copy.extend_from_slice(&bytes[..count]);
        if count == 0 {
            ends += 1;
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(copy)
}

/// Commits, takes back, and writes new snapshots, here and in the background.
fn write(path: &Path, last: &AtomicU64) {
    while last.load(Ordering::SeqCst) < SCRIPT.rounds {
        let round = last.load(Ordering::SeqCst);
        let background_from = if round.is_multiple_of(2) { 0 } else { u64::MAX };
        let options = options(Arc::new(FileSystem)).background_from(background_from);
        let mut store = options.create(path, SCRIPT.make).unwrap();
        for round in round + 1..=SCRIPT.rounds.min(round + 5) {
            change(&mut store, round);
            commit(&mut store, round).unwrap();
            last.store(round, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(1));
        }
        // Pieces as long as those of the next round, which come in their place.
        store.insert_batch(&hashes(round + 7)).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_copy_of_a_filter_at_work_is_a_commit_or_an_error() {
    let expected = SCRIPT.expected();
    let folder = in_memory();
    let (path, to) = (folder.path().join("seen.coua"), folder.path().join("copy"));
    let last = AtomicU64::new(0);
    let (mut whole, mut refused) = (0, 0);
    thread::scope(|scope| {
        let writer = scope.spawn(|| write(&path, &last));
        for at_once in [16, 100, 1_000].into_iter().cycle() {
            let before = last.load(Ordering::SeqCst);
            // A writer that has panicked makes the scope panic.
            if before == SCRIPT.rounds || writer.is_finished() {
                break;
            }
            let Ok(copied) = copy(&path, at_once) else { continue };
            fs::write(&to, copied).unwrap();
            match Options::new().read(&to) {
                Ok(view) => {
                    let round = round_of(&view.notes);
                    assert!(round >= before, "{round} after {before}");
                    let state = Some(bytes_of(&view.filter));
                    assert!(expected[round as usize] == state, "round {round}");
                    whole += 1;
                }
                Err(StoreError { reason: Reason::Damaged { .. }, .. }) => refused += 1,
                Err(StoreError { reason: Reason::Blank, .. }) => assert_eq!(before, 0),
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert!(whole > 50 && refused > 0, "{whole} copies are whole, {refused} are refused");
}
