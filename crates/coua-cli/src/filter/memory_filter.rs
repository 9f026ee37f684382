//! A filter in memory for a single thread, dropped at the end.

use crate::clock;
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{
    Doubts, Profile, RunFilter, Summary, SummaryRequest, outdated_note,
};
use crate::filter::spec::FilterSpec;
use crate::pipeline::Batch;
use crate::terminal::{FilterFigures, Result};
use coua::window::Generations;
use coua::{Filter, Insertion};

#[derive(Debug)]
pub(super) struct MemoryFilter {
    filter: Generations,
    outcomes: Vec<Insertion>,
}

impl MemoryFilter {
    /// Builds a new filter.
    pub(super) fn new(spec: &FilterSpec) -> Result<Self> {
        Ok(Self { filter: spec.build()?, outcomes: Vec::new() })
    }
}

impl RunFilter for MemoryFilter {
    fn profile(&self) -> Profile {
        Profile { window: self.filter.window(), ..Profile::new(self.filter.hasher()) }
    }

    /// Only `dedup` has a temporary filter.
    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        clock::advance(&mut self.filter);
        let Batch { keys, answers, .. } = batch;
        let (when, if_present) = (keys.when(), op.if_present());
        let result = self.filter.insert_each(&keys.hashes, when, if_present, &mut self.outcomes);
        answers.record(&self.outcomes, result);
        result.map_err(Stop::full)
    }

    fn doubts(&self, _op: Op) -> Doubts {
        Doubts { notes: outdated_note(&self.filter).into_iter().collect(), ..Doubts::default() }
    }

    fn finish(self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        Ok(Summary::of(FilterFigures::from(&self.filter), request))
    }
}
