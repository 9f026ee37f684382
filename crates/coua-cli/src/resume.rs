//! Runs that can be gone on with after they were interrupted.
//!
//! A checkpoint commits the filter together with how far inputs and outputs are. To go on, the inputs
//! are read again from their beginning, and the records that were dealt with are passed over: so it
//! works for compressed inputs and every form of records.

use crate::message::Failure;
use crate::output::Settled;
use coua_store::{Place, Progress, Role};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Checkpoints take at most one part in so many of the time, unless they are to come all the time: a
/// large filter that changes all over takes seconds to write.
const SHARE: u32 = 10;

/// Says how far a run is.
#[derive(Debug)]
pub(crate) struct Tracker {
    every: Duration,
    /// When the last checkpoint began.
    began: Instant,
    /// When it was done.
    last: Instant,
    /// In their order, each with the position up to which it was read.
    inputs: Vec<Place>,
}

/// What the program must know to go on, beside the positions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) unique: u64,
    pub(crate) repeats: u64,
    /// Items in the filter when the run began.
    pub(crate) items_before: u64,
    pub(crate) owes_separator: Vec<bool>,
}

/// An interrupted run that is to be gone on with.
#[derive(Debug)]
pub(crate) struct Interrupted {
    pub(crate) records: u64,
    pub(crate) note: Note,
    pub(crate) outputs: Vec<Place>,
}

impl Tracker {
    pub(crate) fn new(inputs: &[PathBuf], every: Duration) -> Result<Self, Failure> {
        let place = |path: &PathBuf| {
            Place::of(Role::Input, path, 0).map_err(|error| Failure::io(path.display(), &error))
        };
        let inputs = inputs.iter().map(place).collect::<Result<_, _>>()?;
        let now = Instant::now();
        Ok(Self { every, began: now, last: now, inputs })
    }

    pub(crate) fn is_due(&self) -> bool {
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        self.last.elapsed()
            >= self.every.max(rest * self.last.saturating_duration_since(self.began))
    }

    /// It is done.
    pub(crate) fn done(&mut self) {
        self.last = Instant::now();
    }

    /// How far the run is after `records` records; `consumed` bytes of all inputs were read.
    pub(crate) fn progress(
        &mut self,
        (records, mut consumed): (u64, u64),
        settled: Settled,
        note: &Note,
    ) -> Result<Progress, Failure> {
        self.began = Instant::now();
        for place in &mut self.inputs {
            let offset = consumed.min(place.size);
            consumed -= offset;
            if place.offset != offset {
                let moved = Place::of(Role::Input, &place.path, offset);
                let moved = moved.map_err(|error| Failure::io(place.path.display(), &error))?;
                // Growth is noticed, but does not make it another file.
                *place = Place { size: place.size, ..moved };
            }
        }
        let note = Note { owes_separator: settled.owes_separator, ..*note };
        let note = serde_json::to_vec(&note).unwrap_or_default();
        let places = self.inputs.iter().cloned().chain(settled.places).collect();
        Ok(Progress { records, note, places })
    }
}

impl Interrupted {
    /// The run that the filter knows, if it is the one of these inputs and outputs.
    pub(crate) fn of(
        progress: Option<&Progress>,
        inputs: &[PathBuf],
        outputs: &[&Path],
    ) -> Result<Option<Self>, Failure> {
        let Some(progress) = progress.filter(|progress| !progress.places.is_empty()) else {
            return match outputs.iter().find(|path| has_content(path)) {
                Some(path) => Err(Failure::at(
                    path.display(),
                    "--resume: the filter knows of no interrupted run into this file: leave \
                     --resume out to begin anew, which empties it",
                )),
                None => Ok(None),
            };
        };
        let of_role = |role| progress.places.iter().filter(move |place| place.role == role);
        let inputs = inputs.iter().map(PathBuf::as_path);
        agree(of_role(Role::Input), inputs, "input")?;
        agree(of_role(Role::Output), outputs.iter().copied(), "output")?;
        for place in &progress.places {
            place.check().map_err(|moved| {
                let reason = format!("--resume: {moved}; without --resume a new run begins");
                Failure::at(place.path.display(), reason)
            })?;
        }
        Ok(Some(Self {
            records: progress.records,
            note: serde_json::from_slice(&progress.note).unwrap_or_default(),
            outputs: of_role(Role::Output).cloned().collect(),
        }))
    }
}

/// Whether these are the files of the interrupted run, in its order.
fn agree<'a>(
    known: impl Iterator<Item = &'a Place>,
    given: impl Iterator<Item = &'a Path>,
    what: &str,
) -> Result<(), Failure> {
    let (known, given): (Vec<_>, Vec<_>) = (known.collect(), given.collect());
    for (place, path) in known.iter().zip(&given) {
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

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Refuses to empty a file that holds records which the filter remembers, of a run that has not ended.
pub(crate) fn keep_interrupted(
    progress: Option<&Progress>,
    outputs: &[&Path],
) -> Result<(), Failure> {
    let Some(progress) = progress.filter(|progress| progress.records > 0) else { return Ok(()) };
    let is_output = |place: &&Place| place.role == Role::Output && place.offset > 0;
    for place in progress.places.iter().filter(is_output) {
        let same = |path: &&&Path| {
            Place::of(Role::Output, path, 0).is_ok_and(|now| now.inode == place.inode)
        };
        if let Some(path) = outputs.iter().find(same) {
            let records = progress.records;
            let reason = format!(
                "holds what an interrupted run found in {records} records, which the filter \
                 remembers: go on with it by --resume, or name another output"
            );
            return Err(Failure::at(path.display(), reason));
        }
    }
    Ok(())
}
