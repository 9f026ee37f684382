//! Have calls become dearer? Instructions are counted, not time, so that a busy machine says the same.

mod count;
mod record;
mod work;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::markdown::Table;
use crate::output::Failure;
use count::{check_valgrind, compiler, instructions};
use record::{Record, Verdict};
use work::Case;

/// Instructions of the filter's calls, beside recorded ones.
///
/// Fails if a count lies more than 5 % above its record. Counts belong to a compiler: with another one
/// than that of the record, differences are printed and nothing fails. Needs valgrind.
#[derive(Debug, clap::Args)]
pub(crate) struct Guard {
    /// Write the counts into the file instead of comparing them.
    #[arg(long)]
    record: bool,
    /// The recorded counts.
    #[arg(long, default_value = "crates/coua-compare/guard.txt", value_name = "FILE")]
    file: PathBuf,
    /// Only cases whose name contains one of these words.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...", conflicts_with = "record")]
    only: Vec<String>,
    /// Do the work of one case and count nothing: what is run under valgrind.
    #[arg(long, hide = true, value_name = "CASE")]
    play: Option<String>,
    /// A directory for callgrind's files.
    #[arg(long = "out", default_value = "target/compare", value_name = "DIR")]
    scratch: PathBuf,
}

type Counts = BTreeMap<String, f64>;

impl Guard {
    /// Counts and compares.
    ///
    /// # Errors
    ///
    /// If valgrind is missing, a file cannot be read or written, or calls have become dearer.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if let Some(name) = &self.play {
            let case = Case::named(name).ok_or_else(|| Failure::of(name, &"no such case"))?;
            return case.play().map_err(|why| Failure::of(case, &why));
        }
        check_valgrind()?;
        let compiler = compiler()?;
        let known = if self.record { None } else { Some(self.known()?) };
        let new = Record { compiler, counts: self.count()? };
        match known {
            None => write(&self.file, &new),
            Some(known) => compare(&known, &new),
        }
    }

    fn known(&self) -> Result<Record, Failure> {
        let told = |why: &dyn std::fmt::Display| Failure::of(self.file.display(), &why);
        let text = fs::read_to_string(&self.file).map_err(|why| told(&why))?;
        Record::parse(&text).map_err(|why| told(&why))
    }

    /// As many cases at once as there are processors.
    fn count(&self) -> Result<Counts, Failure> {
        fs::create_dir_all(&self.scratch)?;
        let named = |case: &Case| {
            let name = case.to_string();
            self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
        };
        let cases: Vec<Case> = Case::all().filter(named).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let of_worker = |worker| -> Result<Vec<(String, f64)>, Failure> {
            let own = cases.iter().skip(worker).step_by(workers);
            own.map(|&case| Ok((case.to_string(), instructions(case, &self.scratch)?))).collect()
        };
        thread::scope(|scope| {
            let of_worker = &of_worker;
            let running: Vec<_> =
                (0..workers).map(|worker| scope.spawn(move || of_worker(worker))).collect();
            let mut counts = Counts::new();
            for worker in running {
                let done = worker.join().map_err(|_| Failure::of("counting", &"a thread died"))?;
                counts.extend(done?);
            }
            Ok(counts)
        })
    }
}

fn write(file: &Path, record: &Record) -> Result<(), Failure> {
    fs::write(file, record.text()).map_err(|why| Failure::of(file.display(), &why))?;
    println!("{}: {} counts of {}", file.display(), record.counts.len(), record.compiler);
    Ok(())
}

fn compare(known: &Record, new: &Record) -> Result<(), Failure> {
    let mut table = Table::new(["instructions a key", "recorded", "now", "change", ""]);
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
        let base = known.counts.get(name);
        table.row([
            name.clone(),
            base.map_or("-".into(), |base| format!("{base:.1}")),
            format!("{count:.1}"),
            base.map_or("-".into(), |base| format!("{:+.1} %", (count / base - 1.0) * 100.0)),
            word.to_owned(),
        ]);
    }
    println!("{table}");
    if cheaper > 0 {
        println!(
            "{cheaper} counts have fallen by more than 5 %: record them, or a later loss hides."
        );
    }
    if known.compiler != new.compiler {
        println!(
            "Recorded with {}, counted with {}: differences decide nothing.",
            known.compiler, new.compiler
        );
        return Ok(());
    }
    if dearer > 0 {
        let why = format!(
            "{dearer} counts lie more than 5 % above their record, or have none; if that is meant, \
             record them with `cargo run --release -p coua-compare -- guard --record`"
        );
        return Err(Failure::of("guard", &why));
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
        let failure = compare(&known, &record("one", 106.0)).unwrap_err().to_string();
        assert!(failure.contains("guard --record"), "{failure}");
        let unknown = Record { counts: Counts::new(), ..known };
        assert!(compare(&unknown, &record("one", 1.0)).is_err());
    }
}
