//! Keys looked up in a filter file, by one thread or several.

use crate::clock::Now;
use crate::record::block::Block;
use crate::target::file;
use coua::window::Generations;
use coua_store::View;
use std::sync::RwLock;

/// What is noted in a block about its keys.
type Note = fn(&Generations, &mut Block);

/// A filter that is asked and not changed.
#[derive(Debug)]
pub(crate) struct Lookup {
    view: RwLock<View>,
    now: Now,
    note: Note,
}

/// Nothing under the lock panics.
const UNPOISONED: &str = "no thread panics while it asks the filter";

impl Lookup {
    pub(crate) fn new(view: View, now: Now, note: Note) -> Self {
        Self { view: RwLock::new(view), now, note }
    }

    /// Looks the keys of a block up before its turn, if that is possible.
    pub(crate) fn help(&self, block: &mut Block) {
        // Locked, it is changed in turn: that is not waited for.
        if let Ok(view) = self.view.try_read() {
            block.is_looked_up = self.look_up_beside(&view, block);
        }
    }

    /// Looks the keys of a block up in its turn, if nobody has; the load of the filter.
    pub(crate) fn look_up(&self, block: &mut Block) -> f64 {
        let view = self.view.read().expect(UNPOISONED);
        if block.is_looked_up || self.look_up_beside(&view, block) {
            return view.filter.load();
        }
        drop(view);
        let mut view = self.view.write().expect(UNPOISONED);
        file::tell(self.now, &mut view.filter);
        let filter = view.asked(&block.hashes);
        (self.note)(filter, block);
        filter.load()
    }

    /// False where it must be done in turn: where the present matters, or the file is not at hand.
    fn look_up_beside(&self, view: &View, block: &mut Block) -> bool {
        if view.filter.window().is_some() {
            return false;
        }
        let Some(filter) = view.asked_beside(block.hashes.len() as u64) else { return false };
        (self.note)(filter, block);
        true
    }

    pub(crate) fn into_filter(self) -> Generations {
        self.view.into_inner().expect(UNPOISONED).filter
    }
}
