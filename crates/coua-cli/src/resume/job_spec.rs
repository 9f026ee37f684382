//! The description of a run, which is stored with the filter to recognize the run.
//!
//! The description is JSON: a version, the command, and the options that affect the result and differ from
//! their defaults. A new option of a later version does not change old descriptions unless it is given. The
//! names of the options, and the form of their values, are part of the file format.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The version of descriptions.
const VERSION: u32 = 1;

/// The commands and options that this version knows.
const COMMANDS: [&str; 3] = ["dedup", "add", "remove"];
const OPTIONS: [&str; 27] = [
    "append",
    "comment",
    "compress",
    "csv",
    "delimiter",
    "encoding",
    "except",
    "fields",
    "ignore-case",
    "json",
    "known",
    "missing",
    "null",
    "output-dir",
    "regex",
    "repeats",
    "report",
    "separator",
    "shard",
    "time-field",
    "time-format",
    "time-zone",
    "trim",
    "tsv",
    "unicode",
    "unique",
    "url",
];

/// The description of a run, without its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobSpec {
    version: u32,
    command: String,
    /// The options that differ from their defaults.
    options: Map<String, Value>,
}

impl JobSpec {
    /// The job of a command with all options at their defaults.
    pub(crate) fn new(command: &str) -> Self {
        Self { version: VERSION, command: command.to_owned(), options: Map::new() }
    }

    /// Adds an option that affects the result, if it is given.
    pub(crate) fn with(self, option: &str, value: impl Serialize) -> Self {
        self.with_all(Map::from_iter([(option.to_owned(), json!(value))]))
    }

    /// Adds several options by name, if they are given.
    pub(crate) fn with_all(mut self, options: impl Serialize) -> Self {
        let options = json!(options);
        let all = options.as_object().into_iter().flatten();
        let given =
            all.filter(|(_, value)| ![json!(null), json!(false), json!([])].contains(value));
        self.options.extend(given.map(|(option, value)| (option.clone(), value.clone())));
        // With an unknown option, the run would look like one of a later version.
        debug_assert!(self.options.keys().all(|it| OPTIONS.contains(&&**it)), "{self:?}");
        self
    }

    /// Whether an option is given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// The bytes stored with the filter.
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn has_command_of(&self, other: &Self) -> bool {
        self.command == other.command
    }

    /// The first option that differs in another job of the same command.
    pub(super) fn first_difference(&self, other: &Self) -> Option<&'static str> {
        let differs = |option: &&str| self.options.get(*option) != other.options.get(*option);
        OPTIONS.into_iter().filter(|_| self.has_command_of(other)).find(differs)
    }
}

/// A job that a filter has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoredJob {
    Known(JobSpec),
    /// A job of a later version.
    Later,
}

impl StoredJob {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let is_known = |spec: &JobSpec| {
            let is_command = COMMANDS.contains(&&*spec.command);
            let mut names = spec.options.keys();
            spec.version <= VERSION && is_command && names.all(|name| OPTIONS.contains(&&**name))
        };
        match serde_json::from_slice::<JobSpec>(bytes) {
            Ok(spec) if is_known(&spec) => Self::Known(spec),
            _ => Self::Later,
        }
    }

    /// The command, if it is known.
    pub(super) fn command(&self) -> Option<&str> {
        match self {
            Self::Known(spec) => Some(&spec.command),
            Self::Later => None,
        }
    }

    /// Whether processing a record again counts it twice, as far as is known.
    pub(super) fn counts(&self) -> bool {
        match self {
            Self::Known(spec) => spec.command != "dedup" && !spec.options.contains_key("unique"),
            Self::Later => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str =
        r#"{"version":1,"command":"add","options":{"csv":["id"],"missing":"drop","trim":true}}"#;

    fn spec() -> JobSpec {
        let spec = JobSpec::new("add").with("trim", true).with("url", false);
        spec.with("csv", vec!["id"]).with("missing", Some("drop")).with("shard", None::<u8>)
    }

    #[test]
    fn a_description_is_kept_as_it_was() {
        assert_eq!(String::from_utf8(spec().bytes()).unwrap(), STORED);
        assert_eq!(StoredJob::of(STORED.as_bytes()), StoredJob::Known(spec()));
    }

    #[test]
    fn an_option_that_is_added_later_leaves_old_descriptions_equal() {
        let later = spec().with("added-later", false).with("and-another", None::<u8>);
        assert_eq!(StoredJob::of(STORED.as_bytes()), StoredJob::Known(later));
    }

    #[test]
    fn what_later_versions_may_store_is_not_understood() {
        let later = |from: &str, to: &str| StoredJob::of(STORED.replace(from, to).as_bytes());
        assert_eq!(later("trim", "added-later"), StoredJob::Later);
        assert_eq!(later(":1", ":2"), StoredJob::Later);
        assert_eq!(later("add", "replace"), StoredJob::Later);
        assert_eq!(StoredJob::of(b"what is to come"), StoredJob::Later);
    }

    #[test]
    fn what_differs_is_named() {
        let difference = |other: JobSpec| spec().first_difference(&other);
        assert_eq!(difference(spec()), None);
        assert_eq!(difference(spec().with("regex", Some("x"))), Some("regex"));
        assert_eq!(difference(spec().with("csv", vec!["other"])), Some("csv"));
        assert_eq!(difference(JobSpec::new("remove")), None, "that is another job");
        assert_eq!(difference(JobSpec::new("add").with("csv", vec!["id"])), Some("missing"));
    }
}
