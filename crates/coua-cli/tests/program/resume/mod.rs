//! Interrupted runs that are resumed: the output and the filter are the same as without an interruption.

mod counts;
mod damaged;
mod full;
mod grown;
mod kept;
mod kills;
mod lost;
mod refused;
mod stopped;
mod table;
mod told;

use crate::output_dir::{tree, unpacked};
use crate::packed::{gzip, zstd};
use crate::support::{Folder, Repeats, coua, lines, run};
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A command, and the state before it.
struct Kind {
    name: &'static str,
    /// The command and its outputs; the filter is `seen.coua`, the output `out`.
    command: &'static [&'static str],
    options: &'static [&'static str],
    inputs: &'static [&'static str],
    /// The filter's content before the run.
    filled: &'static [&'static str],
}

const DEDUP: &[&str] = &["dedup", "--filter", "seen.coua", "-o", "out"];
const ADD: &[&str] = &["add", "seen.coua"];
const REMOVE: &[&str] = &["remove", "seen.coua"];

/// The input `open` lacks its last newline. Filters created with a capacity are shared by threads from the first block
/// on.
const DEDUPS: [Kind; 4] = [
    Kind { name: "plain", command: DEDUP, options: &[], inputs: &["many"], filled: &[] },
    Kind {
        name: "filled",
        command: DEDUP,
        options: &["-j1"],
        inputs: &["many"],
        filled: &["open"],
    },
    Kind {
        name: "two",
        command: DEDUP,
        options: &["-j", "2", "--capacity=400000"],
        inputs: &["open", "many"],
        filled: &[],
    },
    Kind {
        name: "csv",
        command: DEDUP,
        options: &["-j", "5", "--csv", "key", "--rate=0.0001", "--capacity=400000"],
        inputs: &["one.csv", "two.csv"],
        filled: &[],
    },
];

/// Compressed outputs.
const PACKED: [Kind; 4] = [
    Kind {
        name: "packed repeats",
        command: &["dedup", "--filter", "seen.coua", "-o", "out.gz"],
        options: &["-j", "3", "--keep", "first", "-d"],
        inputs: &["many", "parts/2.gz"],
        filled: &[],
    },
    Kind {
        name: "packed",
        command: &["dedup", "--filter", "seen.coua", "-o", "out.zst"],
        options: &["-j", "2"],
        inputs: &["open", "many"],
        filled: &[],
    },
    Kind {
        name: "packed by one thread",
        command: &["dedup", "--filter", "seen.coua", "-o", "out.zst"],
        options: &["-j1"],
        inputs: &["many"],
        filled: &[],
    },
    Kind {
        name: "packed csv",
        command: &["dedup", "--filter", "seen.coua", "-o", "out.zst"],
        options: &["-j", "5", "--csv", "key", "--compress", "zst:1"],
        inputs: &["one.csv", "two.csv"],
        filled: &[],
    },
];

const EACH: &[&str] = &["dedup", "--filter", "seen.coua", "--output-dir", "out"];

/// One output for each input. The parts lack their last newlines.
const SHARDS: [Kind; 4] = [
    Kind {
        name: "shards",
        command: EACH,
        options: &["-j", "2"],
        inputs: &["open", "many"],
        filled: &[],
    },
    Kind {
        name: "packed shards",
        command: EACH,
        options: &["-j", "3"],
        inputs: &["parts/0", "parts/1.zst", "parts/2.gz", "parts/3", "parts/4.zst", "parts/5"],
        filled: &[],
    },
    Kind {
        name: "shards of one thread",
        command: EACH,
        options: &["-j1", "--compress", "zst:1"],
        inputs: &["parts/5", "empty", "parts/2.gz", "many", "parts/1.zst", "parts/0"],
        filled: &["open"],
    },
    Kind {
        name: "csv shards",
        command: EACH,
        options: &["-j", "5", "--csv", "key", "--capacity=400000"],
        inputs: &["one.csv", "two.csv"],
        filled: &[],
    },
];

/// Runs that read their inputs twice. No filter remembers them: the same command starts over.
const TWO_PASSES: [Kind; 5] = [
    Kind {
        name: "last",
        command: &["dedup", "--keep", "last", "-o", "out.zst"],
        options: &["-j", "2"],
        inputs: &["open", "many"],
        filled: &[],
    },
    Kind {
        name: "not alone",
        command: &["dedup", "--keep", "none", "-d", "-o", "out.gz"],
        options: &["-j1"],
        inputs: &["many", "parts/2.gz"],
        filled: &[],
    },
    Kind {
        name: "counts of shards",
        command: &["dedup", "-c", "--output-dir", "out"],
        options: &["-j", "3"],
        inputs: &["parts/0", "parts/1.zst", "parts/2.gz", "parts/3", "parts/4.zst", "empty"],
        filled: &[],
    },
    Kind {
        name: "alone in csv shards",
        command: &["dedup", "--keep", "none", "--output-dir", "out"],
        options: &["-j", "5", "--csv", "key", "--compress", "zst:1"],
        inputs: &["one.csv", "two.csv"],
        filled: &[],
    },
    Kind {
        name: "counts of the last",
        command: &["dedup", "--keep", "last", "-c", "-d", "-o", "out"],
        options: &["-j", "2"],
        inputs: &["parts/4.zst", "many"],
        filled: &[],
    },
];

const ADDS: [Kind; 4] = [
    Kind { name: "copies", command: ADD, options: &[], inputs: &["many"], filled: &[] },
    Kind {
        name: "more copies",
        command: ADD,
        options: &["-j", "2"],
        inputs: &["open", "many"],
        filled: &["open"],
    },
    Kind {
        name: "unique",
        command: ADD,
        options: &["--unique", "-j", "4", "--capacity=400000"],
        inputs: &["many"],
        filled: &[],
    },
    Kind {
        name: "csv copies",
        command: ADD,
        options: &["-j", "1", "--csv", "key"],
        inputs: &["one.csv", "two.csv"],
        filled: &[],
    },
];

const REMOVES: [Kind; 4] = [
    Kind { name: "silent", command: REMOVE, options: &[], inputs: &["open"], filled: &["many"] },
    Kind {
        name: "by one thread",
        command: REMOVE,
        options: &["-j", "1"],
        inputs: &["open", "many"],
        filled: &["many"],
    },
    Kind {
        name: "by five threads",
        command: REMOVE,
        options: &["-j", "5"],
        inputs: &["many"],
        filled: &["open"],
    },
    Kind {
        name: "csv rows",
        command: REMOVE,
        options: &["--csv", "key"],
        inputs: &["one.csv", "two.csv"],
        filled: &["open"],
    },
];

/// Filters that forget items during the run.
const WINDOWS: [Kind; 6] = [
    Kind {
        name: "items",
        command: DEDUP,
        options: &["--window", "1000-items", "-j", "2"],
        inputs: &["many", "open"],
        filled: &[],
    },
    Kind {
        name: "times",
        command: DEDUP,
        options: &["--window", "5m", "-k", "2", "--time-field", "1", "-j", "5"],
        inputs: &["timed"],
        filled: &[],
    },
    Kind {
        name: "one moment",
        command: DEDUP,
        options: &["--window", "7d", "COUA_NOW", "2026-11-21T04:00:00Z"],
        inputs: &["many"],
        filled: &[],
    },
    Kind {
        name: "items last seen",
        command: DEDUP,
        options: &["--window", "1000-items", "--window-by", "last", "-j", "2"],
        inputs: &["many", "open"],
        filled: &[],
    },
    Kind {
        name: "times last seen",
        command: DEDUP,
        options: &["--window", "5m", "--window-by", "last", "-k", "2", "--time-field", "1", "-d"],
        inputs: &["timed"],
        filled: &[],
    },
    Kind {
        name: "copies by time",
        command: ADD,
        options: &["--window", "5m", "-k", "2", "--time-field", "1"],
        inputs: &["timed"],
        filled: &[],
    },
];

/// A filter so large that its snapshots are written in the background.
const LARGE: [Kind; 1] = [Kind {
    name: "large",
    command: ADD,
    options: &["--capacity", "3000000"],
    inputs: &["many"],
    filled: &[],
}];

/// The numbers of records for attempts to interrupt a run, increasing: a busy machine reacts late.
fn rounds() -> impl Iterator<Item = u64> {
    (1..=20).map(|round| round * 100_000)
}

struct Trial {
    folder: Folder,
    kind: &'static Kind,
}

impl Trial {
    fn new(kind: &'static Kind, count: u64) -> Self {
        let folder = Folder::new();
        let text = lines(count, Repeats::Many);
        folder.file("many", &text);
        let some = &text[..text.len() / 3];
        let end = some.iter().rposition(|byte| *byte == b'\n').unwrap();
        folder.file("open", &some[..end]);
        for (name, part) in [("one.csv", &text[..end]), ("two.csv", &text[end + 1..])] {
            let part = String::from_utf8_lossy(part);
            let rows: Vec<String> = part.lines().map(|line| format!("x,{line}\n")).collect();
            folder.file(name, ["n,key\n".to_owned(), rows.concat()].concat());
        }
        folder.file("timed", timed(&text));
        folder.file("empty", "");
        fs::create_dir(folder.join("parts")).unwrap();
        for (number, part) in text.chunks(text.len() / 6 + 1).enumerate() {
            let part = part.strip_suffix(b"\n").unwrap_or(part);
            folder.file(&format!("parts/{number}"), part);
            folder.file(&format!("parts/{number}.zst"), zstd(part));
            folder.file(&format!("parts/{number}.gz"), gzip(part));
        }
        for filling in kind.filled {
            run(["add", &folder.join("seen.coua"), &folder.join(filling)]).good();
        }
        Self { folder, kind }
    }

    /// Starts the run in its folder, with frequent checkpoints.
    fn start(&self, extra: &[&str]) -> std::process::Child {
        let every = [&["--checkpoint-every", "0"], extra].concat();
        self.start_with(&every)
    }

    /// Starts the run; without a filter it has no checkpoints, but may be resumed.
    fn start_with(&self, extra: &[&str]) -> std::process::Child {
        let Kind { command, options, inputs, .. } = self.kind;
        let has_filter = command.contains(&"seen.coua");
        let resumes = extra.contains(&"--resume");
        let extra = if has_filter { extra } else { &["--resume"][..usize::from(resumes)] };
        let mut command = coua([command, options, extra, inputs].concat());
        command.current_dir(self.folder.path()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs to the end.
    fn end(&self, extra: &[&str]) {
        self.ended(self.start(extra));
    }

    fn ended(&self, child: std::process::Child) {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{}", self.kind.name);
    }

    /// The results of a run: the outputs, and the filter.
    fn results(&self) -> Vec<Option<Vec<u8>>> {
        let each = |name| {
            let files = tree(Path::new(&self.folder.join(name)));
            let files = files.iter().map(|(name, bytes)| (name, unpacked(name, bytes)));
            format!("{:?}", files.collect::<Vec<_>>()).into_bytes()
        };
        let read = |name| {
            if fs::metadata(self.folder.join(name)).is_ok_and(|found| found.is_dir()) {
                return Some(each(name));
            }
            let found = ["", ".zst", ".gz"].map(|ending| format!("{name}{ending}"));
            let found = found.iter().find(|name| self.folder.has(name))?;
            Some(unpacked(found, &self.folder.read(found)))
        };
        vec![read("out"), self.folder.filter("seen.coua")]
    }
}

/// The lines with a time in front: a hundred per second, each up to a minute late.
fn timed(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let row = |(number, line): (usize, &str)| {
        let late = number * 7_919 % 60_000;
        format!("{} {line}\n", 1_780_000_000_000 + number * 10 - late)
    };
    text.lines().enumerate().map(row).collect::<Vec<_>>().concat().into_bytes()
}
