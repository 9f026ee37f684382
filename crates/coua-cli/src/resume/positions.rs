//! The position of a run in each of its inputs.
//!
//! In each input the first records are done, so any input may have grown when the run is resumed.

use crate::record::{Block, BlockEnd, RecordFormat};
use crate::runs::{Place, Role};
use crate::terminal::{Failure, Result, counted, grouped};

/// The position of a run in an input.
#[derive(Debug)]
struct Position {
    /// The first records, which were done by this run or the one that it resumes. The note is 0; if the last
    /// of them had no separator, and so may have been cut off, it is 1 more than the bytes of its content.
    place: Place,
    /// The number of records that this run has read.
    met: u64,
}

impl Position {
    /// The number of records that the previous run has done, and this one has not read.
    fn remaining(&self) -> u64 {
        self.place.records.saturating_sub(self.met)
    }

    /// Marks the last record as not done, if it had no separator and is longer now: it is a new record.
    fn look_at_last(&mut self, block: &Block, format: &RecordFormat) {
        let Place { note, records, .. } = self.place;
        let (Some(unended), Some(last)) = (note.checked_sub(1), records.checked_sub(1)) else {
            return;
        };
        let place = last.checked_sub(block.records_before);
        let record = place.and_then(|place| block.record(place as usize));
        if record.is_some_and(|record| format.content(record).len() as u64 != unended) {
            (self.place.records, self.place.note) = (last, 0);
        }
    }

    /// Marks all records of a block as done.
    fn pass(&mut self, block: &Block, format: &RecordFormat) {
        let last = block.len().checked_sub(1).filter(|_| block.ending != BlockEnd::Separator);
        let last = last.and_then(|last| block.record(last));
        self.place.note = last.map_or(0, |record| format.content(record).len() as u64 + 1);
        self.place.records = self.met;
        self.place.offset = block.consumed - block.consumed_before;
        self.place.sum = block.sum;
    }
}

/// The positions of a run in all its inputs.
#[derive(Debug)]
pub(super) struct Positions {
    inputs: Vec<Position>,
    /// The input that is being read.
    current: usize,
    /// The number of inputs up to the last one that a previous run has read.
    read_before: usize,
}

impl Positions {
    /// The positions of a run that begins at these places, or was interrupted there.
    pub(super) fn at(places: &[Place]) -> Self {
        let inputs = places.iter().filter(|place| place.role == Role::Input);
        let inputs: Vec<_> =
            inputs.map(|place| Position { place: place.clone(), met: 0 }).collect();
        let last = inputs.iter().rposition(|input| input.place.records > 0);
        Self { inputs, current: 0, read_before: last.map_or(0, |last| last + 1) }
    }

    /// Enters a block. Returns the number of its records that are already done.
    pub(super) fn enter(&mut self, block: &Block, format: &RecordFormat) -> Result<usize> {
        self.end_before(block.input)?;
        let Some(position) = self.inputs.get_mut(block.input) else { return Ok(0) };
        position.look_at_last(block, format);
        let done = position.place.records.saturating_sub(block.records_before);
        position.met = block.records_before + block.len() as u64;
        if position.remaining() == 0 {
            position.pass(block, format);
        }
        Ok(block.len().min(done as usize))
    }

    /// Marks the records of the block from `place` on as not done.
    pub(super) fn roll_back(&mut self, block: &Block, place: usize) {
        if let Some(position) = self.inputs.get_mut(block.input) {
            position.met = block.records_before + place as u64;
            (position.place.records, position.place.note) = (position.met, 0);
        }
    }

    /// Records that all inputs are read to their end.
    pub(super) fn end(&mut self) -> Result<()> {
        self.end_before(self.inputs.len())
    }

    /// Ends the inputs before this one. Returns an error if one has fewer records than were done.
    fn end_before(&mut self, input: usize) -> Result<()> {
        while self.current < input.min(self.inputs.len()) {
            let position = &self.inputs[self.current];
            if position.remaining() > 0 {
                let found = counted(position.met, "record");
                let done = grouped(position.place.records);
                let reason = format!(
                    "--resume: has {found}, fewer than the {done} already processed; restore it"
                );
                return Err(Failure::at(position.place.path.display(), reason));
            }
            self.current += 1;
        }
        Ok(())
    }

    /// Whether the previous run got farther in the current input.
    pub(super) fn is_repeating(&self) -> bool {
        self.inputs.get(self.current).is_some_and(|position| position.remaining() > 0)
    }

    /// Whether the previous run got farther in the current input, or had read some of a later one.
    pub(super) fn may_repeat(&self) -> bool {
        self.current + 1 < self.read_before || self.is_repeating()
    }

    /// The number of records done, over all inputs.
    pub(super) fn records(&self) -> u64 {
        self.inputs.iter().map(|position| position.place.records).sum()
    }

    /// The places, in the order of the inputs.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.inputs.iter().map(|position| position.place.clone())
    }
}
