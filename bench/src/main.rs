//! Plays the turns of Coua and its peers for the script `measure`.
//!
//! ```text
//! coua-bench contestants                  names, a line each
//! coua-bench turn NAME ITEMS RATE         one contestant's whole life, once
//! coua-bench lines COUNT                  lines to de-duplicate: URLs, 30 % of which are repeats
//! coua-bench verdict COUNT FILE           what is wrong with the distinct lines of those
//! coua-bench arrays KEYS FILE             batches of the keys in a file, for `peers.py`
//! ```
//!
//! A turn prints `name value` lines: nanoseconds per key of each step, bytes, and the counts of lost, refused and not removed keys. Each turn is a
//! separate process, so that no contestant reuses the memory of another.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to people")]

mod arrays;
mod lines;
mod peers;
mod turn;

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::process::ExitCode;

use peers::Plan;

const USAGE: &str = "usage: coua-bench contestants | turn NAME ITEMS RATE | lines COUNT | verdict COUNT FILE | \
                     arrays KEYS FILE";

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
            let mut entries = peers::entries().into_iter();
            entries.try_for_each(|entry| writeln!(out, "{}", entry.name))
        }
        ["turn", name, items, rate] => {
            write!(out, "{}", play(name, Plan { items: number(items)?, rate: number(rate)? })?)
        }
        ["lines", count] => lines::write(number(count)?, out),
        ["verdict", count, file] => {
            let file = File::open(file).map_err(|why| format!("{file}: {why}"))?;
            let verdict = lines::Verdict::of(number(count)?, BufReader::new(file));
            verdict.and_then(|verdict| write!(out, "{verdict}"))
        }
        ["arrays", kind, file] => return arrays::run(kind, file).map_err(|why| why.to_string()),
        _ => return Err(USAGE.into()),
    }
    .map_err(|why| why.to_string())
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn play(name: &str, plan: Plan) -> Result<turn::Turn, String> {
    let mut entries = peers::entries().into_iter();
    let entry = entries.find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("{name}: no such contestant"))?;
    Ok(turn::Turn::play((entry.make)(plan)?.as_mut(), plan))
}
