//! Copies, unions, and freeing memory.

use crate::error::{FullReason, MergeError, OutOfMemory};
use crate::filter::{CuckooFilter, IfPresent};
use crate::window::Generations;
use crate::window::generations::{Live, WindowState};

impl Generations {
    /// Frees memory after removals, in every generation. O(slots).
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is no memory for the smaller table of a generation. It and the next stay as they are.
    pub fn compact(&mut self) -> Result<(), OutOfMemory> {
        self.live.iter_mut().try_for_each(|live| live.filter.compact())
    }

    /// The filters of all remembered generations, with their numbers, for compacting them one by one.
    pub fn filters_mut(&mut self) -> impl Iterator<Item = (u64, &mut CuckooFilter)> {
        self.live.iter_mut().map(|live| (live.number, &mut live.filter))
    }

    /// Copies the filter. O(bytes).
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not enough memory for the copy.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let copied =
            |&Live { number, ref filter }: &Live| Ok(Live { number, filter: filter.try_clone()? });
        let live = self.live.iter().map(copied).collect::<Result<_, _>>()?;
        let Some(state) = &self.state else { return Ok(Self { live, state: None }) };
        let template = state.template.try_clone()?;
        Ok(Self { live, state: Some(WindowState { template, ..*state }) })
    }

    /// Adds all items of `other`, each to the generation of its time, and sets the later clock. O(slots
    /// of both).
    ///
    /// # Errors
    ///
    /// [`MergeError`] if their windows differ, or their filters cannot be merged. Nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        let mut merged = self.try_clone().map_err(|_| self.full(FullReason::OutOfMemory))?;
        merged.unite(other).map(|()| *self = merged)
    }

    /// As [`merge`](Self::merge), without a copy: an error may leave the filters partly merged.
    #[doc(hidden)]
    pub fn unite(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.window() != other.window() {
            return Err(MergeError::Window);
        }
        if let (Some(into), Some(from)) = (self.unbounded_mut(), other.unbounded()) {
            return into.unite(from, IfPresent::AddCopy);
        }
        if self.count_window().is_some() {
            return Err(MergeError::Count);
        }
        self.set_clock(other.clock());
        for Live { number, filter } in &other.live {
            if self.remembers(*number) {
                self.generation(*number)?.unite(filter, IfPresent::AddCopy)?;
            }
        }
        if self.len() > self.template().policy().limit() {
            return Err(self.full(FullReason::MaxItems).into());
        }
        Ok(())
    }
}
