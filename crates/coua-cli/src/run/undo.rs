//! What an earlier run has added to a filter is removed again.

use super::job::Reading;
use crate::filter::{Op, RunFilter, Stage, Stop};
use crate::input::{BlockReader, Inputs};
use crate::key::{Hashing, Mixing, OnMissing};
use crate::pipeline::Batch;
use crate::resume::Undo;
use crate::runs::{Place, Role};
use crate::terminal::{CancelToken, Failure, Result};
use std::sync::Arc;

/// Removes what the run has added, and forgets the run: both are committed at once. Only then may its outputs be emptied.
pub(super) fn undo(reading: &Reading, filter: &mut dyn RunFilter, undo: &Undo) -> Result<()> {
    for place in &undo.added {
        remove(reading, filter, place)?;
    }
    if let Some(runs) = filter.runs() {
        runs.remove(undo.number);
    }
    filter.commit(Stage::Begin)
}

/// Removes the records of a file up to a place: all of an output, and so many of an input as were done.
fn remove(reading: &Reading, filter: &mut dyn RunFilter, place: &Place) -> Result<()> {
    let (inputs, mut left) = match place.role {
        Role::Output => (Inputs::start_of(&place.path, place.offset), u64::MAX),
        Role::Input => (reading.inputs.only(&place.path), place.records),
    };
    let mut hashing = Hashing {
        hasher: filter.hasher(),
        wanted: filter.wanted(),
        on_missing: Some(OnMissing::Keep),
        ..reading.hashing.clone()
    };
    let (stop, headers) = (Arc::new(CancelToken::new()?), reading.headers(Mixing::Allowed));
    let format = hashing.format.clone();
    let mut reader = BlockReader::new(inputs, format, headers, stop, Arc::default());
    let mut batch = Batch::default();
    while left > 0 && reader.next_block(&mut batch.block)? {
        if let Some(failure) = batch.block.failure.take() {
            return Err(failure);
        }
        batch.block.cut(usize::try_from(left).unwrap_or(usize::MAX));
        left -= batch.block.len() as u64;
        hashing.hash(&mut batch.block, &mut batch.keys);
        batch.answers.clear();
        filter.answer(Op::Remove, &mut batch, 0).map_err(|stop| match stop {
            Stop::Lost { failure, .. } => failure,
            Stop::Full { why, .. } => Failure::at(filter.name(), why),
        })?;
    }
    Ok(())
}
