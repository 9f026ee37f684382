//! The terms on which contestants meet.

use std::path::PathBuf;

use crate::contestant::Entry;
use crate::keys::Key;
use crate::peers::{REFERENCE, entries};

/// Who takes part, how often, and where results go.
#[derive(Debug, clap::Args)]
pub(crate) struct Terms {
    /// Rounds; each runs every contestant once.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Only contestants whose name contains one of these words, beside Coua.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    only: Vec<String>,
    /// Not the contestants whose name contains one of these words.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    without: Vec<String>,
    /// Contestants that would take more are not run.
    #[arg(long, default_value_t = 16, value_name = "GIB")]
    memory_limit: u64,
    /// Where JSON and plots go.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Names of contestants that do not take part, and why.
pub(crate) type Absent = Vec<(String, String)>;

impl Terms {
    /// Those that are `wanted` and take part at this size, and the excuses of the others.
    pub(crate) fn entries<K: Key>(
        &self,
        items: u64,
        wanted: impl Fn(&Entry<K>) -> bool,
    ) -> (Vec<Entry<K>>, Absent) {
        let mut absent = Absent::new();
        let mut all = entries();
        all.retain(|entry| wanted(entry) && self.names(entry.name));
        all.retain(|entry| match entry.excuse(items, self.memory_limit << 30) {
            Some(reason) => {
                absent.push((entry.name.to_owned(), reason));
                false
            }
            None => true,
        });
        (all, absent)
    }

    fn names(&self, name: &str) -> bool {
        let among =
            |words: &[String]| words.iter().any(|word: &String| name.contains(word.as_str()));
        name == REFERENCE || (self.only.is_empty() || among(&self.only)) && !among(&self.without)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Terms;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        terms: Terms,
    }

    fn names(arguments: &[&str], items: u64) -> (Vec<&'static str>, usize) {
        let line = Line::parse_from([&["test"], arguments].concat());
        let (entries, absent) = line.terms.entries::<u64>(items, |entry| entry.fixed.is_some());
        (entries.iter().map(|entry| entry.name).collect(), absent.len())
    }

    #[test]
    fn words_choose_contestants_and_the_reference_stays() {
        assert_eq!(names(&["--only", "qfilter"], 1000).0, ["coua", "qfilter"]);
        let (without, _) = names(&["--without", "coua,hash"], 1000);
        assert!(without.starts_with(&["coua", "cuckoofilter"]) && without.len() > 5);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_named() {
        let (all, none) = names(&[], 1000);
        let (some, left_out) = names(&["--memory-limit", "1"], 100_000_000);
        assert_eq!((none, some.len() + left_out), (0, all.len()));
        let line = Line::parse_from(["test"]);
        let (_, absent) = line.terms.entries::<u64>(100_000_000, |entry| entry.fixed.is_some());
        let slow = absent.iter().find(|(name, _)| name == "cuckoo-clock").map(|(_, why)| &**why);
        assert_eq!(slow, Some("takes too long above 20000000 items"));
        assert!(left_out > 5 && Line::try_parse_from(["test", "--rounds", "0"]).is_err());
    }
}
