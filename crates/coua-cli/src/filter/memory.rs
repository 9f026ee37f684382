//! A filter in memory alone, which is forgotten at the end: as a whole.

use crate::clock::Now;
use crate::filter::collisions;
use crate::filter::estimate::Forecast;
use crate::filter::op::Stop;
use crate::filter::spec::FilterSpec;
use crate::input::Survey;
use crate::key::{Answers, Found, Keyed};
use crate::terminal::Result;
use coua::window::Generations;
use coua::{BatchFull, CuckooFilter, Insertion};

/// The filter, and how many items it is expected to get.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(super) filter: Generations,
    forecast: Option<Forecast>,
    outcomes: Vec<Insertion>,
    now: Now,
}

impl Memory {
    /// A new filter. The number of items is estimated where it decides the capacity.
    pub(super) fn new(spec: &FilterSpec, inputs: &Survey) -> Result<Self> {
        let filter = spec.build()?;
        let is_resizable = filter.unbounded().is_some_and(CuckooFilter::is_resizable);
        let is_open = is_resizable && spec.leaves_capacity_open();
        let forecast = Forecast::new(inputs.total_bytes).filter(|_| is_open);
        Ok(Self { filter, forecast, outcomes: Vec::new(), now: spec.now })
    }

    pub(super) fn insert_unique(
        &mut self,
        keyed: &Keyed,
        consumed: u64,
        answers: &mut Answers,
    ) -> Result<(), Stop> {
        self.now.tell(&mut self.filter);
        let before = self.filter.len();
        let (hashes, when) = (&keyed.hashes, keyed.when_from(0));
        let result = self.filter.insert_unique_batch_at(hashes, when, &mut self.outcomes);
        let filter = &self.filter;
        note_outcomes(&self.outcomes, result, (before, filter), answers);
        if let (Some(forecast), Some(filter)) = (&mut self.forecast, self.filter.unbounded_mut()) {
            forecast.make_room(consumed, hashes.len(), filter);
        }
        result.map_err(Stop::full)
    }
}

/// Notes what a filter, which had so many items before, says of the hashes up to the one for which there was no
/// room.
pub(super) fn note_outcomes(
    outcomes: &[Insertion],
    result: Result<(), BatchFull>,
    (before, filter): (u64, &Generations),
    answers: &mut Answers,
) {
    let done = result.map_or_else(|stopped| stopped.done, |()| outcomes.len());
    answers.found.extend(outcomes.iter().take(done).copied().map(Found::from));
    let new = answers.count(Found::No);
    collisions::expect(answers, new, [before, filter.len()], filter.hash_bits());
}
