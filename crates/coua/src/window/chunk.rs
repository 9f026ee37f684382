//! A chunk of items: nothing is forgotten between them.

use std::borrow::Cow;

use crate::error::{BatchFull, FullReason, Insertion};
use crate::filter::IfPresent;
use crate::hash::KeyHash;
use crate::verbs::When;
use crate::window::change::{Change, ChangeLog, LoggedGenerations};
use crate::window::{Clock, Generations, Window};

/// Items of a batch between which nothing is forgotten.
pub(super) struct Chunk<'a, 'b, L> {
    pub(super) into: &'a mut LoggedGenerations<'b, L>,
    pub(super) hashes: &'a [KeyHash],
    pub(super) when: When<'a>,
    pub(super) if_present: IfPresent,
    /// One for each item; at first all count as repeats.
    pub(super) outcomes: &'a mut [Insertion],
    /// The newest generation in which each item was found; none for items that are inserted in any case.
    pub(super) found: Vec<Option<u64>>,
    /// Generations into which some of these items went.
    pub(super) changed: Vec<u64>,
}

impl<'a, L: ChangeLog> Chunk<'a, '_, L> {
    /// Inserts copies of all items or those that are absent, and returns how many items were processed: all, unless
    /// the clock counts items and a generation ends.
    pub(super) fn insert(mut self) -> Result<usize, BatchFull> {
        self.found = match self.if_present {
            IfPresent::Skip => self.into.filter.newest(self.hashes),
            IfPresent::AddCopy => vec![None; self.hashes.len()],
        };
        for at in 0..self.hashes.len() {
            if self.into.filter.is_outdated(self.when, at) {
                self.found[at] = None;
            }
        }
        // An item that is already present stays present in this chunk: items are only added, or move to newer
        // generations.
        let wanted = (0..self.hashes.len()).filter(|&at| self.is_wanted(at));
        let wanted: Vec<usize> = wanted.collect();
        let mut next = 0;
        while next < wanted.len() {
            let target = self.into.filter.target(self.when, wanted[next]);
            let (rest, room) = (&wanted[next..], self.into.filter.room());
            let same = |&&at: &&usize| self.into.filter.target(self.when, at) == target;
            // Without room for a new item: this one may be a repeat of those before.
            let run = &rest[..rest.iter().take(room.max(1)).take_while(same).count()];
            next += run.len();
            let inserted = match target {
                Some(number) => self.insert_run(number, run, room)?,
                None => self.drop_outdated(run),
            };
            if self.into.count(inserted) {
                // All of the run were new, so the last one was the last to be counted.
                return Ok(wanted[next - 1] + 1);
            }
        }
        Ok(self.hashes.len())
    }

    /// Whether an item is absent, or a repeat that moves to the generation of its time.
    fn is_wanted(&self, at: usize) -> bool {
        self.found[at].is_none_or(|found| {
            self.into.filter.refreshes_repeats()
                && self.into.filter.target(self.when, at) > Some(found)
        })
    }

    /// The items of a run that earlier runs have left to do. Skips generation `but`.
    fn still_wanted<'r>(&mut self, run: &'r [usize], but: Option<u64>) -> Cow<'r, [usize]> {
        let mut places = Cow::Borrowed(run);
        for live in &self.into.filter.live {
            let is_other = Some(live.number) != but && self.changed.contains(&live.number);
            if is_other && self.if_present == IfPresent::Skip {
                let answers = live.filter.contains_batch(&self.hashes_of(&places));
                for (&at, _) in places.iter().zip(answers).filter(|(_, answer)| *answer) {
                    self.found[at] = self.found[at].max(Some(live.number));
                }
                places.to_mut().retain(|&at| self.is_wanted(at));
            }
        }
        places
    }

    /// The hashes of these items.
    fn hashes_of(&self, places: &[usize]) -> Cow<'a, [KeyHash]> {
        let hashes = self.hashes;
        match *places {
            [first, .., last] if last - first + 1 == places.len() => {
                Cow::Borrowed(&hashes[first..=last])
            }
            _ => places.iter().map(|&at| hashes[at]).collect(),
        }
    }

    fn insert_run(&mut self, number: u64, run: &[usize], room: usize) -> Result<usize, BatchFull> {
        let places = self.still_wanted(run, (room > 0).then_some(number));
        let Some(&first) = places.first() else { return Ok(0) };
        // An item that moves frees as much room as it takes.
        if room == 0 && self.found[first].is_none() {
            let full = self.into.filter.full(FullReason::MaxItems);
            return Err(BatchFull { done: first, full });
        }
        let hashes = self.hashes_of(&places);
        let mut outcomes = vec![Insertion::AlreadyPresent; hashes.len()];
        let filter = self.into.filter.generation(number);
        let filter = filter.map_err(|full| BatchFull { done: first, full })?;
        let result = filter.insert_all(&hashes, self.if_present, &mut outcomes, None);
        if !self.changed.contains(&number) {
            self.changed.push(number);
        }
        let (mut inserted, mut moved) = (0, Vec::new());
        for (&at, _) in places.iter().zip(&outcomes).filter(|(_, what)| what.is_new()) {
            match self.found[at] {
                Some(from) => moved.push((from, at)),
                None => self.outcomes[at] = Insertion::Inserted,
            }
            self.into.log.changed(Change::Insert, number, self.hashes[at]);
            inserted += 1;
        }
        self.remove_moved(moved);
        result.map(|()| inserted).map_err(|BatchFull { done, full }| {
            self.into.count(inserted);
            BatchFull { done: places[done], full }
        })
    }

    /// Removes items that are in a newer generation now from those where they were found.
    fn remove_moved(&mut self, mut moved: Vec<(u64, usize)>) {
        moved.sort_unstable();
        for of_one in moved.chunk_by(|one, next| one.0 == next.0) {
            let hashes: Vec<KeyHash> = of_one.iter().map(|&(_, at)| self.hashes[at]).collect();
            self.into.remove_from(of_one[0].0, &hashes);
        }
    }

    /// Items older than the window are not inserted. They are no repeats: their copies in the window are younger.
    fn drop_outdated(&mut self, run: &[usize]) -> usize {
        for &at in run {
            self.outcomes[at] = Insertion::Inserted;
        }
        if let Some(state) = &mut self.into.filter.state {
            state.outdated += run.len() as u64;
        }
        0
    }
}

impl<L: ChangeLog> LoggedGenerations<'_, L> {
    /// Counts inserted or moved items, if they are the clock. Returns whether a generation has ended.
    pub(super) fn count(&mut self, inserted: usize) -> bool {
        let Some(window) = self.filter.count_window() else { return false };
        let before = self.filter.clock();
        if inserted > 0 {
            self.set_clock(before.saturating_add(inserted as u64));
        }
        window.generation_of(self.filter.clock()) > window.generation_of(before)
    }
}

impl Generations {
    /// The generation into which an item goes; none if it is too old.
    pub(super) fn target(&self, when: When<'_>, item: usize) -> Option<u64> {
        let state = self.state.as_ref()?;
        let time = match when {
            When::Each(times) if state.window.clock() == Clock::Given => times[item],
            _ => state.clock,
        };
        Some(state.window.generation_of(time)).filter(|number| self.remembers(*number))
    }

    /// Whether an item is older than the window.
    fn is_outdated(&self, when: When<'_>, item: usize) -> bool {
        matches!(when, When::Each(_)) && self.target(when, item).is_none()
    }

    /// The number of items that may be inserted before the clock must be checked again.
    pub(super) fn room(&self) -> usize {
        let left = self.template().policy().limit().saturating_sub(self.len());
        let in_generation = |window: Window| window.step() - self.clock() % window.step();
        let left = left.min(self.count_window().map_or(u64::MAX, in_generation));
        usize::try_from(left).unwrap_or(usize::MAX)
    }
}
