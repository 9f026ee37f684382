//! How far a run is in each of its inputs.
//!
//! The first records of each are done, so that all of them may have grown when the run is resumed.

use crate::record::Format;
use crate::record::block::{Block, Ending};
use crate::terminal::message::Failure;
use crate::terminal::text::{counted, grouped};
use coua_store::Place;
use std::path::PathBuf;

/// What was done of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    /// As many as its first ones.
    records: u64,
    /// Bytes of the content of the last of them, if it had no separator: it may have been cut off.
    unended: Option<u64>,
}

impl Done {
    fn of(records: u64) -> Self {
        Self { records, unended: None }
    }

    fn at(place: &Place) -> Self {
        Self { records: place.records, unended: place.note.checked_sub(1) }
    }

    fn note(self) -> u64 {
        self.unended.map_or(0, |bytes| bytes + 1)
    }
}

/// How far a run is in an input.
#[derive(Debug, Default)]
pub(super) struct Position {
    path: PathBuf,
    /// By this run, or the one that it resumes.
    done: Done,
    /// Raw bytes read for that.
    offset: u64,
    /// Records that this run has met.
    met: u64,
}

impl Position {
    fn at(place: &Place) -> Self {
        let (path, offset) = (place.path.clone(), place.offset);
        Self { path, done: Done::at(place), offset, met: 0 }
    }

    /// Notes it in the place, the checksums aside. Whether the offset has moved, so that those must be taken anew.
    pub(super) fn note_in(&self, place: &mut Place) -> Option<u64> {
        (place.records, place.note) = (self.done.records, self.done.note());
        (place.offset != self.offset).then_some(self.offset)
    }

    /// Records that the run before has done, and this one has not met.
    fn remaining(&self) -> u64 {
        self.done.records.saturating_sub(self.met)
    }

    /// Takes the last record out of those done, if it had no separator and is longer now: so it is another
    /// one.
    fn look_at_last(&mut self, block: &Block, format: &Format) {
        let (Some(unended), Some(last)) = (self.done.unended, self.done.records.checked_sub(1))
        else {
            return;
        };
        let place = last.checked_sub(block.records_before);
        let record = place.and_then(|place| block.record(place as usize));
        if record.is_some_and(|record| format.content(record).len() as u64 != unended) {
            self.done = Done::of(last);
        }
    }

    /// All records of a block are done.
    fn pass(&mut self, block: &Block, format: &Format) {
        let last = block.len().checked_sub(1).filter(|_| block.ending != Ending::Separator);
        let last = last.and_then(|last| block.record(last));
        let unended = last.map(|record| format.content(record).len() as u64);
        self.done = Done { records: self.met, unended };
        self.offset = block.consumed - block.consumed_before;
    }
}

/// How far a run is in its inputs; of none, if it cannot be resumed.
#[derive(Debug, Default)]
pub(super) struct Positions {
    inputs: Vec<Position>,
    /// The one that is being read.
    current: usize,
}

impl Positions {
    /// Those of a run that begins here, or was left here.
    pub(super) fn at<'a>(places: impl Iterator<Item = &'a Place>) -> Self {
        Self { inputs: places.map(Position::at).collect(), current: 0 }
    }

    /// Takes a block in. Says how many of its records are done already.
    pub(super) fn enter(&mut self, block: &Block, format: &Format) -> Result<usize, Failure> {
        self.end_before(block.input)?;
        let Some(position) = self.inputs.get_mut(block.input) else { return Ok(0) };
        position.look_at_last(block, format);
        let done = position.done.records.saturating_sub(block.records_before);
        position.met = block.records_before + block.len() as u64;
        if position.remaining() == 0 {
            position.pass(block, format);
        }
        Ok(block.len().min(done as usize))
    }

    /// The records of the block from `place` on are not done after all.
    pub(super) fn take_back(&mut self, block: &Block, place: usize) {
        if let Some(position) = self.inputs.get_mut(block.input) {
            position.met = block.records_before + place as u64;
            position.done = Done::of(position.met);
        }
    }

    /// All inputs are read to their end.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.end_before(self.inputs.len())
    }

    /// The inputs before this one are read to their end. Complains if one has fewer records than were done.
    fn end_before(&mut self, input: usize) -> Result<(), Failure> {
        while self.current < input.min(self.inputs.len()) {
            let position = &self.inputs[self.current];
            if position.remaining() > 0 {
                let found = counted(position.met, "record");
                let done = grouped(position.done.records);
                let reason = format!(
                    "--resume: has changed: it has {found} (expected at least {done}, which are done); put it back \
                     as it was, or start over with --anew"
                );
                return Err(Failure::at(position.path.display(), reason));
            }
            self.current += 1;
        }
        Ok(())
    }

    /// Whether the run before was farther in the input that is being read.
    pub(super) fn is_repeating(&self) -> bool {
        self.inputs.get(self.current).is_some_and(|position| position.remaining() > 0)
    }

    /// Whether the run before was farther in this input, or has read some of a later one.
    pub(super) fn may_repeat(&self) -> bool {
        let mut left = self.inputs.iter().skip(self.current);
        left.any(|position| position.remaining() > 0)
    }

    /// Records done, of all inputs.
    pub(super) fn records(&self) -> u64 {
        self.inputs.iter().map(|position| position.done.records).sum()
    }

    /// In the order of the inputs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Position> {
        self.inputs.iter()
    }
}
