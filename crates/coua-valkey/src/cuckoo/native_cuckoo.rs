//! A cuckoo filter of this module as the value of a key: a list while it has few items, then a
//! table; or generations, if it has a window.

use std::mem::size_of;

use coua::window::{Generations, Window};
use coua::{IfPresent, KeyHash, KeyHasher};
use coua_image::Hints;

use super::compaction::Compaction;
use super::cuckoo_request::CuckooSpec;
use super::hash_list::HashList;
use super::notes::Notes;
use super::outcome::Outcome;
use super::sorted_hashes::SortedHashes;
use super::table::{Figures, Table, VALUE_BYTES};
use super::windowed::WindowedFilter;
use crate::error::CommandError;
use crate::redisbloom::CompactionPosition;
use crate::server::block_bytes;

/// A filter of this module.
pub(crate) struct NativeCuckoo {
    pub(super) form: Form,
    /// Removals since the filter was created or compacted.
    pub(crate) deleted: u64,
    pub(crate) notes: Notes,
}

const _: () = assert!(size_of::<NativeCuckoo>() as u64 == VALUE_BYTES);

pub(super) enum Form {
    List(HashList),
    Table(Box<Table>),
    Windowed(Box<WindowedFilter>),
}

impl NativeCuckoo {
    /// A new filter.
    pub(crate) fn of(spec: CuckooSpec) -> Result<Self, CommandError> {
        let form = if let Some(bits) = HashList::bits_for(&spec) {
            Form::List(HashList::new(&spec, SortedHashes::new(bits))?)
        } else {
            let filter = spec.build()?;
            match spec.window {
                Some(window) => {
                    let filter = Generations::from_template(*window, filter);
                    Form::Windowed(WindowedFilter::new(filter, spec.hints))
                }
                None => Form::Table(Table::new(filter, spec.hints)),
            }
        };
        Ok(Self { form, deleted: 0, notes: Notes::default() })
    }

    /// Sets a note, or removes it if the value is empty. Returns whether anything changed.
    pub(crate) fn set_note(&mut self, name: &[u8], value: &[u8]) -> Result<bool, CommandError> {
        let notes = self.notes.with(name, value)?;
        if notes.bytes() == self.notes.bytes() {
            return Ok(false);
        }
        self.notes = notes;
        self.after_change();
        Ok(true)
    }

    /// The options that are only reported.
    pub(crate) fn hints(&self) -> Hints {
        match &self.form {
            Form::List(list) => list.hints,
            Form::Table(table) => table.hints,
            Form::Windowed(windowed) => windowed.hints,
        }
    }

    /// Must be called after every change.
    fn after_change(&mut self) {
        let changes = match &mut self.form {
            Form::List(list) => &mut list.changes,
            Form::Table(table) => {
                table.update_charge();
                &mut table.changes
            }
            Form::Windowed(windowed) => {
                windowed.update_charge();
                &mut windowed.changes
            }
        };
        *changes = changes.wrapping_add(1);
    }

    /// Counts the copies of each item.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Vec<u64> {
        match &self.form {
            Form::List(list) => items.iter().map(|item| list.count(item)).collect(),
            Form::Table(table) => table.filter.count_batch(items),
            Form::Windowed(windowed) => windowed.count_all(items),
        }
    }

    /// Inserts items in order, and returns an outcome for each.
    pub(crate) fn insert(
        &mut self,
        items: &[impl AsRef<[u8]>],
        if_present: IfPresent,
        limit: Option<u64>,
    ) -> Vec<Outcome> {
        let hasher = self.hasher();
        let all: Vec<_> = items.iter().map(|item| hasher.hash(item.as_ref())).collect();
        let mut outcomes = Vec::with_capacity(items.len());
        if let Form::List(list) = &mut self.form {
            let pushed = list.push_all(&all, if_present, limit).unwrap_or_default();
            let outcome = |is_in| if is_in { Outcome::Inserted } else { Outcome::Present };
            outcomes.extend(pushed.into_iter().map(outcome));
        }
        let mut rest = all[outcomes.len()..].iter();
        let mut no_table = None;
        while matches!(self.form, Form::List(_))
            && let Some(&hash) = rest.next()
        {
            outcomes.push(self.insert_hash(hash, if_present, limit, &mut no_table));
        }
        let rest = rest.as_slice();
        match &mut self.form {
            Form::List(_) => {}
            Form::Table(table) => table.limited(limit).insert_all(rest, if_present, &mut outcomes),
            Form::Windowed(windowed) => {
                windowed.limited(limit).insert_all(rest, if_present, &mut outcomes);
            }
        }
        if outcomes.iter().any(Outcome::is_in) {
            self.after_change();
        }
        outcomes
    }

    /// Inserts into the list while it has room, then converts it to a table. If that fails, absent items are
    /// refused, and `no_table` tells why: to try it for each item of a command would take a millisecond each.
    fn insert_hash(
        &mut self,
        hash: KeyHash,
        if_present: IfPresent,
        limit: Option<u64>,
        no_table: &mut Option<CommandError>,
    ) -> Outcome {
        if let Form::List(list) = &mut self.form {
            if if_present == IfPresent::Skip && list.count_hash(hash) > 0 {
                return Outcome::Present;
            }
            let grown = match list.push(hash, limit) {
                Ok(true) => return Outcome::Inserted,
                Ok(false) if let Some(refusal) = no_table => Err(refusal.clone()),
                Ok(false) => self.become_table(limit),
                Err(refusal) => return Outcome::Refused(refusal),
            };
            if let Err(refusal) = grown {
                *no_table = Some(refusal.clone());
                return Outcome::Refused(refusal);
            }
        }
        match &mut self.form {
            Form::List(_) => Outcome::Refused(CommandError::Defect),
            Form::Table(table) => table.limited(limit).insert_one(hash, if_present),
            Form::Windowed(windowed) => windowed.limited(limit).insert_one(hash, if_present),
        }
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        match &self.form {
            Form::List(list) => list.hasher(),
            Form::Table(table) => table.filter.hasher(),
            Form::Windowed(windowed) => windowed.filter.hasher(),
        }
    }

    fn become_table(&mut self, limit: Option<u64>) -> Result<(), CommandError> {
        /// Bytes that the next item may need beside the table.
        const FOR_ONE: u64 = 64;
        let Form::List(list) = &mut self.form else { return Ok(()) };
        let mut table = Table::new(list.to_table()?, list.hints);
        table.changes = list.changes;
        CommandError::check_bytes(table.memory_bytes() + FOR_ONE, limit)?;
        self.form = Form::Table(table);
        Ok(())
    }

    /// Removes a copy of an item, and returns whether there was one.
    pub(crate) fn remove_one(&mut self, item: &[u8]) -> bool {
        let removed = match &mut self.form {
            Form::List(list) => list.remove(item),
            Form::Table(table) => table.filter.remove(item),
            Form::Windowed(windowed) => windowed.filter.remove_batch(&[item]) == [true],
        };
        self.after_removal(&[removed]);
        removed
    }

    /// Removes a copy of each item, and returns which were present.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Vec<bool> {
        let removed = match &mut self.form {
            Form::List(list) => items.iter().map(|item| list.remove(item)).collect(),
            Form::Table(table) => table.filter.remove_batch(items),
            Form::Windowed(windowed) => windowed.filter.remove_batch(items),
        };
        self.after_removal(&removed);
        removed
    }

    /// Must be called after removals: frees memory where due.
    fn after_removal(&mut self, removed: &[bool]) {
        let count = removed.iter().filter(|&&removed| removed).count() as u64;
        if count == 0 {
            return;
        }
        // A dump may contain any number.
        self.deleted = self.deleted.saturating_add(count);
        if let Form::Table(table) = &mut self.form
            && table.compact_after(count, self.deleted)
        {
            self.deleted = 0;
        }
        self.after_change();
    }

    /// The window, if it has one.
    pub(crate) fn window(&self) -> Option<Window> {
        match &self.form {
            Form::Windowed(windowed) => windowed.filter.window(),
            _ => None,
        }
    }

    /// Advances the clock of a filter with a window, and returns the new time if it changed.
    pub(crate) fn advance(&mut self, time: u64) -> Option<u64> {
        let Form::Windowed(windowed) = &mut self.form else { return None };
        let clock = windowed.advance(time)?;
        self.after_change();
        Some(clock)
    }

    /// Frees memory from a position on, within the time that a command may take; at the end, resets the number
    /// of removed items.
    ///
    /// A filter of fixed size keeps its memory, because it could not grow back.
    pub(crate) fn compact(&mut self, at: CompactionPosition) -> Result<Compaction, CommandError> {
        let has_parts = matches!(self.form, Form::Windowed(_));
        if at != CompactionPosition::default() && !has_parts {
            // The key had another filter when its compaction began.
            return Ok(Compaction::default());
        }
        let mut compaction = match &mut self.form {
            Form::Table(table) if table.hints.expansion > 0 => table.compact()?,
            Form::Windowed(windowed) => windowed.compact(at)?,
            _ => Compaction::default(),
        };
        if compaction.next.is_none() {
            compaction.has_changed |= self.deleted > 0;
            self.deleted = 0;
        }
        if compaction.has_changed {
            self.after_change();
        }
        Ok(compaction)
    }

    /// Adds all items of another filter, copies included. An error may leave it partly merged, so merge into a copy.
    pub(crate) fn merge(&mut self, other: &Self, limit: Option<u64>) -> Result<(), CommandError> {
        let is_merged = match (&mut self.form, &other.form) {
            (Form::List(list), Form::List(other)) => list.merge(other)?,
            _ => false,
        };
        if !is_merged {
            self.become_table(limit)?;
        }
        match (&mut self.form, &other.form) {
            (Form::List(_), _) => {}
            (Form::Table(table), Form::List(list)) => {
                table.limited(limit).merge(&list.to_table()?)?;
            }
            (Form::Table(table), Form::Table(other)) => {
                table.limited(limit).merge(&other.filter)?;
            }
            (Form::Windowed(windowed), Form::Windowed(other)) => {
                windowed.limited(limit).merge(&other.filter)?;
            }
            _ => return Err(CommandError::OtherWindow),
        }
        self.after_change();
        Ok(())
    }

    /// Its figures.
    pub(crate) fn figures(&self) -> Figures {
        match &self.form {
            Form::List(list) => list.figures(),
            Form::Table(table) => Figures::of(&table.filter),
            Form::Windowed(windowed) => Figures::of_generations(&windowed.filter),
        }
    }

    /// Inserts an item, and returns the outcome.
    pub(crate) fn insert_item(
        &mut self,
        item: &[u8],
        if_present: IfPresent,
        limit: Option<u64>,
    ) -> Outcome {
        let hash = self.hasher().hash(item);
        let outcome = self.insert_hash(hash, if_present, limit, &mut None);
        if outcome.is_in() {
            self.after_change();
        }
        outcome
    }

    /// The number of items, including copies.
    pub(crate) fn len(&self) -> u64 {
        match &self.form {
            Form::List(list) => list.len() as u64,
            Form::Table(table) => table.filter.len(),
            Form::Windowed(windowed) => windowed.len(),
        }
    }

    /// Whether it has more items than it keeps its rate for.
    pub(crate) fn exceeds_rate(&self) -> bool {
        match &self.form {
            Form::List(_) => false,
            Form::Table(table) => table.filter.len() > table.filter.max_items(),
            Form::Windowed(windowed) => windowed.filter.len() > windowed.filter.max_items(),
        }
    }

    /// Whether the item seems to be present.
    pub(crate) fn contains(&self, item: &[u8]) -> bool {
        match &self.form {
            Form::List(list) => list.count(item) > 0,
            Form::Table(table) => table.filter.contains(item),
            Form::Windowed(windowed) => windowed.contains_all(&[item]) == [true],
        }
    }

    /// Which items seem to be present.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        match &self.form {
            Form::List(_) => items.iter().map(|item| self.contains(item)).collect(),
            Form::Table(table) => table.filter.contains_batch(items),
            Form::Windowed(windowed) => windowed.contains_all(items),
        }
    }

    /// A number that differs after every change.
    pub(crate) fn changes(&self) -> u64 {
        u64::from(match &self.form {
            Form::List(list) => list.changes,
            Form::Table(table) => table.changes,
            Form::Windowed(windowed) => windowed.changes,
        })
    }

    /// Bytes of memory, the same in a copy. The notes are beside it.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.form {
            Form::List(list) => VALUE_BYTES + list.list_bytes(),
            Form::Table(table) => table.memory_bytes(),
            Form::Windowed(windowed) => windowed.memory_bytes(),
        }
    }

    /// Bytes allocated for it and its notes, without the value itself.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        let filter = match &self.form {
            Form::List(list) => block_bytes(list.list_bytes()),
            Form::Table(table) => table.allocated_bytes(),
            Form::Windowed(windowed) => windowed.allocated_bytes(),
        };
        filter + self.notes.memory_bytes()
    }

    /// The number of its pieces of memory.
    pub(crate) fn pieces(&self) -> usize {
        match &self.form {
            Form::List(_) => 1,
            Form::Table(table) => table.filter.segments(),
            Form::Windowed(windowed) => windowed.filter.segments() as usize,
        }
    }

    /// Copies the filter.
    pub(crate) fn try_clone(&self) -> Result<Self, CommandError> {
        let form = match &self.form {
            Form::List(list) => Form::List(list.copy()),
            Form::Table(table) => Form::Table(table.try_clone()?),
            Form::Windowed(windowed) => Form::Windowed(windowed.try_clone()?),
        };
        Ok(Self { form, deleted: self.deleted, notes: self.notes.clone() })
    }
}
