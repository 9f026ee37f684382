//! A chunk of items: nothing is forgotten between them.

use crate::error::{BatchFull, Insertion};
use crate::hash::KeyHash;
use crate::window::change::{Change, ChangeLog, Logged, When};

/// Items of a batch between which nothing is forgotten.
pub(super) struct Chunk<'a, 'b, L> {
    pub(super) into: &'a mut Logged<'b, L>,
    pub(super) hashes: &'a [KeyHash],
    pub(super) when: When<'a>,
    /// One for each item; at first all count as repeats.
    pub(super) outcomes: &'a mut [Insertion],
    /// Generations into which some of these items went.
    pub(super) changed: Vec<u64>,
}

impl<L: ChangeLog> Chunk<'_, '_, L> {
    /// Inserts what is absent, and returns how many items were processed: all, unless the clock counts items and
    /// a generation ends.
    pub(super) fn insert_absent(mut self) -> Result<usize, BatchFull> {
        let present = self.into.filter.contains_batch(self.hashes);
        let absent: Vec<usize> = (0..present.len()).filter(|&at| !present[at]).collect();
        let mut next = 0;
        while next < absent.len() {
            let target = self.into.filter.target(self.when, absent[next]);
            let (rest, room) = (&absent[next..], self.into.filter.room());
            let same = |&&at: &&usize| self.into.filter.target(self.when, at) == target;
            // Without room for a new item: this one may be a repeat of those before.
            let run = &rest[..rest.iter().take(room.max(1)).take_while(same).count()];
            next += run.len();
            let inserted = match target {
                Some(number) => self.insert_run(number, run, room)?,
                None => self.let_pass(run),
            };
            if self.into.count(inserted) {
                // All of the run were new, so the last one was the last to be counted.
                return Ok(absent[next - 1] + 1);
            }
        }
        Ok(self.hashes.len())
    }

    /// The items of a run that no earlier run has inserted.
    fn still_absent(&self, run: &[usize], but: Option<u64>) -> Vec<usize> {
        let mut places = run.to_vec();
        for live in &self.into.filter.live {
            if Some(live.number) == but || !self.changed.contains(&live.number) {
                continue;
            }
            let asked: Vec<KeyHash> = places.iter().map(|&at| self.hashes[at]).collect();
            let mut answers = live.filter.contains_batch(&asked).into_iter();
            places.retain(|_| answers.next() == Some(false));
        }
        places
    }

    fn insert_run(&mut self, number: u64, run: &[usize], room: usize) -> Result<usize, BatchFull> {
        let places = self.still_absent(run, (room > 0).then_some(number));
        let Some(&first) = places.first() else { return Ok(0) };
        if room == 0 {
            return Err(BatchFull { done: first, full: self.into.filter.full() });
        }
        let asked: Vec<KeyHash> = places.iter().map(|&at| self.hashes[at]).collect();
        let mut outcomes = Vec::new();
        let filter = self.into.filter.generation(number);
        let filter = filter.map_err(|full| BatchFull { done: first, full })?;
        let result = filter.insert_unique_batch_into(&asked, &mut outcomes);
        if !self.changed.contains(&number) {
            self.changed.push(number);
        }
        let mut inserted = 0;
        for (&at, _) in places.iter().zip(&outcomes).filter(|(_, what)| what.is_new()) {
            self.outcomes[at] = Insertion::Inserted;
            self.into.log.changed(Change::Insert, number, self.hashes[at]);
            inserted += 1;
        }
        match result {
            Ok(()) => Ok(inserted),
            Err(BatchFull { done, full }) => {
                self.into.count(inserted);
                Err(BatchFull { done: places[done], full })
            }
        }
    }

    fn let_pass(&mut self, run: &[usize]) -> usize {
        let places = self.still_absent(run, None);
        for &at in &places {
            self.outcomes[at] = Insertion::Inserted;
        }
        self.into.filter.note_outdated(places.len());
        0
    }
}
