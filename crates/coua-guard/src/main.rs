//! Have the filter's calls become dearer? Instructions are counted, not time, so that a busy machine gives
//! the same answer.
//!
//! ```text
//! coua-guard           compare with guard.txt; fail if a count lies more than 5 % above its record
//! coua-guard record    write the counts into guard.txt
//! coua-guard only WORD compare the cases whose names contain the word
//! coua-guard play CASE do the work of one case: what runs under valgrind
//! ```
//!
//! Counts belong to a compiler: with another one than that of the record, differences are printed and
//! nothing fails. `COUA_GUARD_FILE` names another file of records.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to people")]

mod count;
mod record;
mod work;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use count::{check_valgrind, compiler, instructions};
use record::{Record, Verdict};
use work::Case;

const USAGE: &str = "usage: coua-guard [record | only WORD | play CASE]";

type Counts = BTreeMap<String, f64>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *arguments {
        [] => check(""),
        ["only", word] => check(word),
        ["record"] => record(),
        ["play", name] => play(name),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("coua-guard: {why}");
            ExitCode::FAILURE
        }
    }
}

fn file() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("guard.txt");
    env::var_os("COUA_GUARD_FILE").map_or_else(own, PathBuf::from)
}

fn check(word: &str) -> Result<(), String> {
    check_valgrind()?;
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", file().display());
    let text = fs::read_to_string(file()).map_err(|why| told(&why))?;
    let known = Record::parse(&text).map_err(|why| told(&why))?;
    compare(&known, &Record { compiler: compiler()?, counts: count(word)? })
}

fn record() -> Result<(), String> {
    check_valgrind()?;
    let record = Record { compiler: compiler()?, counts: count("")? };
    fs::write(file(), record.text()).map_err(|why| format!("{}: {why}", file().display()))?;
    println!("{}: {} counts of {}", file().display(), record.counts.len(), record.compiler);
    Ok(())
}

fn play(name: &str) -> Result<(), String> {
    let case = Case::named(name).ok_or_else(|| format!("{name}: no such case"))?;
    case.play().map_err(|why| format!("{name}: {why}"))
}

/// Counts the cases whose names contain the word, as many at once as there are processors.
fn count(word: &str) -> Result<Counts, String> {
    let cases: Vec<Case> = Case::all().filter(|case| case.to_string().contains(word)).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let of_worker = |worker| -> Result<Vec<(String, f64)>, String> {
        let own = cases.iter().skip(worker).step_by(workers);
        own.map(|&case| Ok((case.to_string(), instructions(case)?))).collect()
    };
    thread::scope(|scope| {
        let of_worker = &of_worker;
        let running: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || of_worker(worker))).collect();
        let mut counts = Counts::new();
        for worker in running {
            counts.extend(worker.join().map_err(|_| "a counting thread died")??);
        }
        Ok(counts)
    })
}

fn compare(known: &Record, new: &Record) -> Result<(), String> {
    println!("{:50} {:>10} {:>10} {:>10}", "instructions a key", "recorded", "now", "change");
    let (mut dearer, mut cheaper) = (0, 0);
    for (name, &count) in &new.counts {
        let verdict = known.verdict(name, count);
        let word = match verdict {
            Verdict::Same => "",
            Verdict::Fewer => "fewer",
            Verdict::More => "MORE",
            Verdict::Unknown => "NOT RECORDED",
        };
        cheaper += u32::from(verdict == Verdict::Fewer);
        dearer += u32::from(matches!(verdict, Verdict::More | Verdict::Unknown));
        let base = known.counts.get(name).copied().unwrap_or(f64::NAN);
        let change = (count / base - 1.0) * 100.0;
        println!("{name:50} {base:>10.1} {count:>10.1} {change:>+8.1} % {word}");
    }
    if cheaper > 0 {
        println!("{cheaper} counts fell by more than 5 %: record them, or a later loss hides.");
    }
    if known.compiler != new.compiler {
        let (then, now) = (&known.compiler, &new.compiler);
        println!("Recorded with {then}, counted with {now}: differences decide nothing.");
        return Ok(());
    }
    if dearer > 0 {
        return Err(format!(
            "{dearer} counts lie more than 5 % above their record, or have none; if that is meant, record \
             them with `cargo run --release -p coua-guard -- record`"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Counts, Record, compare};

    fn record(compiler: &str, count: f64) -> Record {
        let counts = Counts::from([("narrow: remove".to_owned(), count)]);
        Record { compiler: compiler.into(), counts }
    }

    #[test]
    fn dearer_calls_fail_only_with_the_recorded_compiler() {
        let known = record("one", 100.0);
        assert!(compare(&known, &record("one", 104.0)).is_ok());
        assert!(compare(&known, &record("one", 50.0)).is_ok());
        assert!(compare(&known, &record("two", 150.0)).is_ok());
        let failure = compare(&known, &record("one", 106.0)).unwrap_err();
        assert!(failure.contains("record"), "{failure}");
        let unknown = Record { counts: Counts::new(), ..known };
        assert!(compare(&unknown, &record("one", 1.0)).is_err());
    }
}
