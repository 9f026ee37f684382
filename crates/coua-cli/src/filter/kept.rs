//! A filter of which changes are kept in its file.

use crate::clock::Now;
use crate::filter::divided::Divided;
use crate::filter::memory::note_outcomes;
use crate::filter::op::{Op, Stop};
use crate::key::{Answers, Found, Keyed};
use crate::pipeline::Early;
use crate::runs::Runs;
use crate::terminal::message::words;
use crate::terminal::{Exit, Failure, Result, message};
use coua::Insertion;
use coua::window::Generations;
use coua_store::{Reason, Store, StoreError};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The filter.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) store: Store,
    /// The runs that it remembers.
    pub(crate) runs: Runs,
    /// As they are in its notes.
    noted: Runs,
    now: Now,
    /// What its file has without what was not saved yet.
    saved: Saved,
    /// If several threads may insert.
    divided: Option<Arc<Divided>>,
    /// With fewer items it is not tried to divide the filter.
    least_items: u64,
}

/// Blocks of fewer keys are not worth dividing a filter.
const FEWEST_KEYS: usize = 512;

/// What a filter's file has if saving fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// There is no file.
    Nothing,
    /// A new filter without items.
    Empty,
    /// What was there before.
    Before,
    /// Records that were done on the way, by this run or the one that it resumes.
    Some,
}

/// What a commit records of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// That it writes its outputs.
    Begin,
    /// How far it is.
    Checkpoint,
}

impl Kept {
    pub(super) fn new(store: Store, saved: Saved, now: Now) -> Result<Self> {
        let runs = Runs::of(store.notes(), store.path().display())?;
        let noted = runs.clone();
        Ok(Self { store, runs, noted, now, saved, divided: None, least_items: 0 })
    }

    /// Several threads may insert.
    pub(super) fn for_threads(self, op: Op, threads: NonZeroUsize) -> Self {
        Self { divided: Divided::new(&self.store, op, threads).map(Arc::new), ..self }
    }

    pub(super) fn early(&self) -> Arc<dyn Early> {
        self.divided.clone().map_or_else(|| Arc::new(()) as _, |divided| divided as _)
    }

    /// Divides the filter after a block of so many keys, if that pays.
    pub(super) fn divide(&mut self, keys: usize) {
        let Some(divided) = &self.divided else { return };
        let items = self.filter().len();
        let is_tried = keys >= FEWEST_KEYS && items >= self.least_items;
        if is_tried && !divided.divide(&mut self.store, keys) {
            self.least_items = items + items / 8 + 1;
        }
    }

    pub(super) fn load(&self) -> f64 {
        let divided = self.divided.as_ref().and_then(|divided| divided.load());
        divided.unwrap_or_else(|| self.filter().load_factor())
    }

    pub(crate) fn filter(&self) -> &Generations {
        self.store.filter()
    }

    pub(crate) fn name(&self) -> String {
        self.store.path().display().to_string()
    }

    /// Tells the filter what time it is: what its window has left goes.
    pub(super) fn tell(&mut self) {
        if let Some(time) = self.now.told_to(self.filter()) {
            self.store.advance(time);
        }
    }

    /// The run resumes one of which there are records in the file.
    pub(crate) fn resumes(&mut self) {
        self.saved = Saved::Some;
    }

    /// Keeps all changes: this is the end. Gives the filter back.
    pub(crate) fn finish(mut self) -> Result<Generations> {
        self.note_runs()?;
        let (name, saved) = (self.name(), self.saved);
        self.store.finish().map_err(|error| not_saved(&name, saved, &error))
    }

    /// Keeps all changes so far, and those of the runs.
    pub(crate) fn commit(&mut self, stage: Stage) -> Result<()> {
        self.note_runs()?;
        let (name, saved) = (self.name(), self.saved);
        self.store.commit().map_err(|error| match &error.reason {
            // The run ends here, early.
            Reason::Unsynced(source) if stage == Stage::Checkpoint => {
                let reason = message::reason(source);
                let uncertain = "saved up to here, to be resumed by --resume, but it is not certain that this \
                                 outlasts a power cut";
                Failure::at(&name, format_args!("{uncertain}: {reason}"))
            }
            Reason::Unsynced(source) => not_kept(&name, saved, &message::reason(source)),
            _ => not_saved(&name, saved, &error),
        })?;
        match stage {
            Stage::Checkpoint => self.saved = Saved::Some,
            Stage::Begin if saved == Saved::Nothing => self.saved = Saved::Empty,
            Stage::Begin => {}
        }
        Ok(())
    }

    /// Writes the runs to the notes that the next commit makes durable. The file that a run leaves at its end is the same
    /// whether it was interrupted or not.
    fn note_runs(&mut self) -> Result<()> {
        if self.runs != self.noted {
            if self.runs.differs_in_an_interrupted_run(&self.noted) {
                self.store.rewrite_at_end();
            }
            self.runs.write(&mut self.store)?;
            self.noted = self.runs.clone();
        }
        Ok(())
    }

    /// Does with the keys what is to be done, apart from the first `known` of them, which were done before.
    pub(super) fn change(
        &mut self,
        op: Op,
        (keyed, known): (&Keyed, usize),
        answers: &mut Answers,
    ) -> Result<(), Stop> {
        if let (Some(divided), true) = (&self.divided, answers.is_answered) {
            divided.answer(&mut self.store, keyed, answers);
            return Ok(());
        }
        self.tell();
        let (hashes, when) = (&keyed.hashes[known..], keyed.when_from(known));
        self.store.join();
        let ever_held = |filter: &Generations| filter.len() + filter.forgotten();
        let (items, held) = (self.filter().len(), ever_held(self.filter()));
        let mut outcomes: Vec<Insertion> = Vec::new();
        let result = match op {
            Op::Add => self.store.insert_batch_at(hashes, when),
            Op::Remove => {
                let removed = self.store.remove_batch(hashes);
                answers.found.extend(removed.into_iter().map(Found::from));
                return Ok(());
            }
            _ => self.store.insert_unique_batch_at(hashes, when, &mut outcomes),
        };
        answers.added = ever_held(self.filter()) - held;
        note_outcomes(&outcomes, result, (items, self.filter()), answers);
        result.map_err(|mut stopped| {
            stopped.done += known;
            Stop::full(stopped)
        })
    }
}

/// The failure to say about a filter whose changes cannot be kept.
pub(super) fn not_saved(name: &str, saved: Saved, error: &StoreError) -> Failure {
    let reason = words(error);
    match error.reason {
        Reason::Replaced => Failure::at(error.path.display(), reason),
        Reason::Unsynced(_) => {
            let reason = format!("{reason}; it need not be done again");
            Failure::ending(Exit::Unsynced, name, reason)
        }
        _ => not_kept(name, saved, &reason),
    }
}

fn not_kept(name: &str, saved: Saved, reason: &str) -> Failure {
    let state = match saved {
        Saved::Nothing => "",
        Saved::Empty => "; the file is a new filter without items",
        Saved::Before => "; the file is as it was before",
        Saved::Some => "; the file is as it was at the last checkpoint",
    };
    Failure::at(name, format_args!("not saved{state}: {reason}"))
}
