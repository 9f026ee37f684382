//! A filter in a file: opened for writing, or only read, by one or more threads.

use crate::clock;
use crate::filter::run_filter::{
    Op, Profile, RunFilter, Stop, Summary, SummaryRequest, outdated_note,
};
use crate::key::{Answers, BlockKeys, KeySpec, Seen};
use crate::pipeline::{Batch, Prefetch};
use crate::record::LARGE_BLOCK;
use crate::runs::Runs;
use crate::terminal::message::store_reason;
use crate::terminal::{Exit, Failure, FilterFigures, Result, message};
use coua::window::Generations;
use coua::{BatchFull, Filter};
use coua_store::{Reason, Store, StoreError, View};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

#[derive(Debug)]
pub(crate) struct FileFilter {
    pub(crate) store: Store,
    /// The name that the user gave.
    name: String,
    /// The runs that the filter remembers.
    runs: Runs,
    /// The key options. The notes of the file have them only once there may be keys.
    key_spec: Option<KeySpec>,
}

impl FileFilter {
    pub(super) fn new(store: Store, name: String) -> Result<Self> {
        let runs = Runs::of(store.notes(), &name)?;
        Ok(Self { store, name, runs, key_spec: None })
    }

    pub(crate) fn content(&self) -> &Generations {
        self.store.filter()
    }

    /// Sets the filter's clock: items outside its window are forgotten.
    pub(super) fn advance_clock(&mut self) {
        if let Some(time) = clock::time_for(self.content()) {
            self.store.advance(time);
        }
    }

    /// Saves all changes, at the end. Returns the filter.
    pub(crate) fn close(mut self) -> Result<Generations> {
        self.write_notes()?;
        self.store.finish().map_err(|error| not_saved(&self.name, &error))
    }

    fn write_notes(&mut self) -> Result<()> {
        if let Some(spec) = self.key_spec.take() {
            self.store.set_note(KeySpec::NOTE, &spec.to_note())?;
        }
        self.runs.write(&mut self.store)
    }

    /// Changes the filter by the keys of a block.
    fn change(&mut self, op: Op, batch: &mut Batch) -> Result<(), BatchFull> {
        if self.content().window().is_some() {
            self.advance_clock();
        }
        let Batch { keys, answers, .. } = batch;
        if op == Op::Remove {
            let removed = self.store.remove_batch(&keys.hashes);
            answers.found.extend(removed.into_iter().map(Seen::from));
            return Ok(());
        }
        let ever_held = |filter: &Generations| filter.len() + filter.forgotten();
        let (held, mut outcomes) = (ever_held(self.content()), Vec::new());
        let (when, if_present) = (keys.when(), op.if_present());
        let result = self.store.insert_each(&keys.hashes, when, if_present, &mut outcomes);
        answers.added = ever_held(self.content()) - held;
        if op != Op::Add {
            answers.record(&outcomes, result);
        }
        result
    }
}

impl RunFilter for FileFilter {
    fn profile(&self) -> Profile {
        let (filter, name) = (self.content(), self.name.clone());
        Profile {
            name,
            window: filter.window(),
            items: filter.len(),
            block_bytes: LARGE_BLOCK,
            is_saved: true,
            ..Profile::new(filter.hasher())
        }
    }

    fn key_spec(&mut self, offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        let is_empty = self.content().is_empty() && self.content().forgotten() == 0;
        if let Some(spec) = offered.filter(|_| is_empty) {
            self.key_spec = Some(spec.clone());
        }
        let noted = || KeySpec::of(self.store.notes(), &self.name);
        self.key_spec.clone().map_or_else(noted, |spec| Ok(Some(spec)))
    }

    fn runs(&mut self) -> Option<&mut Runs> {
        Some(&mut self.runs)
    }

    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        if op == Op::Check {
            let found = self.content().contains_batch(&batch.keys.hashes);
            batch.answers.found.extend(found.into_iter().map(Seen::from));
            return Ok(());
        }
        self.change(op, batch).map_err(Stop::full)
    }

    fn commit(&mut self) -> Result<()> {
        if self.content().is_empty() {
            self.runs.write(&mut self.store)?;
        } else {
            self.write_notes()?;
        }
        self.store.commit().map_err(|error| match &error.reason {
            // The run ends early, here.
            Reason::Unsynced(source) => {
                let reason = message::reason(source);
                let uncertain =
                    "saved up to here (continue with --resume), but a power cut may undo it";
                Failure::at(&self.name, format_args!("{uncertain}: {reason}"))
            }
            _ => not_saved(&self.name, &error),
        })
    }

    fn doubts(&self, op: Op) -> Option<String> {
        outdated_note(self.content()).filter(|_| op.inserts())
    }

    fn finish(self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        let filter = self.close()?;
        Ok(Summary::of(FilterFigures::from(&filter), request))
    }
}

/// A filter opened read-only.
#[derive(Debug)]
pub(super) struct ReadOnlyFile {
    name: String,
    view: RwLock<View>,
    has_window: bool,
    op: Op,
}

impl ReadOnlyFile {
    pub(super) fn new(name: String, view: View, op: Op) -> Self {
        let has_window = view.filter.window().is_some();
        Self { name, view: RwLock::new(view), has_window, op }
    }

    fn view(&self) -> RwLockReadGuard<'_, View> {
        // A thread that panics during a lookup leaves the filter unchanged.
        self.view.read().unwrap_or_else(PoisonError::into_inner)
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
        if !batch.answers.is_answered {
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            clock::advance(&mut view.filter);
            self.record(&view, &batch.keys, &mut batch.answers);
        }
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
        // With a window the present time matters, so keys are looked up in their turn.
        if !self.has_window {
            self.record(&self.view(), keys, answers);
            answers.is_answered = true;
        }
    }
}

/// The failure to report for a filter whose changes cannot be saved.
pub(super) fn not_saved(name: &str, error: &StoreError) -> Failure {
    let reason = store_reason(error);
    match error.reason {
        Reason::Replaced => Failure::at(error.path.display(), reason),
        Reason::Unsynced(_) => {
            let reason = format!("{reason}; the run need not be repeated");
            Failure::ending(Exit::Unsynced, name, reason)
        }
        _ => {
            let state = "not saved; the file is as before, or as at the last checkpoint";
            Failure::at(name, format_args!("{state}: {reason}"))
        }
    }
}
