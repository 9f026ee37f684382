//! Keys looked up in a filter file, by one thread or several.

use crate::clock::Now;
use crate::filter_file;
use crate::input::block::Block;
use coua::Generations;
use coua_store::View;
use std::sync::{RwLock, RwLockReadGuard};

/// What is noted in a block about its keys.
pub(crate) type Note = fn(&Generations, &mut Block);

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

    fn view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().expect(UNPOISONED)
    }

    /// Looks the keys of a block up before its turn. Not if the present matters, which is that of the
    /// block's turn; nor if pages come from a disk, which are fetched together then.
    pub(crate) fn help(&self, block: &mut Block) {
        let view = self.view();
        if view.filter.window().is_none() && view.is_at_hand() {
            (self.note)(&view.filter, block);
            block.is_looked_up = true;
        }
    }

    /// Looks the keys of a block up in its turn, if nobody has; the load of the filter.
    pub(crate) fn look_up(&self, block: &mut Block) -> f64 {
        let mut view = self.view.write().expect(UNPOISONED);
        filter_file::tell(self.now, &mut view.filter);
        view.asked(&block.hashes);
        drop(view);
        let view = self.view();
        if !block.is_looked_up {
            (self.note)(&view.filter, block);
            block.is_looked_up = true;
        }
        view.filter.load()
    }

    pub(crate) fn into_filter(self) -> Generations {
        self.view.into_inner().expect(UNPOISONED).filter
    }
}
