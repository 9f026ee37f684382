//! How long a commit stops the work while a filter gets new snapshots: in the background, and at once.
//!
//! The work is inserts and removals of the same keys, in rounds of a two-hundredth of the items with a
//! commit each, so that the filter stays as large as it is and the log reaches its limit (a quarter of
//! the snapshot) after some tens of them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use coua::window::Generations;
use coua_store::{Access, Options};

use crate::Settings;
use crate::filters::{Cache, Filter, hashes, inode};
use crate::measure::peak;

/// The word by which this program calls itself.
pub(crate) const JOB: &str = "stalled";

/// Rounds for all the items.
const PARTS: u64 = 200;

pub(crate) fn run(settings: &Settings) {
    let filter = Filter::new(settings.items, &settings.folder);
    println!(
        "{} items, {} bytes, {} new snapshots each",
        filter.items, filter.bytes, settings.rounds
    );
    println!();
    println!(
        "| snapshots | commits | longest commit ms | median | longest round of work ms | median | all s | log MB at most | memory MB at most |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for way in ["in the background", "at once"] {
        filter.restore(Cache::Warm);
        let child = Command::new(std::env::current_exe().unwrap())
            .args([JOB, way])
            .arg(&filter.path)
            .args([filter.items.to_string(), settings.rounds.to_string()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{said}");
        println!("| {way} | {} |", String::from_utf8(child.stdout).unwrap().trim());
    }
}

/// Works until there were so many new snapshots, and prints what it took.
pub(crate) fn stalled(arguments: &[String]) {
    let [way, path, items, snapshots] = arguments else { panic!("a way, a path and two numbers") };
    let [items, snapshots] = [items, snapshots].map(|word| word.parse::<u64>().unwrap());
    let from = if way == "in the background" { 0 } else { u64::MAX };
    let (path, count) = (Path::new(path), (items / PARTS).max(1));
    let mut store = Options::new().access(Access::Load).background_from(from).write(path).unwrap();
    let (mut works, mut commits) = (Vec::new(), Vec::new());
    let (mut seen, mut log) = (0, 0);
    let start = Instant::now();
    for round in 0u64.. {
        let (first, before) = (items + round / 2 * count, inode(path));
        let begin = Instant::now();
        hashes(first, count, |block| {
            if round % 2 == 0 {
                store.insert_batch(block).unwrap();
            } else {
                store.remove_batch(block);
            }
        });
        let worked = Instant::now();
        store.set_note("round", &(round + 1).to_le_bytes()).unwrap();
        store.commit().unwrap();
        works.push((worked - begin).as_secs_f64() * 1e3);
        commits.push(worked.elapsed().as_secs_f64() * 1e3);
        log = log.max(fs::metadata(path).unwrap().len().saturating_sub(filter_bytes(path)));
        seen += u64::from(inode(path) != before);
        if seen == snapshots {
            break;
        }
    }
    let all = start.elapsed().as_secs_f64();
    let count = commits.len();
    let [(longest, median), (longest_work, median_work)] = [commits, works].map(longest_and_median);
    let [log, memory] = [log as f64 / 1e6, peak() / 1e6];
    println!(
        "{count} | {longest:.1} | {median:.1} | {longest_work:.1} | {median_work:.1} | {all:.1} | {log:.1} | {memory:.0}"
    );
}

fn longest_and_median(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() - 1], values[values.len() / 2])
}

/// Bytes of the snapshot.
fn filter_bytes(path: &Path) -> u64 {
    Generations::snapshot_bytes(&File::open(path).unwrap()).unwrap()
}
