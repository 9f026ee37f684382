//! A filter file that is only asked, by one thread or several.

use crate::clock::Now;
use crate::filter::op::Op;
use crate::key::{Answers, Found, Keyed};
use crate::pipeline::Early;
use coua::window::Generations;
use coua_store::View;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A filter that is asked and not changed.
#[derive(Debug)]
pub(crate) struct Lookup {
    view: RwLock<View>,
    now: Now,
    op: Op,
}

impl Lookup {
    pub(super) fn new(view: View, now: Now, op: Op) -> Self {
        Self { view: RwLock::new(view), now, op }
    }

    pub(super) fn view(&self) -> RwLockReadGuard<'_, View> {
        // A thread that panics while it asks leaves the filter as it was.
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks the keys of a block up in its turn, if nobody has.
    pub(super) fn answer(&self, keyed: &Keyed, answers: &mut Answers) {
        if answers.is_answered || self.look_up_early(&self.view(), keyed, answers) {
            return;
        }
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        self.now.tell(&mut view.filter);
        let filter = view.asked(&keyed.hashes);
        self.note(filter, keyed, answers);
    }

    /// False where it must be done in turn: where the present matters, or the file is not at hand.
    fn look_up_early(&self, view: &View, keyed: &Keyed, answers: &mut Answers) -> bool {
        if view.filter.window().is_some() {
            return false;
        }
        let Some(filter) = view.asked_beside(keyed.hashes.len() as u64) else { return false };
        self.note(filter, keyed, answers);
        true
    }

    fn note(&self, filter: &Generations, keyed: &Keyed, answers: &mut Answers) {
        if self.op == Op::Count {
            answers.counts = filter.count_batch(&keyed.hashes);
        } else {
            let there = filter.contains_batch(&keyed.hashes);
            answers.found.extend(there.into_iter().map(Found::from));
        }
    }
}

impl Early for Lookup {
    fn look(&self, keyed: &Keyed, answers: &mut Answers) {
        // Locked, it is changed in turn: that is not waited for.
        if let Ok(view) = self.view.try_read() {
            answers.is_answered = self.look_up_early(&view, keyed, answers);
        }
    }
}
