//! What an earlier run has added to a filter is removed again.

use super::job::Reading;
use crate::filter::{Op, RunFilter, Stage, Stop};
use crate::input::{BlockReader, Inputs};
use crate::key::{Hashing, Mixing, OnMissing};
use crate::pipeline::Batch;
use crate::resume::Undo;
use crate::runs::Place;
use crate::terminal::{CancelToken, Failure, Result};
use std::sync::Arc;

/// Removes what the run has added, and forgets the run: both are committed at once. Only then may its outputs be emptied.
pub(super) fn undo(reading: &Reading, filter: &mut dyn RunFilter, undo: &Undo) -> Result<()> {
    if let Some(output) = &undo.output {
        remove(reading, filter, output)?;
    }
    if let Some(runs) = filter.runs() {
        runs.remove(undo.number);
    }
    filter.commit(Stage::Begin)
}

/// Removes the records of an output up to a place.
fn remove(reading: &Reading, filter: &mut dyn RunFilter, output: &Place) -> Result<()> {
    let mut hashing = Hashing {
        hasher: filter.hasher(),
        wanted: filter.wanted(),
        on_missing: Some(OnMissing::Keep),
        ..reading.hashing.clone()
    };
    let inputs = Inputs::start_of(&output.path, output.offset);
    let (stop, headers) = (Arc::new(CancelToken::new()?), reading.headers(Mixing::Allowed));
    let format = hashing.format.clone();
    let mut reader = BlockReader::new(inputs, format, headers, stop, Arc::default());
    let mut batch = Batch::default();
    while reader.next_block(&mut batch.block)? {
        if let Some(failure) = batch.block.failure.take() {
            return Err(failure);
        }
        hashing.hash(&mut batch.block, &mut batch.keys);
        batch.answers.clear();
        filter.answer(Op::Remove, &mut batch, 0).map_err(|stop| match stop {
            Stop::Lost { failure, .. } => failure,
            Stop::Full { no_room, .. } => Failure::at(filter.name(), no_room.why),
        })?;
    }
    Ok(())
}
