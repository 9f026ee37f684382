//! Filters that forget: by arrival, by the records' own times, by number.

mod arrival;
mod commands;
mod large;
mod last_seen;
mod options;
mod room;
mod times;

use crate::support::{Folder, Repeats, Run, expected, lines, run_in, run_with};
use coua::CuckooFilter;
use coua::window::{Clock, Generations, Window};
use coua_store::{Lock, Notes, Options, Wait};
use std::path::Path;

/// Runs `dedup` with the filter `f.coua` and the records `text`.
fn dedup(folder: &Folder, text: &str, options: &[&str]) -> Run {
    let filter = folder.join("f.coua");
    run_with(text.as_bytes(), [&["dedup", "--filter", &filter], options].concat())
}

/// Writes the empty filter `f.coua`, whose window has another number of generations than those of the program.
fn made(folder: &Folder, window: Window) {
    write(folder, CuckooFilter::builder().build_window(window).unwrap());
}

fn write(folder: &Folder, filter: Generations) {
    let lock = Lock::take(Path::new(&folder.join("f.coua")), Wait::No).unwrap();
    Options::new().replace(lock, filter, Notes::default()).unwrap();
}

/// A window of hours, by arrival.
fn hours(length: u64, generations: u32) -> Window {
    Window::new(Clock::Arrival, length * 3_600_000, generations).unwrap()
}

fn info(folder: &Folder, options: &[&str]) -> serde_json::Value {
    run_in(folder, &[&["info", "--json", "f.coua"], options].concat()).json()
}

#[test]
fn threads_change_nothing() {
    let text = lines(60_000, Repeats::Many);
    let timed: String = String::from_utf8_lossy(&text)
        .lines()
        .enumerate()
        .map(|(n, line)| format!("{} {line}\n", 1_780_000_000 + n / 100 - n * 31 % 60))
        .collect::<Vec<_>>()
        .concat();
    for options in [
        &["--window", "5m", "-k2", "--time-field", "1"][..],
        &["--window", "3000-items", "-k2"],
        &["--window", "5m", "-k2", "COUA_NOW", "1780000000"],
        &["--window", "5m", "-k2", "--time-field", "1", "--window-by", "last"],
        &["--window", "3000-items", "-k2", "--window-by", "last"],
    ] {
        let results: Vec<_> = ["1", "2", "3", "5"]
            .iter()
            .map(|threads| {
                let folder = Folder::new();
                let run = dedup(&folder, &timed, &[options, &["-j", threads]].concat());
                (run.good(), folder.read("f.coua"))
            })
            .collect();
        assert!(results.windows(2).all(|two| two[0] == two[1]), "{options:?}");
        let in_memory = run_with(timed.as_bytes(), [&["dedup"], options].concat()).good();
        assert!(in_memory == results[0].0, "{options:?}: a file changes nothing");
    }
    let all = run_with(&text, ["dedup", "--window", "7d"]).good();
    assert!(all == expected(&text), "nothing is forgotten in so short a time");
}
