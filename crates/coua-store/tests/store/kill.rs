//! A writer killed at any moment: the state is that of a commit, and includes every reported commit.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use coua::CuckooFilter;
use coua::window::Generations;
use coua_store::{Lock, Options, Wait};

use crate::samples::{
    bytes_of, change, change_in_memory, commit, committed, forgetful, hashes, renewing, round_of,
};

/// Hashes per commit.
const HASHES: u64 = 60;

/// Commits until it is killed; every commit is reported on standard output.
fn write_until_killed(path: &Path, kind: Kind) {
    let options = Options::new().max_log(8_000).background_from(kind.background_from);
    let mut store = options.create(path, kind.make).unwrap();
    let mut round = round_of(store.notes());
    loop {
        round += 1;
        change(&mut store, round, HASHES);
        commit(&mut store, round).unwrap();
        // Not `println`, which the test harness would capture.
        writeln!(std::io::stdout().lock(), "committed {round}").unwrap();
    }
}

/// What is written.
#[derive(Clone, Copy)]
struct Kind {
    make: fn() -> Generations,
    /// Filters of at least this size write snapshots in the background.
    background_from: u64,
}

const PLAIN: Kind = Kind { make: || CuckooFilter::new().into(), background_from: u64::MAX };
const FORGETFUL: Kind = Kind { make: forgetful, background_from: u64::MAX };
const RENEWING: Kind = Kind { make: renewing, background_from: u64::MAX };
const BACKGROUND: Kind = Kind { background_from: 0, ..PLAIN };
const FORGETFUL_BACKGROUND: Kind = Kind { background_from: 0, ..FORGETFUL };

fn kill_often(name: &str, kills: u64, kind: Kind) {
    let make = kind.make;
    if let Some(path) = std::env::var_os("COUA_STORE_TO_BE_KILLED") {
        write_until_killed(Path::new(&path), kind);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let (mut plain, mut played) = (make(), 0);
    for (kill, wait) in (0..kills).zip(hashes(1, kills)) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--include-ignored", name])
            .env("COUA_STORE_TO_BE_KILLED", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Once it is at work, it is killed within a few commits.
        let first = lines.find_map(|line| number_in(&line));
        std::thread::sleep(Duration::from_micros(wait.to_u64() % 15_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = lines.filter_map(|line| number_in(&line)).last().or(first).unwrap();
        let (round, bytes) = committed(&path);
        assert!(round == told || round == told + 1, "kill {kill}: {round} after {told}");
        for next in played + 1..=round {
            change_in_memory(&mut plain, next, HASHES);
        }
        played = round;
        assert!(bytes == bytes_of(&plain), "kill {kill}: round {round}");
        drop(Lock::take(&path, Wait::No).expect("its lock died with it"));
        if kill % 10 == 9 {
            // Not too large, so that kills hit snapshots as well as logs.
            std::fs::remove_file(&path).unwrap();
            (plain, played) = (make(), 0);
        }
    }
}

/// The number in a line; `None` for a line that was cut by the kill.
fn number_in(line: &str) -> Option<u64> {
    // The harness writes the test's name before the first line, without a line end.
    let (_, number) = line.rsplit_once("committed ")?;
    number.parse().ok()
}

#[cfg(unix)]
#[test]
fn fifty_kills() {
    kill_often("kill::fifty_kills", 50, PLAIN);
}

#[cfg(unix)]
#[test]
#[ignore = "about a minute"]
fn a_thousand_kills() {
    kill_often("kill::a_thousand_kills", 1_000, PLAIN);
}

#[cfg(unix)]
#[test]
fn thirty_kills_of_what_forgets() {
    kill_often("kill::thirty_kills_of_what_forgets", 30, FORGETFUL);
}

#[cfg(unix)]
#[test]
#[ignore = "about a minute"]
fn a_thousand_kills_of_what_forgets() {
    kill_often("kill::a_thousand_kills_of_what_forgets", 1_000, FORGETFUL);
}

#[cfg(unix)]
#[test]
fn thirty_kills_where_items_move() {
    kill_often("kill::thirty_kills_where_items_move", 30, RENEWING);
}

#[cfg(unix)]
#[test]
fn fifty_kills_in_the_background() {
    kill_often("kill::fifty_kills_in_the_background", 50, BACKGROUND);
}

#[cfg(unix)]
#[test]
#[ignore = "about a minute"]
fn a_thousand_kills_in_the_background() {
    kill_often("kill::a_thousand_kills_in_the_background", 1_000, BACKGROUND);
}

#[cfg(unix)]
#[test]
#[ignore = "about a minute"]
fn a_thousand_kills_of_what_forgets_in_the_background() {
    kill_often(
        "kill::a_thousand_kills_of_what_forgets_in_the_background",
        1_000,
        FORGETFUL_BACKGROUND,
    );
}
