//! Times Coua, and plays the turns of its peers for the script `measure`.
//!
//! ```text
//! coua-bench batch [ITEMS [ROUNDS]]            batch calls of filters of several kinds
//! coua-bench shared [ITEMS [ROUNDS]]           batches on a `SharedCuckooFilter`, by 1, 2, ... threads
//! coua-bench line [ITEMS [ROUNDS [FOLDER]]]    a filter file: mapped or read (docs/decisions/0009-map-or-load.md)
//! coua-bench stall [ITEMS [SNAPSHOTS [FOLDER]]]    the longest commit (docs/decisions/0012-background-snapshots.md)
//!
//! coua-bench contestants                  names, a line each
//! coua-bench turn NAME KEYS ITEMS RATE    one contestant's whole life, once; KEYS is u64 or strings
//! coua-bench lines COUNT [KIND [I/N]]     lines to de-duplicate: urls (30 % are repeats) or short (half); part I of N
//! coua-bench verdict COUNT FILE           what is wrong with the distinct lines of those
//! coua-bench arrays KEYS FILE             batches of the keys in a file, for `peers.py`
//! ```
//!
//! The defaults are 10,000,000 items and 5 rounds. FOLDER must be on the disk to measure. A turn prints `name value`
//! lines: nanoseconds per key of each step, bytes, and the counts of lost, refused and not removed keys. Each turn is a
//! separate process, so that no contestant reuses the memory of another.
//!
//! The environment variable `COUA_TEST_INSTRUCTIONS` (`portable`, `bits` or `avx2`) limits the filters to these
//! instructions of the processor.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to people")]

mod arrays;
mod batch;
#[cfg(target_os = "linux")]
mod files;
mod lines;
mod peers;
mod threads;
mod turn;

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use coua_bench::keys::{Key, Text};
use lines::LineKind;
use peers::Plan;

const USAGE: &str = "usage: coua-bench batch|shared|line|stall [ITEMS [ROUNDS [FOLDER]]] | contestants | turn NAME KEYS ITEMS RATE | \
                     lines COUNT [urls|short [I/N]] | verdict COUNT FILE | arrays KEYS FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("coua-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match *arguments {
        ["contestants"] => {
            let mut entries = peers::entries::<u64>().into_iter();
            entries.try_for_each(|entry| writeln!(out, "{}", entry.name))
        }
        ["turn", name, keys, items, rate] => {
            let plan = Plan { items: number(items)?, rate: number(rate)? };
            let turn = match keys {
                "u64" => play::<u64>(name, plan)?,
                "strings" => play::<Text>(name, plan)?,
                _ => return Err(format!("keys: found {keys}, expected u64 or strings")),
            };
            write!(out, "{turn}")
        }
        ["lines", count] => lines::write(LineKind::Urls, 0..number(count)?, out),
        ["lines", count, kind] => lines::write(LineKind::parse(kind)?, 0..number(count)?, out),
        ["lines", count, kind, part] => {
            lines::write(LineKind::parse(kind)?, places(number(count)?, part)?, out)
        }
        ["verdict", count, file] => {
            let file = File::open(file).map_err(|why| format!("{file}: {why}"))?;
            let verdict = lines::Verdict::of(number(count)?, BufReader::new(file));
            verdict.and_then(|verdict| write!(out, "{verdict}"))
        }
        ["arrays", kind, file] => return arrays::run(kind, file).map_err(|why| why.to_string()),
        [job, ref rest @ ..] if rest.len() < 4 => return time(job, rest),
        _ => return Err(USAGE.into()),
    }
    .map_err(|why| why.to_string())
}

fn time(job: &str, rest: &[&str]) -> Result<(), String> {
    let at = |place: usize, default| rest.get(place).map_or(Ok(default), |text| number(text));
    let (items, rounds) = (at(0, 10_000_000)?, at(1, 5)?.max(1));
    let folder = rest.get(2).map_or_else(env::temp_dir, |folder| Path::new(folder).to_owned());
    match job {
        "batch" => batch::run(items, rounds),
        "shared" => threads::shared(items, rounds),
        #[cfg(target_os = "linux")]
        "line" => files::line(items, rounds, &folder),
        #[cfg(target_os = "linux")]
        "stall" => files::stall(items, rounds, &folder),
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// The places of part I of N of `count` lines.
fn places(count: u64, part: &str) -> Result<Range<u64>, String> {
    let (place, of) = part.split_once('/').unwrap_or((part, ""));
    let (place, of): (u64, u64) = (number(place)?, number(of)?);
    let border = |part: u64| (u128::from(count) * u128::from(part) / u128::from(of)) as u64;
    if (1..=of).contains(&place) {
        Ok(border(place - 1)..border(place))
    } else {
        Err(format!("{part}: expected I/N with I from 1 to N"))
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn play<K: Key>(name: &str, plan: Plan) -> Result<turn::Turn, String> {
    let mut entries = peers::entries::<K>().into_iter();
    let entry = entries.find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("{name}: no such contestant"))?;
    Ok(turn::Turn::play((entry.make)(plan)?.as_mut(), plan))
}
