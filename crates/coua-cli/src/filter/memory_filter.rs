//! A filter in memory for a single thread, dropped at the end.

use crate::clock;
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{
    Doubts, Profile, RunFilter, Summary, SummaryRequest, outdated_note,
};
use crate::filter::spec::FilterSpec;
use crate::filter::time_outliers::{CheckedKeys, TimeOutliers};
use crate::pipeline::Batch;
use crate::terminal::{FilterFigures, Result};
use coua::window::Generations;
use coua::{Filter, IfPresent, Insertion};

#[derive(Debug)]
pub(super) struct MemoryFilter {
    filter: Generations,
    outcomes: Vec<Insertion>,
    outliers: TimeOutliers,
}

impl MemoryFilter {
    /// Builds a new filter.
    pub(super) fn new(spec: &FilterSpec) -> Result<Self> {
        let (filter, outcomes) = (spec.build()?, Vec::new());
        Ok(Self { filter, outcomes, outliers: TimeOutliers::default() })
    }
}

impl RunFilter for MemoryFilter {
    fn profile(&self) -> Profile {
        Profile { window: self.filter.window(), ..Profile::new(self.filter.hasher()) }
    }

    /// Only `dedup` has a temporary filter.
    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        clock::advance(&mut self.filter);
        let checked = self.outliers.check(&self.filter, batch);
        let Batch { keys, answers, .. } = batch;
        let as_they_are = (keys.hashes.as_slice(), keys.when());
        let (hashes, when) = checked.as_ref().map_or(as_they_are, CheckedKeys::parts);
        let if_present = IfPresent::Skip;
        let mut result = self.filter.insert_each(hashes, when, if_present, &mut self.outcomes);
        if let Some(checked) = checked {
            result = checked.restore(&mut self.outcomes, result, op);
        }
        answers.record(&self.outcomes, result);
        result.map_err(Stop::full)
    }

    fn doubts(&self, _op: Op) -> Doubts {
        let notes = outdated_note(&self.filter).into_iter().chain(self.outliers.note_left_out());
        Doubts { notes: notes.collect(), ..Doubts::default() }
    }

    fn finish(self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        Ok(Summary::of(FilterFigures::from(&self.filter), request))
    }
}
