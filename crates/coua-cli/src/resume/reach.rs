//! How far a run is in each of its inputs.
//!
//! Of each the first records are dealt with, so that all of them may have grown when the run is gone on
//! with.

use crate::input::block::{Block, Ending};
use crate::message::Failure;
use crate::record::Format;
use coua_store::Place;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What was dealt with of an input: kept with the filter.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Dealt {
    /// As many as its first ones.
    pub(super) records: u64,
    /// Bytes of the content of the last of them, if it had no separator: it may have been cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unended: Option<u64>,
}

impl Dealt {
    fn of(records: u64) -> Self {
        Self { records, unended: None }
    }
}

/// How far a run is in an input.
#[derive(Debug, Default)]
struct Reach {
    path: PathBuf,
    /// By this run, or the one that it goes on with.
    dealt: Dealt,
    /// Raw bytes read for that.
    offset: u64,
    /// Records that this run has met.
    met: u64,
}

impl Reach {
    /// Records that the run before has dealt with, and this one has not met.
    fn ahead(&self) -> u64 {
        self.dealt.records.saturating_sub(self.met)
    }

    /// Takes the last record out of those dealt with, if it had no separator and is longer now: so it is
    /// another one.
    fn look_at_last(&mut self, block: &Block, format: &Format) {
        let (Some(unended), Some(last)) = (self.dealt.unended, self.dealt.records.checked_sub(1))
        else {
            return;
        };
        let place = last.checked_sub(block.records_before);
        let record = place.and_then(|place| block.record(place as usize));
        if record.is_some_and(|record| format.content(record).len() as u64 != unended) {
            self.dealt = Dealt::of(last);
        }
    }

    /// Goes on by all records of a block.
    fn pass(&mut self, block: &Block, format: &Format) {
        let last = block.len().checked_sub(1).filter(|_| block.ending != Ending::Separator);
        let last = last.and_then(|last| block.record(last));
        let unended = last.map(|record| format.content(record).len() as u64);
        self.dealt = Dealt { records: self.met, unended };
        self.offset = block.consumed - block.consumed_before;
    }
}

/// How far a run is in its inputs; of none, if it cannot be gone on with.
#[derive(Debug, Default)]
pub(super) struct Reaches {
    inputs: Vec<Reach>,
    /// The one that is being read.
    current: usize,
    /// Only their sum is known: what an input has not got of it is of the next one.
    is_sum: bool,
}

impl Reaches {
    /// At the beginning.
    pub(super) fn new(inputs: &[PathBuf]) -> Self {
        let inputs = inputs.iter().map(|path| Reach { path: path.clone(), ..Reach::default() });
        Self { inputs: inputs.collect(), ..Self::default() }
    }

    /// Where a run was left that has noted what it had dealt with of each of these.
    pub(super) fn left<'a>(places: impl Iterator<Item = &'a Place>, dealt: &[Dealt]) -> Self {
        let inputs = places.zip(dealt).map(|(place, &dealt)| {
            let (path, offset) = (place.path.clone(), place.offset);
            Reach { path, dealt, offset, met: 0 }
        });
        Self { inputs: inputs.collect(), ..Self::default() }
    }

    /// Where a run was left that has noted no more than the sum.
    pub(super) fn of_sum<'a>(places: impl Iterator<Item = &'a Place>, records: u64) -> Self {
        let all = [Dealt::of(records)].into_iter().chain(std::iter::repeat(Dealt::default()));
        let places: Vec<_> = places.collect();
        let dealt: Vec<_> = all.take(places.len()).collect();
        Self { is_sum: true, ..Self::left(places.into_iter(), &dealt) }
    }

    /// Goes on by a block; says how many of its records are to be passed over.
    pub(super) fn enter(&mut self, block: &Block, format: &Format) -> Result<usize, Failure> {
        self.end_before(block.input)?;
        let Some(reach) = self.inputs.get_mut(block.input) else { return Ok(0) };
        reach.look_at_last(block, format);
        let over = reach.dealt.records.saturating_sub(block.records_before);
        reach.met = block.records_before + block.len() as u64;
        if reach.ahead() == 0 {
            reach.pass(block, format);
        }
        Ok(block.len().min(over as usize))
    }

    /// Goes back: the records of the block from `place` on were not dealt with.
    pub(super) fn take_back(&mut self, block: &Block, place: usize) {
        if let Some(reach) = self.inputs.get_mut(block.input) {
            reach.met = block.records_before + place as u64;
            reach.dealt = Dealt::of(reach.met);
        }
    }

    /// All inputs are read to their end.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.end_before(self.inputs.len())
    }

    /// The inputs before this one are read to their end. Complains if one has less than was dealt with.
    fn end_before(&mut self, input: usize) -> Result<(), Failure> {
        while self.current < input.min(self.inputs.len()) {
            let (read, behind) = self.inputs.split_at_mut(self.current + 1);
            let reach = &mut read[self.current];
            match (reach.ahead(), behind.first_mut().filter(|_| self.is_sum)) {
                (0, _) => {}
                (ahead, Some(next)) => {
                    reach.dealt.records = reach.met;
                    next.dealt.records += ahead;
                }
                (ahead, None) => {
                    let reason = format!(
                        "--resume: has {} records, {ahead} less than the interrupted run has dealt with: \
                         it is not what it was",
                        reach.met
                    );
                    return Err(Failure::at(reach.path.display(), reason));
                }
            }
            self.current += 1;
        }
        Ok(())
    }

    /// Whether the run before was farther in the input that is being read.
    pub(super) fn is_behind(&self) -> bool {
        self.inputs.get(self.current).is_some_and(|reach| reach.ahead() > 0)
    }

    /// Whether it is not known yet in which of the inputs the run before was left.
    pub(super) fn is_unclear(&self) -> bool {
        self.is_sum && self.is_behind()
    }

    /// Records dealt with, of all inputs.
    pub(super) fn records(&self) -> u64 {
        self.inputs.iter().map(|reach| reach.dealt.records).sum()
    }

    /// What was dealt with of each input.
    pub(super) fn dealt(&self) -> Vec<Dealt> {
        self.inputs.iter().map(|reach| reach.dealt).collect()
    }

    /// Raw bytes of each input that were read for it.
    pub(super) fn offsets(&self) -> impl Iterator<Item = u64> {
        self.inputs.iter().map(|reach| reach.offset)
    }
}
