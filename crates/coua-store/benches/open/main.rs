//! What it costs to open a filter file and to add a few keys: figures against the size of the filter and
//! of the work, and where the line lies between mapping and reading.
//!
//! ```text
//! cargo bench -p coua-store --bench open -- grid [MOST ITEMS] [ROUNDS] [FOLDER]
//! cargo bench -p coua-store --bench open -- line [ITEMS] [ROUNDS] [FOLDER]
//! cargo bench -p coua-store --bench open -- stall [ITEMS] [SNAPSHOTS] [FOLDER]
//! ```
//!
//! `grid` makes filters of 10^6, 10^7, ... items up to MOST (default 10,000,000; one of 10^9 takes 5 GB
//! on the disk, as much again for a moment, and as much memory while it is made), and does 10^2, 10^4
//! and 10^6 changes to each, as the program would: the access is chosen by the size of the work.
//! `line` does more and more changes to one filter, mapped and read, without ever writing a new
//! snapshot, and says from which number on reading is faster
//! (`docs/decisions/0009-map-or-load.md`).
//!
//! `stall` works on one filter and commits until it has got SNAPSHOTS new snapshots, in the background and at
//! once, and prints the longest commit of each (`docs/decisions/0012-background-snapshots.md`).
//!
//! The others print Markdown, medians over the rounds (default 5). Every measurement is a process of its own.
//! `cold`: the file's pages were taken out of the cache before. FOLDER (default: the system's temporary
//! folder) must lie on the disk that is to be measured.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::unwrap_used, reason = "what fails here ends the benchmark")]

mod filters;
mod grid;
mod line;
mod measure;
mod stall;

use std::path::PathBuf;

/// What the command line says after the name of the job.
struct Settings {
    items: u64,
    rounds: usize,
    folder: PathBuf,
}

impl Settings {
    fn of(words: &[String]) -> Self {
        let number =
            |at: usize, default| words.get(at).map_or(default, |word| word.parse().unwrap());
        let folder = words.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
        let rounds = usize::try_from(number(1, 5)).unwrap().max(1);
        Self { items: number(0, 10_000_000), rounds, folder }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (job, rest) = words.split_first().map_or(("grid", &[][..]), |(job, rest)| (job, rest));
    match job {
        "grid" => grid::run(&Settings::of(rest)),
        "line" => line::run(&Settings::of(rest)),
        "stall" => stall::run(&Settings::of(rest)),
        measure::JOB => measure::run(rest),
        stall::JOB => stall::stalled(rest),
        other => panic!("{other}: neither grid, line nor stall"),
    }
}
