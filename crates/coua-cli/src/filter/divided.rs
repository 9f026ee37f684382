//! A filter in a file while several threads insert into it.
//!
//! Its segments are shared out by the first bits of the hash. A block is asked about in all parts, by whichever thread
//! is free, after the block before it was answered for. So the filter holds what was answered, whenever it is saved.

use crate::filter::collisions;
use crate::filter::division::Division;
use crate::filter::op::Op;
use crate::key::{Answers, Found, Group, Keyed};
use crate::pipeline::Early;
use coua::{KeyHash, SharedCuckooFilter};
use coua_store::Store;
use std::iter::zip;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Where threads find the filter, and how they share it.
#[derive(Debug)]
pub(super) struct Divided {
    filter: Arc<coua_store::Divided>,
    division: Division,
    op: Op,
}

impl Divided {
    /// None if the filter is to be changed by one thread.
    pub(super) fn new(store: &Store, op: Op, threads: NonZeroUsize) -> Option<Self> {
        let can = op.inserts() && threads.get() > 1 && store.filter().window().is_none();
        let (filter, division) = (store.divided(), Division::for_threads(threads));
        can.then_some(Self { filter, division, op })
    }

    /// Divides the filter, unless it is divided. False if it cannot take so many keys at once then.
    pub(super) fn divide(&self, store: &mut Store, keys: usize) -> bool {
        let is_divided = self.filter.filter().is_some();
        is_divided || store.divide(self.division.bits, keys)
    }

    /// The filter's load, if it is divided.
    pub(super) fn load(&self) -> Option<f64> {
        self.filter.filter().as_ref().map(SharedCuckooFilter::load_factor)
    }

    /// The answers for a block about which all parts were asked.
    pub(super) fn answer(&self, store: &mut Store, keyed: &Keyed, answers: &mut Answers) {
        if self.op == Op::Add {
            answers.added = keyed.hashes.len() as u64;
            store.note_inserted(keyed.hashes.iter().copied());
            return;
        }
        let merged = self.division.merge(keyed, answers);
        debug_assert!(merged.is_ok(), "no key of an accepted block is refused");
        let new = zip(&keyed.hashes, &answers.found).filter(|(_, found)| **found == Found::No);
        store.note_inserted(new.map(|(hash, _)| *hash));
        answers.added = answers.count(Found::No);
        if let Some(filter) = &*self.filter.filter() {
            let (new, items) = (answers.added, filter.len());
            collisions::expect(answers, new, [items - new, items], filter.hash_bits());
        }
    }
}

impl Early for Divided {
    fn look(&self, keyed: &Keyed, answers: &mut Answers) {
        self.division.group(keyed, answers, |hash| hash);
    }

    fn parts(&self) -> usize {
        self.division.parts()
    }

    fn is_asked_in_turn(&self) -> bool {
        true
    }

    fn accepts(&self, keyed: &Keyed) -> bool {
        self.filter
            .filter()
            .as_ref()
            .is_some_and(|filter| keyed.hashes.len() <= filter.accepted_keys())
    }

    fn ask_part(&self, _part: usize, group: &mut Group, _consumed: u64) {
        let Some(filter) = &*self.filter.filter() else { return };
        let hashes: &[KeyHash] = &group.hashes;
        let refused = match self.op {
            Op::Add => filter.insert_batch(hashes),
            _ => filter.insert_unique_batch_into(hashes, &mut group.outcomes),
        };
        debug_assert!(refused.is_ok(), "no key of an accepted block is refused");
    }
}
