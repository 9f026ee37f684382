//! The recorded counts, and what new ones say beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A count may lie so far above its record.
const SLACK: f64 = 0.05;

/// What stands in the file above the counts.
const HEAD: &str = "\
# Instructions a key, counted by callgrind (valgrind): they do not depend on the machine, only on the
# code and the compiler. valgrind hides AVX-512 from the program: batches use AVX2, or where it says
# \"portable\" the instructions of every processor alone.
#
# `./test` fails if a count lies more than 5 % above the one recorded here, and the compiler is the one
# named here. With another compiler the comparison is printed, and decides nothing.
#
# Record again, after a change that is meant to change them:
#     cargo run --release -p coua-guard -- record
";

/// Counts by the name of their case, with the compiler they belong to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// Compiler and target.
    pub(crate) compiler: String,
    /// Instructions a key.
    pub(crate) counts: BTreeMap<String, f64>,
}

/// What a count says beside its record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Within the slack.
    Same,
    /// Below it: time to record again.
    Fewer,
    /// Above it.
    More,
    /// There is no record of it.
    Unknown,
}

impl Record {
    /// Reads the file's text.
    ///
    /// # Errors
    ///
    /// The first line that is not understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut record = Self { compiler: String::new(), counts: BTreeMap::new() };
        for (place, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(compiler) = line.strip_prefix("compiler\t") {
                compiler.clone_into(&mut record.compiler);
                continue;
            }
            let count = line.rsplit_once('\t').and_then(|(name, count)| {
                let count: f64 = count.parse().ok()?;
                (count > 0.0).then_some((name.to_owned(), count))
            });
            let (name, count) = count.ok_or_else(|| {
                format!("line {}: found {line:?}, expected a name, a tab, a count", place + 1)
            })?;
            record.counts.insert(name, count);
        }
        if record.compiler.is_empty() {
            return Err("there is no line that names the compiler".into());
        }
        Ok(record)
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{HEAD}compiler\t{}\n", self.compiler);
        for (name, count) in &self.counts {
            writeln!(text, "{name}\t{count:.1}").expect("a String takes everything");
        }
        text
    }

    /// What a new count says.
    pub(crate) fn verdict(&self, name: &str, count: f64) -> Verdict {
        match self.counts.get(name) {
            None => Verdict::Unknown,
            Some(known) if count > known * (1.0 + SLACK) => Verdict::More,
            Some(known) if count < known * (1.0 - SLACK) => Verdict::Fewer,
            Some(_) => Verdict::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, Verdict};

    fn record() -> Record {
        let counts = [("narrow: remove", 100.0), ("wide: remove", 7.5)];
        Record {
            compiler: "rustc 1.2.3 for a machine".into(),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Record::parse(&record().text()), Ok(record()));
    }

    #[test]
    fn five_per_cent_more_are_too_many() {
        let verdicts =
            [94.0, 96.0, 104.9, 105.1].map(|count| record().verdict("narrow: remove", count));
        assert_eq!(verdicts, [Verdict::Fewer, Verdict::Same, Verdict::Same, Verdict::More]);
        assert_eq!(record().verdict("narrow: insert", 1.0), Verdict::Unknown);
    }

    #[test]
    fn a_broken_file_is_told_by_its_line() {
        let bad = Record::parse("# text\ncompiler\trustc\nnarrow\tmany\n").unwrap_err();
        assert!(bad.contains("line 3") && bad.contains("narrow"), "{bad}");
        assert!(Record::parse("narrow\t0\n").is_err());
        assert!(Record::parse("narrow\t1\n").unwrap_err().contains("compiler"));
    }
}
