//! What a run has counted.

use crate::key::answers::{Answers, Found};
use crate::target::Op;
use crate::target::collisions::{Answered, Expected};
use crate::terminal::report::Report;
use crate::terminal::text::significant;
use serde::{Deserialize, Serialize};

/// What a run has counted; each command has its own. The names are part of the file format: a run that is resumed
/// continues them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(skip_serializing_if = "is_zero")]
    unique: u64,
    #[serde(skip_serializing_if = "is_zero")]
    repeats: u64,
    #[serde(skip_serializing_if = "is_zero")]
    added: u64,
    #[serde(skip_serializing_if = "is_zero")]
    found: u64,
    #[serde(skip_serializing_if = "is_zero")]
    not_found: u64,
    #[serde(skip_serializing_if = "is_nothing")]
    expected_wrongly_dropped: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(count: &f64) -> bool {
    *count <= 0.0
}

impl Counts {
    /// Counts the answers to a block.
    pub(super) fn note(&mut self, op: Op, answers: &Answers) {
        let (no, yes) = match op {
            Op::Count => {
                let found = answers.counts.iter().filter(|count| **count > 0).count();
                ((answers.counts.len() - found) as u64, found as u64)
            }
            _ => (answers.count(Found::No), answers.count(Found::Yes)),
        };
        match op {
            Op::Dedup => {
                self.unique += no;
                self.repeats += yes;
                self.expected_wrongly_dropped += answers.wrongly_found;
            }
            Op::Add | Op::AddNew => self.added += answers.added,
            Op::Remove | Op::Check | Op::Count => {
                self.found += yes;
                self.not_found += no;
            }
        }
    }

    /// What progress shows.
    pub(super) fn shown(&self, op: Op) -> u64 {
        match op {
            Op::Dedup => self.unique,
            Op::Add | Op::AddNew => self.added,
            Op::Remove | Op::Check | Op::Count => self.found,
        }
    }

    pub(super) fn answered(&self) -> Answered {
        Answered { new: self.unique, repeats: self.repeats }
    }

    /// Adds the figures of a command.
    pub(super) fn tell(&self, op: Op, expected: Expected, report: &mut Report) {
        match op {
            Op::Dedup => {
                report.number("unique", "unique", self.unique);
                report.number("repeats", "repeats", self.repeats);
                let expected = match expected {
                    Expected::Counted => Some(self.expected_wrongly_dropped),
                    Expected::AtEnd(expected) => expected,
                };
                // Chance may expect more than the repeats that there were.
                if let Some(expected) = expected.map(|it| it.min(self.repeats as f64)) {
                    let name = "expected wrongly dropped";
                    report.measure("expected_wrongly_dropped", name, expected, significant);
                }
            }
            Op::Add | Op::AddNew => report.number("added", "added", self.added),
            Op::Remove => report.number("removed", "removed", self.found),
            Op::Check | Op::Count => report.number("found", "found", self.found),
        }
        if matches!(op, Op::Remove | Op::Check | Op::Count) {
            report.number("not_found", "not found", self.not_found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_as_earlier_versions_did() {
        let earlier = r#"{"unique":3,"repeats":2,"expected_wrongly_dropped":0.5}"#;
        let counts: Counts = serde_json::from_str(earlier).unwrap();
        assert_eq!((counts.unique, counts.repeats), (3, 2));
        assert_eq!(serde_json::to_string(&counts).unwrap(), earlier);
        let added = Counts { added: 7, ..Counts::default() };
        assert_eq!(serde_json::to_string(&added).unwrap(), r#"{"added":7}"#);
    }
}
