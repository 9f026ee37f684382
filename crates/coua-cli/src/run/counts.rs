//! What a run has counted.

use crate::key::answers::{Answers, Found};
use crate::target::Op;
use crate::target::collisions::Answered;
use crate::terminal::figures;
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

    /// The figures of a command. `expected` records are wrongly dropped, if that was not counted here.
    pub(super) fn figures(&self, op: Op, expected: Option<Option<f64>>) -> figures::Answers {
        let none = figures::Answers::default();
        match op {
            Op::Dedup => {
                let expected = expected.unwrap_or(Some(self.expected_wrongly_dropped));
                figures::Answers {
                    unique: Some(self.unique),
                    repeats: Some(self.repeats),
                    // Chance may expect more than the repeats that there were.
                    expected_wrongly_dropped: expected.map(|it| it.min(self.repeats as f64)),
                    ..none
                }
            }
            Op::Add | Op::AddNew => figures::Answers { added: Some(self.added), ..none },
            Op::Remove => figures::Answers {
                removed: Some(self.found),
                not_found: Some(self.not_found),
                ..none
            },
            Op::Check | Op::Count => figures::Answers {
                found: Some(self.found),
                not_found: Some(self.not_found),
                ..none
            },
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
