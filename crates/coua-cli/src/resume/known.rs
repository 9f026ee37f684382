//! What the filter knows of the run before.

use super::job::{Again, Description, Job};
use super::reach::{Dealt, Reaches};
use crate::message::{self, Failure};
use coua_store::{Place, Progress, Role};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// What the program must know to go on, beside the positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) job: Description,
    /// It was not interrupted.
    pub(super) has_ended: bool,
    pub(super) counts: Value,
    pub(super) owes_separator: Vec<bool>,
    /// What was dealt with of each input. At first there was only the sum, in the progress.
    #[serde(default)]
    pub(super) inputs: Vec<Dealt>,
}

/// Whether a run may be forgotten whose records must not count twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anew {
    Refused,
    Wanted,
}

/// A run that the filter knows.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) progress: &'a Progress,
    pub(super) note: Note,
}

impl<'a> Known<'a> {
    /// None if there was no run, or none that can be gone on with.
    pub(super) fn of(progress: Option<&'a Progress>) -> Option<Result<Self, Failure>> {
        let progress = progress.filter(|progress| !progress.places.is_empty())?;
        let note = serde_json::from_slice(&progress.note).map_err(|_| {
            let reason = "the filter's last run was one of another version of coua: end it by that";
            Failure::at("--resume", reason)
        });
        Some(note.map(|note| Self { progress, note }))
    }

    fn places(&self, role: Role) -> impl Iterator<Item = &'a Place> + use<'a> {
        self.progress.places.iter().filter(move |place| place.role == role)
    }

    pub(super) fn outputs(&self) -> Vec<Place> {
        self.places(Role::Output).cloned().collect()
    }

    /// How far it is in its inputs.
    pub(super) fn reaches(&self) -> Reaches {
        let (places, inputs) = (self.places(Role::Input), &self.note.inputs);
        if inputs.is_empty() {
            return Reaches::of_sum(places, self.progress.records);
        }
        Reaches::left(places, inputs)
    }

    pub(super) fn counts<C: DeserializeOwned>(&self) -> Result<C, Failure> {
        serde_json::from_value(self.note.counts.clone()).map_err(|error| {
            Failure::at("--resume", format_args!("the interrupted run's figures: {error}"))
        })
    }

    /// Complains if this is not the run that is to be gone on with.
    pub(super) fn agree(
        &self,
        job: &Job,
        inputs: &[&Path],
        outputs: &[&Path],
    ) -> Result<(), Failure> {
        self.note.job.agree_with(&job.description)?;
        agree(self.places(Role::Input), inputs, "input")?;
        agree(self.places(Role::Output), outputs, "output")
    }

    /// Complains if its files were changed since.
    pub(super) fn check_places(&self) -> Result<(), Failure> {
        self.progress.places.iter().try_for_each(|place| {
            place.check().map_err(|moved| {
                let reason = format!("--resume: {moved}; without --resume a new run begins");
                Failure::at(place.path.display(), reason)
            })
        })?;
        self.check_sum()?;
        // What an interrupted run has written later is written again. One that has ended wrote nothing.
        let added = |place: &&Place| self.note.has_ended && bytes_beyond(place) > 0;
        self.places(Role::Output).find(added).map_or(Ok(()), |place| {
            let reason = format!(
                "--resume: has {} bytes more than the run that has ended left in it, which would be cut off: \
                 name another output",
                bytes_beyond(place)
            );
            Err(Failure::at(place.path.display(), reason))
        })
    }

    /// Complains if only the sum of the records is known, and an input has grown: what it has got more would
    /// be taken for records of those behind it.
    fn check_sum(&self) -> Result<(), Failure> {
        let inputs: Vec<_> = self.places(Role::Input).collect();
        let last = inputs.iter().rposition(|place| place.offset > 0).unwrap_or(0);
        let has_grown = |place: &&&Place| bytes_now(place) > place.size;
        let grown = inputs[..last].iter().find(has_grown).filter(|_| self.note.inputs.is_empty());
        grown.map_or(Ok(()), |place| {
            let reason = "--resume: has grown, and the run before was one of an earlier coua, which has not \
                          noted how many records of it it had dealt with; without --resume a new run begins";
            Err(Failure::at(place.path.display(), reason))
        })
    }

    /// What is to be committed before the run goes on: that it has not ended. None if it has, and the inputs
    /// have nothing more.
    pub(super) fn under_way(&self) -> Option<Progress> {
        let has_more = self.places(Role::Input).any(|place| bytes_beyond(place) > 0);
        if self.note.has_ended && !has_more {
            return None;
        }
        let note = Note { has_ended: false, ..self.note.clone() };
        let note = serde_json::to_vec(&note).unwrap_or_default();
        Some(Progress { note, ..self.progress.clone() })
    }

    /// Refuses what would spoil a run that was interrupted: to empty a file that holds records which the
    /// filter remembers, or to forget how far a run is whose records must not count twice.
    pub(super) fn keep(&self, name: &str, outputs: &[&Path], anew: Anew) -> Result<(), Failure> {
        let records = self.progress.records;
        if self.note.has_ended || records == 0 {
            return Ok(());
        }
        if let Some(path) = self.spoilt(outputs) {
            let reason = format!(
                "holds what an interrupted run found in {records} records, which the filter \
                 remembers: go on with it by --resume, or name another output"
            );
            return Err(Failure::at(path.display(), reason));
        }
        if anew == Anew::Refused && self.note.job.again == Again::Counts {
            let command = self.note.job.command();
            let input = self.of_input();
            let reason = format!(
                "an interrupted `coua {command}`{input} has dealt with {records} records, which \
                 would count twice: go on with it by --resume, or forget it by --anew"
            );
            return Err(Failure::at(name, reason));
        }
        Ok(())
    }

    /// Says that another run takes the place of this one, which has ended, if it must not be done twice.
    pub(super) fn tell_forgotten(&self, name: &str) {
        if self.note.job.again == Again::Counts {
            let (command, of) = (self.note.job.command(), self.of_input());
            message::say(format_args!(
                "{name}: forgets that `coua {command}`{of} has ended: done once more, its records would \
                 count twice"
            ));
        }
    }

    /// Of which input it is, in words.
    fn of_input(&self) -> String {
        let input = self.places(Role::Input).next().map(|place| place.path.display());
        input.map_or_else(String::new, |path| format!(" of {path}"))
    }

    /// The first of these files in which the run is beyond the beginning.
    fn spoilt<'b>(&self, outputs: &[&'b Path]) -> Option<&'b Path> {
        let is_spoilt = |path: &&Path| {
            let now = Place::of(Role::Output, path, 0);
            let mut places = self.places(Role::Output).filter(|place| place.offset > 0);
            now.is_ok_and(|now| places.any(|place| place.inode == now.inode))
        };
        outputs.iter().copied().find(is_spoilt)
    }
}

/// How much longer than the position the file is.
fn bytes_beyond(place: &Place) -> u64 {
    bytes_now(place).saturating_sub(place.offset)
}

fn bytes_now(place: &Place) -> u64 {
    place.path.metadata().map_or(0, |metadata| metadata.len())
}

/// Whether these are the files of the interrupted run, in its order.
fn agree<'a>(
    known: impl Iterator<Item = &'a Place>,
    given: &[&Path],
    what: &str,
) -> Result<(), Failure> {
    let known: Vec<_> = known.collect();
    for (place, path) in known.iter().zip(given) {
        if !Place::of(place.role, path, 0).is_ok_and(|now| now.inode == place.inode) {
            let (path, known) = (path.display(), place.path.display());
            let reason = format!("--resume: the interrupted run had {known} as its {what} here");
            return Err(Failure::at(path, reason));
        }
    }
    if known.len() == given.len() {
        return Ok(());
    }
    let (known, given) = (known.len(), given.len());
    let reason = format!("the interrupted run had {known} {what} files, this one has {given}");
    Err(Failure::at("--resume", reason))
}
