//! Coua beside its peers: what the script `measure` runs.
//!
//! ```text
//! coua-compare contestants                  names, a line each
//! coua-compare turn NAME KEYS ITEMS RATE    one contestant's whole life, once; KEYS is u64 or strings
//! coua-compare lines COUNT                  lines to de-duplicate, of which 30 % are repeats
//! coua-compare verdict COUNT FILE           what is wrong with the distinct lines of those
//! ```
//!
//! A turn prints `name value` lines: nanoseconds a key of each step, bytes, and the counts of lost, refused and
//! not removed keys. Each turn is a process of its own: no contestant finds the memory that another one left.

mod contestant;
mod keys;
mod lines;
mod peers;
mod turn;

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::process::ExitCode;

use contestant::Plan;
use keys::{Key, Text};

const USAGE: &str = "usage: coua-compare contestants | turn NAME KEYS ITEMS RATE | lines COUNT | verdict COUNT FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("coua-compare: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match *arguments {
        ["contestants"] => {
            let names = peers::entries::<u64>().into_iter().map(|entry| entry.name);
            names.map(|name| writeln!(out, "{name}")).collect::<io::Result<()>>()
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
        ["lines", count] => lines::write(number(count)?, out),
        ["verdict", count, file] => {
            let file = File::open(file).map_err(|why| format!("{file}: {why}"))?;
            let verdict = lines::Verdict::of(number(count)?, BufReader::new(file));
            verdict.and_then(|verdict| write!(out, "{verdict}"))
        }
        _ => return Err(USAGE.into()),
    }
    .map_err(|why| why.to_string())
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn play<K: Key>(name: &str, plan: Plan) -> Result<turn::Turn, String> {
    let mut entries = peers::entries::<K>().into_iter();
    let entry = entries.find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("{name}: no such contestant"))?;
    turn::Turn::play((entry.make)(plan)?.as_mut(), plan)
}
