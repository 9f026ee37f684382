//! A cuckoo filter of this module as the value of a key: a list while there are few items, then a table.

use std::mem::size_of;

use coua::{CuckooFilter, Full, FullReason, Insertion, KeyHash, MergeError};

use super::blueprint::{Blueprint, Hints};
use super::few::Few;
use crate::refusal::Refusal;
use crate::server::{aligned_block_bytes, block_bytes};
use crate::value::insertion::Outcome;
use crate::value::{Charge, first_change};

/// Which items an insert takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Every item: one that is there gets another copy.
    Add,
    /// Only absent ones.
    Keep,
}

/// A filter of this module.
pub(crate) struct OwnCuckoo {
    form: Form,
    /// Removals since the filter was created or compacted.
    pub(super) deleted: u64,
    /// Goes up with every change, modulo 2^64; not saved.
    changes: u64,
}

pub(super) enum Form {
    Few(Few),
    Table(Box<Table>),
}

/// A filter of the library.
pub(super) struct Table {
    pub(super) filter: CuckooFilter,
    pub(super) hints: Hints,
    charge: Charge,
    /// Bytes of the filter's memory when the charge was settled.
    settled_at: usize,
}

impl Table {
    fn new(filter: CuckooFilter, hints: Hints) -> Box<Self> {
        let mut table = Self { filter, hints, charge: Charge::default(), settled_at: 0 };
        table.settle();
        Box::new(table)
    }

    fn settle(&mut self) {
        // Nothing is mapped or given back that this does not tell.
        let bytes = self.filter.memory_bytes();
        if self.settled_at != bytes {
            self.settled_at = bytes;
            self.charge.settle(self.filter.mapped_bytes() as u64);
        }
    }

    /// Bytes of memory beside those that the filter counts.
    const BESIDE: u64 =
        (size_of::<OwnCuckoo>() + size_of::<Self>() - size_of::<CuckooFilter>()) as u64;

    fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() as u64 + Self::BESIDE
    }

    /// Bytes that the allocator has given for it. What the filter points to counts as a single block.
    fn allocated_bytes(&self) -> u64 {
        const CACHE_LINE: u64 = 64;
        /// The filter has some short lists beside its slots, which it does not count.
        const LISTS: u64 = 192;
        let inside = self.filter.memory_bytes() - size_of::<CuckooFilter>();
        let mapped = self.filter.mapped_bytes();
        let blocks = aligned_block_bytes((inside - mapped) as u64, CACHE_LINE);
        block_bytes(size_of::<Self>() as u64) + LISTS + blocks + mapped as u64
    }

    /// The limit of memory that is to be kept from now on: it may change from one command to the next.
    fn limit_memory(&mut self, limit: Option<u64>) {
        self.filter.set_memory_limit(limit.map(|limit| limit.saturating_sub(Self::BESIDE)));
    }

    /// Inserts items in order, and tells what became of each.
    fn insert(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        limit: Option<u64>,
        outcomes: &mut Vec<Outcome>,
    ) {
        self.limit_memory(limit);
        let before = outcomes.len();
        // A batch has its preparations.
        if hashes.len() > 1 {
            self.insert_batch(hashes, copies, outcomes);
        }
        // After one that was refused most will be.
        let rest = &hashes[outcomes.len() - before..];
        outcomes.extend(rest.iter().map(|&hash| match self.insert_one(hash, copies) {
            Ok(insertion) => outcome_of(insertion),
            Err(full) => Outcome::Refused(self.refusal_of(full, limit)),
        }));
    }

    /// Inserts items up to the first that is refused.
    fn insert_batch(&mut self, hashes: &[KeyHash], copies: Copies, outcomes: &mut Vec<Outcome>) {
        match copies {
            Copies::Add => {
                let result = self.filter.insert_batch(hashes);
                let done = result.map_or_else(|stopped| stopped.done, |()| hashes.len());
                outcomes.resize(outcomes.len() + done, Outcome::Inserted);
            }
            Copies::Keep => {
                let mut insertions = Vec::new();
                // Why it stopped, if it did, the next item is told.
                self.filter.insert_unique_batch_into(hashes, &mut insertions).ok();
                let is_done = |insertion: &Insertion| *insertion != Insertion::Refused;
                outcomes.extend(insertions.into_iter().take_while(is_done).map(outcome_of));
            }
        }
    }

    fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full> {
        match copies {
            Copies::Add => self.filter.insert(hash).map(|()| Insertion::Inserted),
            Copies::Keep => self.filter.insert_unique(hash),
        }
    }

    /// Whether removals have left so little that memory should be given back, and that takes no longer than a
    /// command may. A filter that was never full keeps the room it was made with.
    fn is_mostly_empty(&self, deleted: u64) -> bool {
        /// Nanoseconds of a compaction, and those that it may take.
        const PER_SLOT: u64 = 2;
        const PER_ITEM: u64 = 12;
        const MOST: u64 = 4_000_000;
        let (slots, items) = (self.filter.slots(), self.filter.len());
        let time = slots.saturating_mul(PER_SLOT).saturating_add(items.saturating_mul(PER_ITEM));
        // Copies of few items fill a filter at a quarter of its slots.
        let was_full = deleted >= slots / 8;
        self.hints.expansion > 0 && was_full && items <= slots / 4 && time <= MOST
    }

    /// Whether as many removals have brought the load down to 1/4, 1/8, and so on: a compaction that did not
    /// succeed, because of equal items, is tried again only then.
    fn has_halved(&self, removed: u64) -> bool {
        let (slots, now) = (self.filter.slots(), self.filter.len());
        let before = now.saturating_add(removed);
        (2..u64::BITS).map(|halvings| slots >> halvings).any(|it| now <= it && it < before)
    }

    fn refusal_of(&self, full: Full, limit: Option<u64>) -> Refusal {
        match limit.filter(|_| full.reason == FullReason::MemoryLimit) {
            Some(limit) => Refusal::KeyMemory { limit },
            None => Refusal::of_full(full.reason, u64::from(self.hints.expansion)),
        }
    }
}

impl OwnCuckoo {
    /// A new filter.
    pub(crate) fn of(blueprint: Blueprint) -> Result<Self, Refusal> {
        if Few::suits(&blueprint) {
            return Ok(Self::of_few(Few::new(blueprint, Vec::new()), 0));
        }
        Ok(Self::of_table(blueprint.build()?, blueprint.hints, 0))
    }

    pub(super) fn of_few(few: Few, deleted: u64) -> Self {
        Self { form: Form::Few(few), deleted, changes: first_change() }
    }

    pub(super) fn of_table(filter: CuckooFilter, hints: Hints, deleted: u64) -> Self {
        Self { form: Form::Table(Table::new(filter, hints)), deleted, changes: first_change() }
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// What was asked for at creation.
    pub(crate) fn hints(&self) -> Hints {
        match &self.form {
            Form::Few(few) => few.blueprint.hints,
            Form::Table(table) => table.hints,
        }
    }

    /// To be called after every change.
    fn has_changed(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        if let Form::Table(table) = &mut self.form {
            table.settle();
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
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.form {
            Form::Few(few) => size_of::<Self>() as u64 + few.list_bytes(),
            Form::Table(table) => table.memory_bytes(),
        }
    }

    /// Bytes that the allocator has given for what it points to.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        match &self.form {
            Form::Few(few) => block_bytes(few.list_bytes()),
            Form::Table(table) => table.allocated_bytes(),
        }
    }

    /// Whether the item is there.
    pub(crate) fn contains(&self, item: &[u8]) -> bool {
        match &self.form {
            Form::Few(few) => few.count(few.hash(item)) > 0,
            Form::Table(table) => table.filter.contains(item),
        }
    }

    /// Which items are there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        match &self.form {
            Form::Few(_) => items.iter().map(|item| self.contains(item)).collect(),
            Form::Table(table) => table.filter.contains_batch(items),
        }
    }

    /// How often each item is there.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Vec<u64> {
        match &self.form {
            Form::Few(few) => items.iter().map(|item| few.count(few.hash(item))).collect(),
            Form::Table(table) => table.filter.count_batch(items),
        }
    }

    /// Inserts items in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[impl AsRef<[u8]>],
        copies: Copies,
        limit: Option<u64>,
    ) -> Vec<Outcome> {
        let hasher = match &self.form {
            Form::Few(few) => few.blueprint.hasher(),
            Form::Table(table) => table.filter.hasher(),
        };
        let items: Vec<_> = items.iter().map(|item| hasher.hash(item.as_ref())).collect();
        let mut outcomes = Vec::with_capacity(items.len());
        self.insert_few(&items, copies, limit, &mut outcomes);
        if let (Form::Table(table), Some(rest @ [_, ..])) =
            (&mut self.form, items.get(outcomes.len()..))
        {
            table.insert(rest, copies, limit, &mut outcomes);
        }
        if outcomes.contains(&Outcome::Inserted) {
            self.has_changed();
        }
        outcomes
    }

    /// Inserts into the list as long as there is room, and makes a table of it then. If it cannot, no item
    /// that is absent goes in.
    fn insert_few(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        limit: Option<u64>,
        outcomes: &mut Vec<Outcome>,
    ) {
        let most = limit.map_or(u64::MAX, |limit| limit.saturating_sub(size_of::<Self>() as u64));
        for &hash in hashes {
            let Form::Few(few) = &mut self.form else { return };
            if copies == Copies::Keep && few.count(hash) > 0 {
                outcomes.push(Outcome::Present);
            } else if few.push(hash, most) {
                outcomes.push(Outcome::Inserted);
            } else if let Err(refusal) = self.become_table(limit) {
                outcomes.push(Outcome::Refused(refusal));
            } else {
                return;
            }
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

    /// Takes a copy of each item away, and tells of which there was one.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Vec<bool> {
        let removed = match (&mut self.form, items) {
            (Form::Few(few), items) => {
                items.iter().map(|item| few.remove(few.hash(item))).collect()
            }
            (Form::Table(table), &[item]) => vec![table.filter.remove(item)],
            (Form::Table(table), items) => table.filter.remove_batch(items),
        };
        let count = removed.iter().filter(|&&removed| removed).count() as u64;
        if count > 0 {
            // A dump may state any number.
            self.deleted = self.deleted.saturating_add(count);
            self.has_changed();
            self.give_back(count);
        }
        removed
    }

    /// Gives memory back after removals, where that is due. All servers find the same, as it follows from what is
    /// saved and from the command.
    fn give_back(&mut self, removed: u64) {
        if let Form::Table(table) = &mut self.form
            && table.is_mostly_empty(self.deleted)
            && table.has_halved(removed)
        {
            let before = table.filter.slots();
            table.filter.compact();
            if table.filter.slots() != before {
                self.deleted = 0;
                self.has_changed();
            }
        }
    }

    /// Gives memory back, and forgets how many items were removed; tells whether anything changed.
    ///
    /// A filter that never grows keeps its memory: it could not take as many items again.
    pub(crate) fn compact(&mut self) -> bool {
        let mut is_rebuilt = false;
        if let Form::Table(table) = &mut self.form
            && table.hints.expansion > 0
        {
            // It was rebuilt if there are fewer slots, be its memory less or not.
            let before = table.filter.slots();
            table.filter.compact();
            is_rebuilt = table.filter.slots() != before;
        }
        let has_changed = is_rebuilt || self.deleted > 0;
        self.deleted = 0;
        if has_changed {
            self.has_changed();
        }
        has_changed
    }

    /// Adds all items of another filter, copies included. Refused, it may be changed: merge into a
    /// copy.
    pub(crate) fn merge(&mut self, other: &Self, limit: Option<u64>) -> Result<(), Refusal> {
        self.become_table(limit)?;
        let Form::Table(table) = &mut self.form else { return Err(Refusal::Defect) };
        table.limit_memory(limit);
        let merged = match &other.form {
            Form::Few(few) => table.filter.merge(&few.to_table()?),
            Form::Table(other) => table.filter.merge(&other.filter),
        };
        merged.map_err(|error| match error {
            MergeError::Full(full) => table.refusal_of(full, limit),
            error => Refusal::Merge(error),
        })?;
        self.has_changed();
        Ok(())
    }

    /// Takes on what another filter is, as a change of this one.
    pub(crate) fn replace(&mut self, other: Self) {
        let changes = self.changes.wrapping_add(1);
        *self = Self { changes, ..other };
    }

    /// The filter of the library, made for this question if there is only a list.
    pub(crate) fn with_filter<R>(
        &self,
        ask: impl FnOnce(&CuckooFilter) -> R,
    ) -> Result<R, Refusal> {
        match &self.form {
            Form::Few(few) => Ok(ask(&few.to_table()?)),
            Form::Table(table) => Ok(ask(&table.filter)),
        }
    }

    /// A copy in memory of its own.
    pub(crate) fn try_clone(&self) -> Result<Self, Refusal> {
        let form = match &self.form {
            Form::Few(few) => Form::Few(few.clone()),
            Form::Table(table) => {
                let filter = table.filter.try_clone().map_err(|_| Refusal::NoMemory)?;
                Form::Table(Table::new(filter, table.hints))
            }
        };
        Ok(Self { form, deleted: self.deleted, changes: first_change() })
    }
}

fn outcome_of(insertion: Insertion) -> Outcome {
    if insertion.is_new() { Outcome::Inserted } else { Outcome::Present }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::cuckoo::request::Request;
    use crate::value::OwnFilter as _;

    fn filter(words: &[&[u8]]) -> OwnCuckoo {
        OwnCuckoo::of(Request::of_reserve(words).unwrap().complete([1; 16]).unwrap()).unwrap()
    }

    /// Inserts under a limit until something is refused; how many are in.
    fn fill(own: &mut OwnCuckoo, limit: u64) -> u64 {
        for block in 0..100_000u32 {
            let keys: Vec<_> = (0..500).map(|key| (block * 500 + key).to_le_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
            if own.insert(&keys, Copies::Add, Some(limit)).iter().any(|o| *o != Outcome::Inserted) {
                return own.len();
            }
        }
        panic!("{limit} bytes have no end");
    }

    #[test]
    fn a_filter_that_grows_ends_within_the_limit_and_uses_most_of_it() {
        for limit in [10_000, 100_000, 1_000_000, 2_150_000, 4_000_000, 6_000_000, 12_000_000] {
            let mut own = filter(&[b"1024", b"EXPANSION", b"2"]);
            fill(&mut own, limit);
            let bytes = own.memory_bytes();
            // Small filters double.
            let least = if limit < 500_000 { limit / 3 } else { limit - limit / 8 };
            assert!(bytes <= limit && bytes >= least, "{bytes} of {limit}");
        }
    }

    #[test]
    fn what_needs_no_memory_is_not_refused() {
        for limit in [10_000, 100_000, 6_000_000] {
            let mut own = filter(&[b"1024", b"EXPANSION", b"2"]);
            let count = fill(&mut own, limit) as u32;
            let keys: Vec<_> = (0..count / 2).map(u32::to_le_bytes).collect();
            let outcomes = own.insert(&keys, Copies::Keep, Some(limit));
            assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Present), "{limit}");
            let items: Vec<_> = keys.iter().map(<[u8; 4]>::as_slice).collect();
            own.remove(&items);
            for key in 1..count / 4 {
                let inserted =
                    own.insert(&[(key + (1 << 30)).to_le_bytes()], Copies::Add, Some(limit));
                assert_eq!(inserted, [Outcome::Inserted], "{limit}");
            }
        }
    }

    #[test]
    fn a_filter_that_just_fits_takes_the_items_it_was_made_for() {
        for capacity in ["10000", "1000000"] {
            let mut own = filter(&[capacity.as_bytes()]);
            let limit = own.memory_bytes();
            let items = fill(&mut own, limit);
            assert!(
                items as f64 > 0.97 * capacity.parse::<f64>().unwrap(),
                "{items} of {capacity}"
            );
        }
    }

    /// An item that counts how often it is read.
    struct Counted([u8; 4], Cell<u32>);

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            self.1.set(self.1.get() + 1);
            &self.0
        }
    }

    #[test]
    fn items_behind_refused_ones_are_hashed_once() {
        for copies in [Copies::Add, Copies::Keep] {
            let mut own = filter(&[b"1000", b"EXPANSION", b"0"]);
            let items: Vec<_> =
                (0..10_000u32).map(|n| Counted(n.to_le_bytes(), Cell::new(0))).collect();
            let outcomes = own.insert(&items, copies, None);
            let refused = Outcome::Refused(Refusal::Full);
            let refused = outcomes.iter().filter(|&outcome| *outcome == refused).count();
            assert!(outcomes.len() == items.len() && refused > 8_000, "{refused}");
            assert_eq!(items.iter().map(|item| item.1.get()).max(), Some(1));
        }
    }

    #[test]
    fn a_filter_that_never_grows_takes_as_many_items_after_a_compaction() {
        for precision in [["ERROR", "0.01"], ["HASHBITS", "20"], ["HASHBITS", "64"]] {
            let [option, value] = precision.map(str::as_bytes);
            let mut own = filter(&[b"20000", b"EXPANSION", b"0", option, value]);
            let keys: Vec<_> = (0..20_000u32).map(u32::to_le_bytes).collect();
            own.insert(&keys, Copies::Add, None);
            let items: Vec<_> = keys[500..].iter().map(<[u8; 4]>::as_slice).collect();
            own.remove(&items);
            assert!(own.compact() && own.deleted() == 0);
            assert!(!own.compact());
            let outcomes = own.insert(&keys[500..], Copies::Add, None);
            let refused = outcomes.iter().filter(|outcome| **outcome != Outcome::Inserted).count();
            assert_eq!(refused, 0, "{precision:?}");
        }
    }

    /// Memory is counted with what rounds it up: a rebuilt filter may take as much as before.
    #[test]
    fn a_filter_that_was_rebuilt_has_changed() {
        for capacity in 40..120u32 {
            let mut own = filter(&[capacity.to_string().as_bytes()]);
            let keys: Vec<_> = (0..capacity * 9 / 10).map(u32::to_le_bytes).collect();
            own.insert(&keys, Copies::Add, None);
            let image = |own: &OwnCuckoo| {
                let mut image = Vec::new();
                own.write(&mut image).unwrap();
                image
            };
            let before = (image(&own), own.changes());
            let has_changed = own.compact();
            assert_eq!(has_changed, image(&own) != before.0, "{capacity}");
            assert_eq!(has_changed, own.changes() != before.1, "{capacity}");
        }
    }
}
