//! The description of a run, without its files. A filter stores it to recognize the run.
//!
//! The description is JSON: the command, and the options that affect the result and differ from their defaults.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A command and its options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobSpec {
    pub(crate) command: String,
    /// The options that differ from their defaults.
    options: Map<String, Value>,
}

impl JobSpec {
    /// The job of a command with all options at their defaults.
    pub(crate) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), options: Map::new() }
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
        self
    }

    /// Whether an option is given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// Whether the command prints records that the filter then remembers.
    pub(crate) fn is_dedup(&self) -> bool {
        self.command == "dedup"
    }

    /// Whether processing a record again counts it twice.
    pub(crate) fn counts(&self) -> bool {
        !self.is_dedup() && !self.has("unique")
    }

    /// The first option that differs in another job of the same command.
    pub(crate) fn first_difference<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let mut all = self.options.keys().chain(other.options.keys());
        let option = all.find(|option| self.options.get(*option) != other.options.get(*option));
        option.filter(|_| self.command == other.command).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> JobSpec {
        let spec = JobSpec::new("add").with("trim", true).with("url", false);
        spec.with("csv", vec!["id"]).with("missing", Some("drop")).with("shard", None::<u8>)
    }

    #[test]
    fn only_options_that_are_given_are_stored() {
        let stored = r#"{"command":"add","options":{"csv":["id"],"missing":"drop","trim":true}}"#;
        assert_eq!(serde_json::to_string(&spec()).unwrap(), stored);
        assert_eq!(serde_json::from_str::<JobSpec>(stored).unwrap(), spec());
    }

    #[test]
    fn what_differs_is_named() {
        let (spec, csv) = (spec(), vec!["other"]);
        let differs = |other: JobSpec, option| {
            assert_eq!(spec.first_difference(&other), option);
            assert_eq!(other.first_difference(&spec), option);
        };
        differs(spec.clone(), None);
        differs(spec.clone().with("regex", Some("x")), Some("regex"));
        differs(spec.clone().with("csv", csv), Some("csv"));
        differs(JobSpec::new("remove"), None);
        differs(JobSpec::new("add").with("csv", vec!["id"]).with("trim", true), Some("missing"));
    }
}
