//! Runs that are killed repeatedly, at any moment.

use super::{ADDS, DEDUPS, Kind, LARGE, PACKED, REMOVES, SHARDS, TWO_PASSES, Trial, WINDOWS};
use crate::support::{try_send, wait};
use coua_dev::cases::{few_usual_or_all, sample};
use rustix::process::Signal;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A sequence of numbers below `bound`, the same every time.
fn numbers(bound: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |n| {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % bound
    })
}

/// The number of runs that were killed, and of first attempts among them.
#[derive(Debug, Default)]
struct Killed {
    all: u32,
    before_outputs: u32,
    after: u32,
}

/// Kills runs, and those that resume them, at moments spread over their whole time; some get SIGTERM.
fn kill_and_resume(kinds: &'static [Kind], kills: u32, count: u64) {
    let kills = few_usual_or_all([kills / 3, kills, kills]);
    kill_until(|killed| killed.all >= kills, kinds, count);
}

/// The same, until it is enough.
fn kill_until(is_enough: impl Fn(&Killed) -> bool, kinds: &'static [Kind], count: u64) {
    let kinds: Vec<_> = sample(kinds, [3, 1]).collect();
    let count = few_usual_or_all([count / 4, count, count]);
    let mut references: Vec<(Duration, Vec<Option<Vec<u8>>>)> = kinds
        .iter()
        .map(|kind| {
            let (trial, start) = (Trial::new(kind, count), Instant::now());
            trial.end(&[]);
            let time = start.elapsed();
            let quick = Trial::new(kind, count);
            quick.ended(quick.start_with(&["--checkpoint-every", "1000"]));
            let results = trial.results();
            assert!(results == quick.results(), "checkpoints change nothing");
            (time, results)
        })
        .collect();
    let mut killed = Killed::default();
    for (round, kind) in kinds.iter().cycle().take(10_000).enumerate() {
        let (time, reference) = &mut references[round % kinds.len()];
        let (trial, mut is_first) = (Trial::new(kind, count), true);
        let most = u64::try_from(time.as_micros()).unwrap();
        for wait_for in numbers(most).skip(round * 10).take(8) {
            let start = Instant::now();
            let mut child = trial.start(if is_first { &[] } else { &["--resume"] });
            if ends_within(&mut child, Duration::from_micros(wait_for)) {
                // The machine was busier before.
                *time = start.elapsed().min(*time);
            } else if wait_for % 3 == 0 {
                // It may have ended already.
                try_send(&child, Signal::TERM);
            } else {
                child.kill().unwrap();
            }
            let status = wait(&mut child);
            killed.all += u32::from(status.signal().is_some());
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert_eq!(said, "", "{}: round {round}", kind.name);
            if status.success() {
                break;
            }
            if is_first {
                let outputs = ["out", "out.zst", "out.gz"];
                let has_begun = outputs.iter().any(|name| trial.folder.has(name));
                *(if has_begun { &mut killed.after } else { &mut killed.before_outputs }) += 1;
            }
            is_first = false;
            assert!(status.signal().is_some(), "{}: {status}", kind.name);
        }
        // If everything is already done, this does nothing.
        trial.end(&["--resume"]);
        assert!(trial.results() == *reference, "{}: round {round}", kind.name);
        if is_enough(&killed) {
            return;
        }
    }
    panic!("too few were killed: {killed:?}");
}

/// Runs in two passes, killed in either.
fn kill_in_both_passes(kills: u32, count: u64) {
    let is_enough =
        |killed: &Killed| killed.all >= kills && killed.before_outputs > 0 && killed.after > 0;
    kill_until(is_enough, &TWO_PASSES, count);
}

/// Waits for this time, or until the program has ended; returns whether it has.
fn ends_within(child: &mut Child, time: Duration) -> bool {
    let start = Instant::now();
    while let Some(left) = time.checked_sub(start.elapsed()) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        sleep(left.min(Duration::from_millis(1)));
    }
    false
}

#[test]
fn twenty_kills() {
    kill_and_resume(&DEDUPS, 20, 200_000);
}

#[test]
fn ten_kills_of_compressed_outputs() {
    kill_and_resume(&PACKED, 10, 60_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills_of_compressed_outputs() {
    kill_and_resume(&PACKED, 1_000, 200_000);
}

#[test]
fn twenty_kills_in_two_passes() {
    kill_in_both_passes(20, 60_000);
}

#[test]
#[ignore = "some minutes"]
fn two_hundred_kills_in_two_passes() {
    kill_in_both_passes(200, 200_000);
}

#[test]
fn ten_kills_of_shards() {
    kill_and_resume(&SHARDS, 10, 60_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills_of_shards() {
    kill_and_resume(&SHARDS, 1_000, 200_000);
}

#[test]
fn ten_kills_of_add() {
    kill_and_resume(&ADDS, 10, 200_000);
}

#[test]
fn ten_kills_of_remove() {
    kill_and_resume(&REMOVES, 10, 200_000);
}

#[test]
fn ten_kills_of_filters_that_forget() {
    kill_and_resume(&WINDOWS, 10, 200_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills_of_filters_that_forget() {
    kill_and_resume(&WINDOWS, 1_000, 60_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills() {
    kill_and_resume(&DEDUPS, 1_000, 200_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills_of_add() {
    kill_and_resume(&ADDS, 1_000, 100_000);
}

#[test]
#[ignore = "some minutes"]
fn a_hundred_kills_with_snapshots_in_the_background() {
    kill_and_resume(&LARGE, 100, 1_000_000);
}

#[test]
#[ignore = "some minutes"]
fn a_thousand_kills_of_remove() {
    kill_and_resume(&REMOVES, 1_000, 100_000);
}
