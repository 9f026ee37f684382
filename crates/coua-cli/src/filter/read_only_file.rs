//! A filter file that is only read, by one or more threads.

use crate::clock;
use crate::filter::run_filter::{Op, Profile, RunFilter, Stop, Summary, SummaryRequest};
use crate::key::{Answers, BlockKeys, KeySpec, Seen};
use crate::pipeline::{Batch, Prefetch};
use crate::terminal::{FilterFigures, Result};
use coua_store::View;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A filter opened read-only.
#[derive(Debug)]
pub(super) struct ReadOnlyFile {
    name: String,
    view: RwLock<View>,
    op: Op,
}

impl ReadOnlyFile {
    pub(super) fn new(name: String, view: View, op: Op) -> Self {
        Self { name, view: RwLock::new(view), op }
    }

    fn view(&self) -> RwLockReadGuard<'_, View> {
        // A thread that panics during a lookup leaves the filter unchanged.
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up the keys of a block in its turn, unless that is already done.
    fn look_up(&self, keys: &BlockKeys, answers: &mut Answers) {
        if answers.is_answered || self.look_up_early(&self.view(), keys, answers) {
            return;
        }
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        clock::advance(&mut view.filter);
        self.record(&view, keys, answers);
    }

    /// Looks up keys before their turn. Returns false if they must wait because the present time matters.
    fn look_up_early(&self, view: &View, keys: &BlockKeys, answers: &mut Answers) -> bool {
        if view.filter.window().is_some() {
            return false;
        }
        self.record(view, keys, answers);
        true
    }

    fn record(&self, view: &View, keys: &BlockKeys, answers: &mut Answers) {
        let filter = &view.filter;
        if self.op == Op::Count {
            answers.counts = filter.count_batch(&keys.hashes);
        } else {
            let there = filter.contains_batch(&keys.hashes);
            answers.found.extend(there.into_iter().map(Seen::from));
        }
    }
}

impl RunFilter for Arc<ReadOnlyFile> {
    fn profile(&self) -> Profile {
        let filter = &self.view().filter;
        let (name, window, items) = (self.name.clone(), filter.window(), filter.len());
        let prefetch = self.clone();
        Profile { name, window, items, prefetch, ..Profile::new(filter.hasher()) }
    }

    fn key_spec(&mut self, _offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        KeySpec::of(&self.view().notes, &self.name)
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch) -> Result<(), Stop> {
        self.look_up(&batch.keys, &mut batch.answers);
        Ok(())
    }

    fn finish(self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        let view = self.view();
        view.check_origin()?;
        Ok(Summary::of(FilterFigures::from(&view.filter), request))
    }
}

impl Prefetch for ReadOnlyFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        // A locked filter is being changed in turn; do not wait for it.
        if let Ok(view) = self.view.try_read() {
            answers.is_answered = self.look_up_early(&view, keys, answers);
        }
    }
}
