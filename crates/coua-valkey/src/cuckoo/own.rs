//! A cuckoo filter of this module as the value of a key: a list while there are few items, then a table; or
//! generations, if it forgets.

use std::mem::size_of;

use coua::window::{Generations, Window};
use coua::{CuckooFilter, KeyHash, KeyHasher};

use super::aging::{Aging, milliseconds};
use super::blueprint::{Blueprint, Hints};
use super::compaction::{Compaction, Position};
use super::few::Few;
use super::figures::Figures;
use super::inserts::Copies;
use super::table::{Table, VALUE_BYTES};
use crate::refusal::Refusal;
use crate::server::block_bytes;
use crate::value::first_change;
use crate::value::outcome::{Outcome, Outcomes};

/// A filter of this module.
pub(crate) struct OwnCuckoo {
    form: Form,
    /// Removals since the filter was created or compacted.
    pub(super) deleted: u64,
    /// Goes up with every change, modulo 2^64; not saved.
    changes: u64,
}

const _: () = assert!(size_of::<OwnCuckoo>() as u64 == VALUE_BYTES);

pub(super) enum Form {
    Few(Few),
    Table(Box<Table>),
    Aging(Box<Aging>),
}

impl OwnCuckoo {
    /// A new filter.
    pub(crate) fn of(blueprint: Blueprint) -> Result<Self, Refusal> {
        if Few::suits(&blueprint) {
            return Ok(Self::of_few(Few::new(blueprint, Vec::new()), 0));
        }
        let filter = blueprint.build()?;
        Ok(match blueprint.window {
            Some(window) => {
                Self::of_aging(Generations::from_template(*window, filter), blueprint.hints, 0)
            }
            None => Self::of_table(filter, blueprint.hints, 0),
        })
    }

    pub(super) fn of_few(few: Few, deleted: u64) -> Self {
        Self::of_form(Form::Few(few), deleted)
    }

    pub(super) fn of_table(filter: CuckooFilter, hints: Hints, deleted: u64) -> Self {
        Self::of_form(Form::Table(Table::new(filter, hints)), deleted)
    }

    pub(super) fn of_aging(filter: Generations, hints: Hints, deleted: u64) -> Self {
        Self::of_form(Form::Aging(Aging::new(filter, hints)), deleted)
    }

    fn of_form(form: Form, deleted: u64) -> Self {
        Self { form, deleted, changes: first_change() }
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// What was asked for at creation.
    pub(crate) fn hints(&self) -> Hints {
        match &self.form {
            Form::Few(few) => few.blueprint.hints,
            Form::Table(table) => table.hints,
            Form::Aging(aging) => aging.hints,
        }
    }

    /// To be called after every change.
    fn has_changed(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        match &mut self.form {
            Form::Few(_) => {}
            Form::Table(table) => table.settle(),
            Form::Aging(aging) => aging.settle(),
        }
    }

    /// A number that is another one after every change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Removals since the filter was created or compacted.
    pub(crate) fn deleted(&self) -> u64 {
        self.deleted
    }

    /// Items, copies included.
    pub(crate) fn len(&self) -> u64 {
        match &self.form {
            Form::Few(few) => few.hashes().len() as u64,
            Form::Table(table) => table.filter.len(),
            Form::Aging(aging) => aging.len(),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.form {
            Form::Few(few) => VALUE_BYTES + few.list_bytes(),
            Form::Table(table) => table.memory_bytes(),
            Form::Aging(aging) => aging.memory_bytes(),
        }
    }

    /// Bytes that the allocator has given for what it points to.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        match &self.form {
            Form::Few(few) => block_bytes(few.list_bytes()),
            Form::Table(table) => table.allocated_bytes(),
            Form::Aging(aging) => aging.allocated_bytes(),
        }
    }

    /// Whether the item is there.
    pub(crate) fn contains(&self, item: &[u8]) -> bool {
        match &self.form {
            Form::Few(few) => few.count(few.hash(item)) > 0,
            Form::Table(table) => table.filter.contains(item),
            Form::Aging(aging) => aging.contains_all(&[item]) == [true],
        }
    }

    /// Which items are there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        match &self.form {
            Form::Few(_) => items.iter().map(|item| self.contains(item)).collect(),
            Form::Table(table) => table.filter.contains_batch(items),
            Form::Aging(aging) => aging.contains_all(items),
        }
    }

    /// How often each item is there.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Vec<u64> {
        match &self.form {
            Form::Few(few) => items.iter().map(|item| few.count(few.hash(item))).collect(),
            Form::Table(table) => table.filter.count_batch(items),
            Form::Aging(aging) => aging.count_all(items),
        }
    }

    /// Inserts an item.
    pub(crate) fn insert_one(
        &mut self,
        item: &[u8],
        copies: Copies,
        limit: Option<u64>,
    ) -> Outcome {
        let hash = self.hasher().hash(item);
        let outcome = self.insert_hash(hash, copies, limit);
        if outcome.is_in() {
            self.has_changed();
        }
        outcome
    }

    /// Inserts items in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[impl AsRef<[u8]>],
        copies: Copies,
        limit: Option<u64>,
    ) -> Outcomes {
        let hasher = self.hasher();
        let all: Vec<_> = items.iter().map(|item| hasher.hash(item.as_ref())).collect();
        let mut outcomes = Outcomes::with_capacity(items.len());
        let mut rest = all.iter();
        while matches!(self.form, Form::Few(_))
            && let Some(&hash) = rest.next()
        {
            outcomes.push(self.insert_hash(hash, copies, limit));
        }
        let rest = rest.as_slice();
        match &mut self.form {
            Form::Few(_) => {}
            Form::Table(table) => table.limited(limit).insert_all(rest, copies, &mut outcomes),
            Form::Aging(aging) => aging.limited(limit).insert_all(rest, copies, &mut outcomes),
        }
        if outcomes.iter().any(Outcome::is_in) {
            self.has_changed();
        }
        outcomes
    }

    /// Inserts into the list as long as there is room, and makes a table of it then. If it cannot, no item
    /// that is absent goes in.
    fn insert_hash(&mut self, hash: KeyHash, copies: Copies, limit: Option<u64>) -> Outcome {
        if let Form::Few(few) = &mut self.form {
            let most = limit.map_or(u64::MAX, |limit| limit.saturating_sub(VALUE_BYTES));
            if copies == Copies::Keep && few.count(hash) > 0 {
                return Outcome::Present;
            }
            if few.push(hash, most) {
                return Outcome::Inserted;
            }
            if let Err(refusal) = self.become_table(limit) {
                return Outcome::Refused(refusal);
            }
        }
        match &mut self.form {
            Form::Few(_) => Outcome::Refused(Refusal::Defect),
            Form::Table(table) => table.limited(limit).insert_one(hash, copies),
            Form::Aging(aging) => aging.limited(limit).insert_one(hash, copies),
        }
    }

    fn hasher(&self) -> KeyHasher {
        match &self.form {
            Form::Few(few) => few.blueprint.hasher(),
            Form::Table(table) => table.filter.hasher(),
            Form::Aging(aging) => aging.hasher(),
        }
    }

    fn become_table(&mut self, limit: Option<u64>) -> Result<(), Refusal> {
        let Form::Few(few) = &self.form else { return Ok(()) };
        let table = Table::new(few.to_table()?, few.blueprint.hints);
        if let Some(limit) = limit.filter(|&limit| table.memory_bytes() > limit) {
            return Err(Refusal::KeyMemory { limit });
        }
        self.form = Form::Table(table);
        Ok(())
    }

    /// Takes a copy of an item away, and tells whether there was one.
    pub(crate) fn remove_one(&mut self, item: &[u8]) -> bool {
        let removed = match &mut self.form {
            Form::Few(few) => few.remove(few.hash(item)),
            Form::Table(table) => table.filter.remove(item),
            Form::Aging(aging) => aging.remove(&[item]) == [true],
        };
        self.has_removed(&[item], &[removed]);
        removed
    }

    /// Takes a copy of each item away, and tells of which there was one.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Vec<bool> {
        let removed = match &mut self.form {
            Form::Few(few) => items.iter().map(|item| few.remove(few.hash(item))).collect(),
            Form::Table(table) => table.filter.remove_batch(items),
            Form::Aging(aging) => aging.remove(items),
        };
        self.has_removed(items, &removed);
        removed
    }

    /// To be called after removals: gives memory back, where that is due.
    fn has_removed(&mut self, items: &[&[u8]], removed: &[bool]) {
        let count = removed.iter().filter(|&&removed| removed).count() as u64;
        if count == 0 {
            return;
        }
        // A dump may state any number.
        self.deleted = self.deleted.saturating_add(count);
        if let Form::Table(table) = &mut self.form {
            let gone = items.iter().zip(removed).filter(|(_, removed)| **removed);
            if table.compact_after(gone.map(|(item, _)| *item), count, self.deleted) {
                self.deleted = 0;
            }
        }
        self.has_changed();
    }

    /// The window, if it forgets.
    pub(crate) fn window(&self) -> Option<Window> {
        match &self.form {
            Form::Aging(aging) => aging.window(),
            _ => None,
        }
    }

    /// Tells a filter that forgets the time; tells its clock, if that has moved.
    pub(crate) fn advance(&mut self, time: u64) -> Option<u64> {
        let Form::Aging(aging) = &mut self.form else { return None };
        let clock = aging.advance(time)?;
        self.has_changed();
        Some(clock)
    }

    /// [`advance`](Self::advance) to the present of this server.
    pub(crate) fn advance_to_present(&mut self) -> Option<u64> {
        let is_aging = matches!(self.form, Form::Aging(_));
        if is_aging { self.advance(milliseconds()) } else { None }
    }

    /// Gives memory back from a position on, as much as a command may take the time for; in the end forgets how many items
    /// were removed.
    ///
    /// A filter that never grows keeps its memory: it could not take as many items again.
    pub(crate) fn compact(&mut self, at: Position) -> Compaction {
        let mut compaction = match &mut self.form {
            Form::Table(table) if table.hints.expansion > 0 => table.compact(at.from),
            Form::Aging(aging) => aging.compact(at),
            _ => Compaction::default(),
        };
        if compaction.next.is_none() {
            compaction.has_changed |= self.deleted > 0;
            self.deleted = 0;
        }
        if compaction.has_changed {
            self.has_changed();
        }
        compaction
    }

    /// Adds all items of another filter, copies included. Refused, it may be changed: merge into a
    /// copy.
    pub(crate) fn merge(&mut self, other: &Self, limit: Option<u64>) -> Result<(), Refusal> {
        self.become_table(limit)?;
        match (&mut self.form, &other.form) {
            (Form::Table(table), Form::Few(few)) => table.merge(&few.to_table()?, limit)?,
            (Form::Table(table), Form::Table(other)) => table.merge(&other.filter, limit)?,
            (Form::Aging(aging), Form::Aging(other)) => aging.merge(other, limit)?,
            _ => return Err(Refusal::OtherWindow),
        }
        self.has_changed();
        Ok(())
    }

    /// Takes on what another filter is, as a change of this one.
    pub(crate) fn replace(&mut self, other: Self) {
        let changes = self.changes.wrapping_add(1);
        *self = Self { changes, ..other };
    }

    /// What it tells about itself; of a list, what its table would.
    pub(crate) fn figures(&self) -> Result<Figures, Refusal> {
        Ok(match &self.form {
            Form::Few(few) => Figures::of(&few.to_table()?),
            Form::Table(table) => Figures::of(&table.filter),
            Form::Aging(aging) => aging.figures(),
        })
    }

    /// A copy in memory of its own.
    pub(crate) fn try_clone(&self) -> Result<Self, Refusal> {
        let form = match &self.form {
            Form::Few(few) => Form::Few(few.clone()),
            Form::Table(table) => Form::Table(table.try_clone()?),
            Form::Aging(aging) => Form::Aging(aging.try_clone()?),
        };
        Ok(Self { form, deleted: self.deleted, changes: first_change() })
    }
}
