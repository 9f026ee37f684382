//! A filter in memory for a single thread, dropped at the end.

use crate::clock;
use crate::filter::collisions;
use crate::filter::estimate::Forecast;
use crate::filter::jumps::{Jumps, Screened};
use crate::filter::op::{Op, Stop};
use crate::filter::run_filter::{RunFilter, Summary, SummaryRequest, report_outdated};
use crate::filter::spec::FilterSpec;
use crate::input::Survey;
use crate::key::{Answers, Seen};
use crate::pipeline::Batch;
use crate::terminal::{FilterFigures, Result, Verbosity};
use coua::window::{Generations, Window};
use coua::{BatchFull, CuckooFilter, Insertion, KeyHasher};

/// The filter, and the forecast of its number of items.
#[derive(Debug)]
pub(super) struct MemoryFilter {
    filter: Generations,
    forecast: Option<Forecast>,
    outcomes: Vec<Insertion>,
    jumps: Jumps,
}

impl MemoryFilter {
    /// Builds a new filter. Its capacity may come from an estimate of the number of items.
    pub(super) fn new(spec: &FilterSpec, inputs: &Survey) -> Result<Self> {
        let filter = spec.build()?;
        let is_resizable = filter.unbounded().is_some_and(CuckooFilter::is_resizable);
        let is_open = is_resizable && spec.leaves_capacity_open();
        let forecast = Forecast::new(inputs.total_bytes, 1).filter(|_| is_open);
        let (outcomes, jumps) = (Vec::new(), Jumps::default());
        Ok(Self { filter, forecast, outcomes, jumps })
    }
}

impl RunFilter for MemoryFilter {
    fn hasher(&self) -> KeyHasher {
        self.filter.hasher()
    }

    fn window(&self) -> Option<Window> {
        self.filter.window()
    }

    fn load(&self) -> Option<f64> {
        Some(self.filter.load_factor())
    }

    /// Only `dedup` has a temporary filter.
    fn answer(&mut self, op: Op, batch: &mut Batch, _known: usize) -> Result<(), Stop> {
        clock::advance(&mut self.filter);
        let screened = self.jumps.screen(&self.filter, batch, 0);
        let Batch { block, keys, answers } = batch;
        let before = self.filter.len();
        let as_they_are = (keys.hashes.as_slice(), keys.when_from(0));
        let (hashes, when) = screened.as_ref().map_or(as_they_are, Screened::parts);
        let mut result = self.filter.insert_unique_batch_at(hashes, when, &mut self.outcomes);
        if let Some(screened) = screened {
            result = screened.restore(&mut self.outcomes, result, op);
        }
        let filter = &self.filter;
        record_outcomes(&self.outcomes, result, before, filter, answers);
        if let (Some(forecast), Some(filter)) = (&mut self.forecast, self.filter.unbounded_mut())
            && let Some(more) = forecast.more_items(block.consumed, keys.hashes.len(), filter)
        {
            // Without memory for all of it, the filter still grows in steps.
            filter.reserve(more).ok();
        }
        result.map_err(Stop::full)
    }

    fn report_doubts(&self, _op: Op, verbosity: Verbosity) {
        report_outdated(&self.filter, verbosity);
        self.jumps.report(verbosity);
    }

    fn summary(&mut self, request: SummaryRequest) -> Summary {
        Summary::of(FilterFigures::from(&self.filter), request)
    }
}

/// Records the outcomes of a filter, which had `before` items, up to the first hash for which there was no room.
pub(super) fn record_outcomes(
    outcomes: &[Insertion],
    result: Result<(), BatchFull>,
    before: u64,
    filter: &Generations,
    answers: &mut Answers,
) {
    let done = result.map_or_else(|stopped| stopped.done, |()| outcomes.len());
    answers.found.extend(outcomes.iter().take(done).copied().map(Seen::from));
    let new = answers.count(Seen::New);
    collisions::expect(answers, new, [before, filter.len()], filter.hash_bits());
}
