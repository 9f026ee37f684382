//! The position of a run in each of its inputs.
//!
//! In each input the first records are done, so any input may have grown when the run is resumed.

use super::remembered::is_missing;
use crate::platform::Identity;
use crate::record::{Block, BlockEnd, RecordFormat};
use crate::runs::Place;
use crate::terminal::{Failure, Result, counted, grouped};
use std::io;
use std::path::PathBuf;

/// The position of a run in an input.
#[derive(Debug)]
struct Position {
    /// The first records, which were done by this run or the one that it resumes. The note is 0; if the last
    /// of them had no separator, and so may have been cut off, it is 1 more than the bytes of its content.
    place: Place,
    /// The raw bytes read for them; [`move_place`](Self::move_place) moves the place there.
    offset: u64,
    /// Their checksum, if the input is compressed; otherwise 0.
    digest: u64,
    /// The identity of the file, valid in this process only.
    identity: Option<Identity>,
    /// The number of records that this run has read.
    met: u64,
}

impl Position {
    fn at(place: &Place) -> Self {
        let (identity, offset) = (Identity::at(&place.path), place.offset);
        Self { place: place.clone(), offset, digest: place.whole, identity, met: 0 }
    }

    /// Moves the place. Returns the same errors as [`look`](Self::look).
    fn move_place(&mut self) -> Result<(), PathBuf> {
        if self.place.offset == self.offset {
            return Ok(());
        }
        let moved = self.place.move_to(self.offset);
        self.place.whole = self.digest;
        self.classify(moved)
    }

    /// Returns an error if the name now leads to another file or to none, as after log rotation: the run cannot be
    /// resumed.
    fn look(&self) -> Result<(), PathBuf> {
        if self.offset == 0 {
            return Ok(());
        }
        self.classify(self.place.path.metadata().map(drop))
    }

    fn classify(&self, found: io::Result<()>) -> Result<(), PathBuf> {
        match found {
            Ok(()) if Identity::at(&self.place.path) == self.identity => Ok(()),
            // It may still be the same file, which a resumed run will find out.
            Err(error) if !is_missing(&error) => Ok(()),
            _ => Err(self.place.path.clone()),
        }
    }

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
        self.offset = block.consumed - block.consumed_before;
        self.digest = block.digest;
    }
}

/// The positions of a run in all its inputs.
#[derive(Debug)]
pub(super) struct Positions {
    inputs: Vec<Position>,
    /// The input that is being read.
    current: usize,
}

impl Positions {
    /// The positions of a run that begins at these places, or was interrupted there.
    pub(super) fn at<'a>(places: impl Iterator<Item = &'a Place>) -> Self {
        Self { inputs: places.map(Position::at).collect(), current: 0 }
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
                    "--resume: has {found}, fewer than the {done} already processed; restore it, or start over with \
                     --restart or --overwrite"
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
        let mut left = self.inputs.iter().skip(self.current);
        left.any(|position| position.remaining() > 0)
    }

    /// The number of records done, over all inputs.
    pub(super) fn records(&self) -> u64 {
        self.inputs.iter().map(|position| position.place.records).sum()
    }

    /// Moves the places to the records done, up to an input that has lost its name. Checks the current input even if
    /// its place has not moved.
    pub(super) fn move_places(&mut self) -> Result<(), PathBuf> {
        self.inputs.iter_mut().try_for_each(Position::move_place)?;
        self.inputs.get(self.current).map_or(Ok(()), Position::look)
    }

    /// The places, in the order of the inputs.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.inputs.iter().map(|position| position.place.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Role;
    use std::fs;

    /// The input was not read between the two checks.
    #[test]
    fn an_input_that_is_replaced_after_its_place_has_moved_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["read", "current"].map(|name| folder.path().join(name));
        for path in &paths {
            fs::write(path, "a\nb\n").unwrap();
        }
        let places = paths.each_ref().map(|path| Place::start(Role::Input, path));
        let mut positions = Positions::at(places.iter());
        positions.inputs.iter_mut().for_each(|position| position.offset = 4);
        positions.current = 1;
        assert_eq!(positions.move_places(), Ok(()));
        let replace = |path: &PathBuf| {
            fs::write(folder.path().join("new"), "c\n").unwrap();
            fs::rename(folder.path().join("new"), path).unwrap();
        };
        replace(&paths[0]);
        assert_eq!(positions.move_places(), Ok(()), "that one was read to its end");
        replace(&paths[1]);
        assert_eq!(positions.move_places(), Err(paths[1].clone()));
        fs::remove_file(&paths[1]).unwrap();
        assert_eq!(positions.move_places(), Err(paths[1].clone()));
    }
}
