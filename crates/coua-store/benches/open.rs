//! What it costs to add a few keys to a large filter file, mapped and read.
//!
//! `cargo bench -p coua-store --bench open -- [items] [rounds] [folder]` (default 10,000,000, 5 and the
//! system's temporary folder). For each number of changes: seconds to open, change and commit, and
//! bytes of journal or snapshot written; medians over the rounds, which alternate. On Linux, as root,
//! `cold` after the folder empties the page cache before each opening.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coua::{CuckooFilter, KeyHash};
use coua_store::{Access, Options, Progress};

const CHANGES: [u64; 5] = [100, 10_000, 100_000, 1_000_000, 10_000_000];

/// The n-th of a row of distinct uniform hashes (`SplitMix64`).
fn hash(n: u64) -> KeyHash {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    KeyHash::from_u64(z ^ (z >> 31))
}

fn insert(count: u64, first: u64, mut each: impl FnMut(&[KeyHash])) {
    let mut block = Vec::new();
    for begin in (first..first + count).step_by(4096) {
        block.clear();
        block.extend((begin..(begin + 4096).min(first + count)).map(hash));
        each(&block);
    }
}

/// Seconds to open, to change and to commit, and megabytes written.
fn once(path: &Path, access: Access, count: u64, items: u64) -> [f64; 4] {
    let mut start = Instant::now();
    let mut lap = || std::mem::replace(&mut start, Instant::now()).elapsed().as_secs_f64();
    let mut store = Options::new().access(access).expecting(count).write(path).unwrap();
    let open = lap();
    insert(count, items, |block| store.insert_hash_batch(block).unwrap());
    let change = lap();
    let modified = || fs::metadata(path).unwrap().modified().unwrap();
    let before = modified();
    lap();
    store.commit(&Progress::default()).unwrap();
    let commit = lap();
    let journal = path.with_extension("coua.journal");
    let mut written = fs::metadata(&journal).unwrap().len();
    if modified() != before {
        written += fs::metadata(path).unwrap().len();
    }
    [open, change, commit, written as f64 / 1e6]
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |at: usize, default| arguments.get(at).map_or(default, |n| n.parse().unwrap());
    let (items, rounds) = (number(0, 10_000_000), number(1, 5));
    let parent = arguments.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
    let is_cold = arguments.get(3).is_some_and(|word| word == "cold");
    let folder = tempfile::tempdir_in(parent).unwrap();
    let original = folder.path().join("original.coua");
    let mut filter = CuckooFilter::new();
    insert(items, 0, |block| filter.insert_hash_batch(block).unwrap());
    filter.save_atomically(&original).unwrap();
    drop(filter);
    let bytes = fs::metadata(&original).unwrap().len();
    println!("{items} items, {bytes} bytes, {}", if is_cold { "cold" } else { "warm" });
    println!("   changes  access    open s  change s  commit s  written MB");
    let path = folder.path().join("seen.coua");
    for changes in CHANGES.into_iter().filter(|changes| *changes <= items) {
        let mut columns = [[const { Vec::new() }; 4], [const { Vec::new() }; 4]];
        for _ in 0..rounds {
            for (access, columns) in [Access::Map, Access::Load].into_iter().zip(&mut columns) {
                fs::copy(&original, &path).unwrap();
                fs::remove_file(path.with_extension("coua.journal")).ok();
                if is_cold {
                    fs::File::open(&path).unwrap().sync_all().unwrap();
                    fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
                }
                for (column, value) in columns.iter_mut().zip(once(&path, access, changes, items)) {
                    column.push(value);
                }
            }
        }
        for (name, mut columns) in ["map", "read"].into_iter().zip(columns) {
            let [open, change, commit, written] = columns.each_mut().map(|values| median(values));
            println!("{changes:10}  {name:6} {open:9.4} {change:9.4} {commit:9.4} {written:11.3}");
        }
    }
}
