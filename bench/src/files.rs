//! Filters in files: when mapping is faster than reading, and how long a commit blocks while a snapshot is written.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coua::{CuckooFilter, KeyHash};
use coua_bench::keys::{ABSENT, keys};
use coua_bench::timing::{in_blocks, median};
use coua_store::{Access, Options};
use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;

const PAGE: u64 = 4096;
/// Both buckets of a key.
const PAGES_PER_CHANGE: u64 = 2;
/// Pages of the file per page that the work touches, counting every touch; 0 means half a page.
const WEIGHTS: [u64; 9] = [128, 64, 32, 16, 8, 4, 2, 1, 0];
/// The number of rounds that insert or remove all items of the filter once.
const PARTS: u64 = 200;

/// Whether the file's pages are in memory before it is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Warm,
    Cold,
}

/// A filter file, and the path where it is changed.
struct Filter {
    /// Deleted with all files when dropped.
    _folder: TempDir,
    original: PathBuf,
    /// Another name of the original, until a new snapshot replaces it.
    path: PathBuf,
    bytes: u64,
}

impl Filter {
    fn new(items: u64, parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("a folder");
        let original = folder.path().join("original.coua");
        // With some spare room, like most filters that have grown: a full one would grow at the first change.
        let sized = CuckooFilter::builder().capacity(items + items / 8);
        let mut filter = sized.build().expect("memory for the filter");
        in_blocks(hashes(0..items), |block| filter.insert_batch(block).expect("room"));
        filter.save_atomically(&original).expect("space for the filter");
        let bytes = fs::metadata(&original).expect("the file").len();
        let path = folder.path().join("seen.coua");
        Self { _folder: folder, original, path, bytes }
    }

    /// Restores the original content of the file.
    fn restore(&self, cache: Cache) {
        fs::remove_file(&self.path).ok();
        // Commits were appended to it as a log.
        let original = File::options().write(true).open(&self.original).expect("the file");
        original.set_len(self.bytes).expect("a file that is cut");
        fs::hard_link(&self.original, &self.path).expect("a second name");
        let mut file = File::open(&self.path).expect("the file");
        match cache {
            Cache::Cold => {
                file.sync_all().expect("the file is written");
                fadvise(&file, 0, None, Advice::DontNeed).expect("advice is taken");
            }
            Cache::Warm => {
                std::io::copy(&mut file, &mut std::io::sink()).expect("the file is read");
            }
        }
    }

    /// Milliseconds in total, and for opening only, of `changes` inserts and their commit. No snapshot is written.
    fn work(&self, access: Access, cache: Cache, changes: u64) -> (f64, f64) {
        self.restore(cache);
        let options = Options::new().access(access).expecting(changes).max_log(u64::MAX - 1);
        let start = Instant::now();
        let mut store = options.write(&self.path).expect("the filter opens");
        let open = milliseconds(start);
        in_blocks(hashes(ABSENT..ABSENT + changes), |block| {
            store.insert_batch(block).expect("room");
        });
        store.commit().expect("space for the log");
        (milliseconds(start), open)
    }
}

fn hashes(numbers: Range<u64>) -> impl Iterator<Item = KeyHash> {
    keys(numbers)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Changes with each new snapshot.
fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("the file"))
}

/// Makes more and more changes to one filter, mapped and read, and prints the weight above which mapping is faster.
/// Work of weight w touches at most one page in w. That weight is the number in `memory/access.rs` of the store.
pub(crate) fn line(items: u64, rounds: u64, folder: &Path) {
    let filter = Filter::new(items, folder);
    println!("{items} items, {} bytes; medians of {rounds} rounds", filter.bytes);
    println!(
        "\n| cache | weight | changes | map ms | of it open | read ms | of it open | read / map |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut found = Vec::new();
    for (name, cache) in [("cold", Cache::Cold), ("warm", Cache::Warm)] {
        let mut ratios = Vec::new();
        for weight in WEIGHTS {
            let touched = filter.bytes.checked_div(weight).unwrap_or(2 * filter.bytes);
            let changes = touched / (PAGE * PAGES_PER_CHANGE);
            let [(map, map_open), (read, read_open)] = [Access::Map, Access::Load].map(|access| {
                let turns = (0..rounds).map(|_| filter.work(access, cache, changes));
                let (mut all, mut open): (Vec<_>, Vec<_>) = turns.unzip();
                (median(&mut all), median(&mut open))
            });
            let (weight, ratio) = (filter.bytes as f64 / touched as f64, read / map);
            ratios.push((weight, ratio));
            println!(
                "| {name} | {weight:.1} | {changes} | {map:.1} | {map_open:.1} | {read:.1} | {read_open:.1} | {ratio:.2} |"
            );
        }
        found.push((name, crossing(&ratios)));
    }
    println!();
    for (name, crossing) in found {
        match crossing {
            Some(weight) => println!("{name}: mapping is faster above a weight of {weight:.1}"),
            None => println!("{name}: one of the two is faster all over"),
        }
    }
}

/// A point between the last weight at which mapping is faster and the next, on logarithmic scales.
fn crossing(ratios: &[(f64, f64)]) -> Option<f64> {
    ratios.windows(2).rev().find_map(|pair| {
        let [(above, faster), (below, slower)] = pair else { return None };
        let is_crossing = *faster >= 1.0 && *slower < 1.0;
        let part = faster.ln() / (faster.ln() - slower.ln());
        is_crossing.then(|| (above.ln() + part * (below.ln() - above.ln())).exp())
    })
}

/// Changes one filter and commits until `snapshots` new snapshots are written, in the background and at once. The
/// changes insert and remove the same keys, so the filter keeps its size.
pub(crate) fn stall(items: u64, snapshots: u64, folder: &Path) {
    let filter = Filter::new(items, folder);
    println!("{items} items, {} bytes, {snapshots} new snapshots each", filter.bytes);
    println!(
        "\n| snapshots | commits | longest commit ms | median | longest round of work ms | median | all s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, from) in [("in the background", 0), ("at once", u64::MAX)] {
        filter.restore(Cache::Warm);
        let options = Options::new().access(Access::Load).background_from(from);
        let mut store = options.write(&filter.path).expect("the filter opens");
        let (mut works, mut commits) = (Vec::new(), Vec::new());
        let (count, mut seen, mut file) = ((items / PARTS).max(1), 0, inode(&filter.path));
        let start = Instant::now();
        for round in 0u64.. {
            let first = items + round / 2 * count;
            let begin = Instant::now();
            in_blocks(hashes(first..first + count), |block| {
                if round % 2 == 0 {
                    store.insert_batch(block).expect("room");
                } else {
                    store.remove_batch(block);
                }
            });
            works.push(milliseconds(begin));
            let begin = Instant::now();
            store.set_note("round", &(round + 1).to_le_bytes()).expect("a short note");
            store.commit().expect("space for the file");
            commits.push(milliseconds(begin));
            let now = inode(&filter.path);
            seen += u64::from(std::mem::replace(&mut file, now) != now);
            if seen == snapshots {
                break;
            }
        }
        let all = start.elapsed().as_secs_f64();
        let count = commits.len();
        let [(commit, usual_commit), (work, usual_work)] = [commits, works].map(|mut times| {
            let middle = median(&mut times);
            (times[times.len() - 1], middle)
        });
        println!(
            "| {name} | {count} | {commit:.1} | {usual_commit:.1} | {work:.1} | {usual_work:.1} | {all:.1} |"
        );
    }
}
