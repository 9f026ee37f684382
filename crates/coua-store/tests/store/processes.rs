//! Several processes on one filter: nothing is lost or overwritten, and a killed process blocks no other.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coua::CuckooFilter;
use coua_store::{Lock, Options, Reason, StoreError, Wait};

use crate::files::names_in;
use crate::samples::{bytes_of, change, change_in_memory, commit, committed, hashes, round_of};

/// An environment variable for a process of a test: the filter, and further arguments.
const PATH: &str = "COUA_STORE_PROCESS";
const PART: &str = "COUA_STORE_PART";

/// The filter, if this is such a process.
fn part() -> Option<(std::path::PathBuf, u64)> {
    let path = std::env::var_os(PATH)?;
    Some((path.into(), std::env::var(PART).unwrap().parse().unwrap()))
}

/// Starts this test in a process of its own.
fn start(name: &str, path: &Path, part: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--include-ignored", name])
        .env(PATH, path)
        .env(PART, part.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn all_succeed(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Adds keys of its own, in one of two ways.
fn add_own(path: &Path, part: u64, commits: u64) {
    for number in 0..commits {
        let max_log = [0, 3_000, 1 << 20][(part + number) as usize % 3];
        let options = Options::new().max_log(max_log).background_from(part % 2 * u64::MAX);
        let mut store = options.create(path, CuckooFilter::new).unwrap();
        store.insert_batch(&hashes(1_000 * part + number, 50)).unwrap();
        let round = round_of(store.notes()) + 1;
        commit(&mut store, round).unwrap();
        if number % 2 == 0 {
            store.finish().unwrap();
        }
    }
}

/// Creates the filter and adds to it, with `processes` processes at once.
fn add_at_once(name: &str, processes: u64, commits: u64) {
    if let Some((path, part)) = part() {
        return add_own(&path, part, commits);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    all_succeed((0..processes).map(|part| start(name, &path, part)).collect());
    let view = Options::new().read(&path).unwrap();
    assert_eq!(round_of(&view.notes), processes * commits);
    assert_eq!(view.filter.len(), processes * commits * 50);
    for part in 0..processes {
        for number in 0..commits {
            let present = view.filter.contains_batch(&hashes(1_000 * part + number, 50));
            assert!(present.iter().all(|is_present| *is_present), "process {part}, {number}");
        }
    }
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

/// The store was created by a relative path.
#[test]
fn a_change_of_the_working_directory_does_not_move_a_new_filter() {
    if let Some((path, _)) = part() {
        std::env::set_current_dir(path.parent().unwrap()).unwrap();
        let mut store =
            Options::new().create(path.file_name().unwrap(), CuckooFilter::new).unwrap();
        std::env::set_current_dir("/").unwrap();
        store.insert("a").unwrap();
        store.commit().unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let name = "processes::a_change_of_the_working_directory_does_not_move_a_new_filter";
    all_succeed(vec![start(name, &path, 0)]);
    assert!(Options::new().read(&path).unwrap().filter.contains("a"));
}

#[test]
fn two_create_the_filter_at_once() {
    for _ in 0..10 {
        add_at_once("processes::two_create_the_filter_at_once", 2, 1);
        if part().is_some() {
            return;
        }
    }
}

#[test]
fn twenty_at_once() {
    add_at_once("processes::twenty_at_once", 20, 5);
}

#[test]
#[ignore = "about a minute"]
fn twenty_at_once_for_a_minute() {
    let name = "processes::twenty_at_once_for_a_minute";
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        add_at_once(name, 20, 40);
        if part().is_some() {
            return;
        }
    }
}

/// Reports that it holds the lock, and waits.
fn hold(path: &Path) -> ! {
    let _store = Options::new().create(path, CuckooFilter::new).unwrap();
    writeln!(std::io::stdout().lock(), "opened").unwrap();
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// A process killed while creating the filter leaves its empty file, which does no harm.
#[cfg(unix)]
#[test]
fn a_killed_creator_is_in_nobodys_way() {
    if let Some((path, _)) = part() {
        hold(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    for _ in 0..3 {
        let name = "processes::a_killed_creator_is_in_nobodys_way";
        let mut child = start(name, &path, 0);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("opened")));
        let busy = Options::new().wait(Wait::No).create(&path, CuckooFilter::new);
        assert!(matches!(busy, Err(StoreError { reason: Reason::Busy, .. })));
        assert!(matches!(
            Options::new().read(&path),
            Err(StoreError { reason: Reason::Blank, .. })
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        assert_eq!(names_in(folder.path()).len(), 2, "and what was to be the filter");
        assert!(matches!(
            Options::new().read(&path),
            Err(StoreError { reason: Reason::Blank, .. })
        ));
        assert!(matches!(
            Options::new().write(&path),
            Err(StoreError { reason: Reason::Blank, .. })
        ));
    }
    let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
    store.insert("a").unwrap();
    store.finish().unwrap();
    assert!(Options::new().read(&path).unwrap().filter.contains("a"));
    assert_eq!(names_in(folder.path()), ["seen.coua"]);
}

/// A waiting writer works on the file that has the name when its wait ends.
#[test]
fn a_waiting_writer_finds_what_has_replaced_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let make = || CuckooFilter::builder().capacity(1_000).hash_bits(50).build().unwrap();
    let mut plain = make().into();
    for round in (1..30).step_by(3) {
        let mut store = Options::new().create(&path, make).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut store = Options::new().write(&path).unwrap();
                change(&mut store, round + 2, 50);
                commit(&mut store, round + 2).unwrap();
            });
            std::thread::sleep(Duration::from_millis(5));
            for round in [round, round + 1] {
                change(&mut store, round, 50);
                crate::samples::set_round(&mut store, round);
                store.commit_snapshot().unwrap();
            }
            drop(store);
            waiting.join().unwrap();
        });
        for round in round..round + 3 {
            change_in_memory(&mut plain, round, 50);
        }
        assert!(committed(&path) == (round + 2, bytes_of(&plain)));
    }
}

/// A mapping of the file would hold the lock as long as it exists.
#[test]
fn who_has_finished_holds_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut large = CuckooFilter::new();
    large.insert_batch(&hashes(1, 1_000_000)).unwrap();
    large.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    for is_rewritten in [false, true] {
        let mut store = Options::new().expecting(1).write(&path).unwrap();
        store.insert("a").unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::take(&path, Wait::UntilFree).map(drop));
            std::thread::sleep(Duration::from_millis(20));
            if is_rewritten {
                store.commit_snapshot().unwrap();
            }
            let filter = store.finish().unwrap();
            let begin = Instant::now();
            while !waiting.is_finished() && begin.elapsed() < Duration::from_secs(240) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let is_free = waiting.is_finished();
            assert!(filter.contains("a"));
            // It would never end.
            drop(filter);
            assert!(is_free, "rewritten: {is_rewritten}");
        });
    }
}
