//! One measurement, in a process of its own: its memory is not that of others.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use coua_store::{Access, Options};

use crate::filters::{Cache, Filter, hashes};

/// The word by which this program calls itself.
pub(crate) const JOB: &str = "measure";

/// What is to be measured.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) access: Access,
    pub(crate) changes: u64,
    pub(crate) cache: Cache,
    /// Bytes of log beyond which a new snapshot is written; none: as the store has it.
    pub(crate) max_log: Option<u64>,
}

/// Seconds and bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) open: f64,
    pub(crate) change: f64,
    pub(crate) commit: f64,
    pub(crate) written: f64,
    /// Resident memory that came with the work, and the part that is the process's own.
    pub(crate) memory: f64,
    pub(crate) private: f64,
}

impl Figures {
    pub(crate) fn total(&self) -> f64 {
        self.open + self.change + self.commit
    }
}

impl Work {
    /// Medians over the rounds, each figure by itself.
    pub(crate) fn measure(self, filter: &Filter, rounds: usize) -> Figures {
        let all: Vec<Figures> = (0..rounds).map(|_| self.once(filter)).collect();
        let median = |figure: fn(&Figures) -> f64| {
            let mut values: Vec<f64> = all.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Figures {
            open: median(|figures| figures.open),
            change: median(|figures| figures.change),
            commit: median(|figures| figures.commit),
            written: median(|figures| figures.written),
            memory: median(|figures| figures.memory),
            private: median(|figures| figures.private),
        }
    }

    fn once(self, filter: &Filter) -> Figures {
        filter.restore(self.cache);
        let access = match self.access {
            Access::Map => "map",
            Access::Load => "read",
            Access::BySize => "by size",
        };
        let numbers = [self.changes, filter.items, self.max_log.unwrap_or(u64::MAX)];
        let child = Command::new(std::env::current_exe().unwrap())
            .args([JOB, access])
            .arg(&filter.path)
            .args(numbers.map(|number| number.to_string()))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{said}");
        let text = String::from_utf8(child.stdout).unwrap();
        let mut figures = text.split_whitespace().map(|word| word.parse::<f64>().unwrap());
        let mut next = || figures.next().unwrap();
        let (open, change, commit, memory, private) = (next(), next(), next(), next(), next());
        Figures { open, change, commit, written: filter.written() as f64, memory, private }
    }
}

/// Opens, changes, commits, and prints what it took.
pub(crate) fn run(words: &[String]) {
    let [access, path, numbers @ ..] = words else { panic!("an access and a path") };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().unwrap()).collect();
    let [changes, items, max_log] = numbers[..] else { panic!("three numbers") };
    let access = match access.as_str() {
        "map" => Access::Map,
        "read" => Access::Load,
        _ => Access::BySize,
    };
    let mut options = Options::new().access(access).expecting(changes);
    if max_log < u64::MAX {
        options = options.max_log(max_log);
    }
    let before = resident();
    let mut start = Instant::now();
    let mut lap = || std::mem::replace(&mut start, Instant::now()).elapsed().as_secs_f64();
    let mut store = options.write(Path::new(path)).unwrap();
    let open = lap();
    hashes(items, changes, |block| store.insert_batch(block).unwrap());
    let change = lap();
    store.commit().unwrap();
    let commit = lap();
    let after = resident();
    let mut line = String::new();
    let grown = [after[0] - before[0], after[1] - before[1]];
    write!(line, "{open} {change} {commit} {} {}", grown[0], grown[1]).unwrap();
    println!("{line}");
}

/// Bytes in memory: all, and the process's own.
fn resident() -> [f64; 2] {
    ["VmRSS", "RssAnon"].map(status)
}

/// Most bytes in memory so far.
pub(crate) fn peak() -> f64 {
    status("VmHWM")
}

/// What the system says of this process, in bytes. Not known but on Linux.
fn status(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1024.0
}
