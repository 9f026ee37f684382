//! What a run does: by this an interrupted one is recognised.

use crate::args::input::{InputArgs, Reading};
use crate::message::Failure;
use crate::record::Format;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::PathBuf;

/// What happens if a record that was dealt with is dealt with again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Again {
    /// The filter stays as it is.
    Harmless,
    /// It counts twice.
    Counts,
}

/// What a run does to which inputs.
#[derive(Debug)]
pub(crate) struct Job {
    pub(super) description: Description,
    /// If all of them are files with names.
    pub(super) inputs: Option<Vec<PathBuf>>,
    /// Of their records.
    pub(super) format: Format,
}

/// The part of a job that is kept with the filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    command: Cow<'static, str>,
    /// The options on which the answers depend.
    options: Map<String, Value>,
    pub(super) again: Again,
}

impl Job {
    pub(crate) fn new(command: &'static str, args: &InputArgs, reading: &Reading) -> Self {
        let options = match serde_json::to_value(args) {
            Ok(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let again = Again::Harmless;
        let description = Description { command: command.into(), options, again };
        Self { description, inputs: reading.inputs.files(), format: reading.format.clone() }
    }

    /// With one more option on which the answers depend.
    pub(crate) fn with(mut self, option: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.description.options.insert(option.to_owned(), value);
        self
    }

    pub(crate) fn again(mut self, again: Again) -> Self {
        self.description.again = again;
        self
    }
}

impl Description {
    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Complains if the job at hand is not `self`, the one of the interrupted run.
    pub(super) fn agree_with(&self, job: &Self) -> Result<(), Failure> {
        if self.command != job.command {
            let reason = format!("the interrupted run was one of `coua {}`", self.command);
            return Err(Failure::at("--resume", reason));
        }
        let names = self.options.keys().chain(job.options.keys());
        let differs = |name: &&String| self.options.get(*name) != job.options.get(*name);
        match names.into_iter().find(differs) {
            None => Ok(()),
            Some(name) => {
                let name = name.replace('_', "-");
                let reason = format!("--{name} is not as it was in the interrupted run");
                Err(Failure::at("--resume", reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(command: &'static str, options: &[(&str, u32)]) -> Description {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let (command, options) = (command.into(), options.collect());
        Description { command, options, again: Again::Harmless }
    }

    #[test]
    fn what_differs_is_named() {
        let known = description("add", &[("on_missing", 1), ("unique", 0)]);
        let reason = |job: &Description| known.agree_with(job).unwrap_err().reason().to_owned();
        assert!(known.agree_with(&description("add", &[("on_missing", 1), ("unique", 0)])).is_ok());
        assert!(reason(&description("dedup", &[])).contains("`coua add`"));
        let other = description("add", &[("on_missing", 2), ("unique", 0)]);
        assert!(reason(&other).starts_with("--on-missing is not as"));
        let more = description("add", &[("on_missing", 1), ("unique", 0), ("window", 7)]);
        assert!(reason(&more).starts_with("--window is not as"));
        assert!(reason(&description("add", &[("on_missing", 1)])).starts_with("--unique is not"));
    }
}
