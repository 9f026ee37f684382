//! What a filter must offer to take part.

use serde::{Deserialize, Serialize};

use crate::keys::Key;

/// A filter that is asked in blocks of keys. How a block is worked off, key by key or all at once,
/// is the contestant's own affair.
pub(crate) trait Contestant<K: Key>: Send + Sync {
    /// How many keys it is best given at a time.
    fn block(&self) -> usize {
        K::BLOCK
    }

    /// Adds the keys. Those that the filter says it has not taken are put into `refused`.
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>);

    /// Called once after the last insert: filters that are built from all keys do it here.
    fn seal(&mut self) {}

    /// How many of the keys the filter says are present.
    fn contains(&self, keys: &[K]) -> u64;

    /// Removes the keys: how many the filter says were there. None: it cannot remove.
    fn remove(&mut self, _keys: &[K]) -> Option<u64> {
        None
    }

    /// Adds the keys that are absent: how many that were. None: it cannot, in one call.
    fn insert_unique(&mut self, _keys: &[K]) -> Option<u64> {
        None
    }

    /// Takes all keys at once into the empty filter, as fast as it can with so many threads: how many
    /// were refused. None: it has no such call, or is built that way anyhow.
    fn build(&mut self, _keys: &[K], _threads: usize) -> Option<u64> {
        None
    }

    /// The side that several threads may use at once, if there is one beyond `contains`.
    fn shared(&self) -> Option<&dyn Shared<K>> {
        None
    }

    /// Bytes in use, where the counting allocator does not see them all.
    fn memory_bytes(&self) -> Option<usize> {
        None
    }
}

/// Changes through a shared reference.
pub(crate) trait Shared<K: Key>: Sync {
    /// Adds the keys: how many were refused.
    fn insert(&self, keys: &[K]) -> u64;
}

/// How large and how exact a filter is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// Items the filter must take.
    pub(crate) items: u64,
    /// The false-positive rate asked for. Contestants of fixed width ignore it.
    pub(crate) rate: f64,
}

/// A contestant, or why there is none.
pub(crate) type Made<K> = Result<Box<dyn Contestant<K>>, String>;

/// Makes a contestant for a plan.
pub(crate) type Make<K> = fn(Plan) -> Made<K>;

/// Kinds of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Inserts, removes, fills up.
    Cuckoo,
    /// Likewise.
    Quotient,
    /// Inserts.
    Bloom,
    /// Built at once.
    Static,
    /// Sets without wrong answers.
    Exact,
}

/// How a filter comes to hold its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// Its capacity is stated at once.
    Stated,
    /// It could grow, but has room for all items from the start: what growing is compared with.
    Ready,
    /// It starts small and grows.
    Growing,
}

/// A line of the table.
pub(crate) struct Entry<K> {
    /// The crate, and the way it is used.
    pub(crate) name: &'static str,
    /// What a reader must know to compare it.
    pub(crate) remark: &'static str,
    /// The most memory it takes while it is built, in bytes a key, for skipping what does not fit.
    pub(crate) peak: f64,
    /// What kind of filter it is.
    pub(crate) family: Family,
    /// It is another way to ask the filter of another entry: memory and rate are the same.
    pub(crate) twin: bool,
    /// It works on blocks, so that single calls say nothing about it.
    pub(crate) batched: bool,
    /// It is not run with more items than this, because that takes too long.
    pub(crate) most_items: u64,
    /// One whose capacity is stated at once.
    pub(crate) fixed: Option<Make<K>>,
    /// See [`Way::Ready`].
    pub(crate) ready: Option<Make<K>>,
    /// One that starts small and grows to the plan's items.
    pub(crate) growing: Option<Make<K>>,
}

impl<K: Key> Entry<K> {
    /// An entry that takes part everywhere.
    pub(crate) const fn new(name: &'static str, remark: &'static str, peak: f64) -> Self {
        Self {
            name,
            remark,
            peak,
            family: Family::Cuckoo,
            twin: false,
            batched: false,
            most_items: u64::MAX,
            fixed: None,
            ready: None,
            growing: None,
        }
    }

    /// Takes part with a stated capacity.
    pub(crate) const fn fixed(mut self, make: Make<K>) -> Self {
        self.fixed = Some(make);
        self
    }

    /// Has a form that is as exact as the growing one, and has room for all items from the start.
    pub(crate) const fn ready(mut self, make: Make<K>) -> Self {
        self.ready = Some(make);
        self
    }

    /// Takes part where filters grow.
    pub(crate) const fn growing(mut self, make: Make<K>) -> Self {
        self.growing = Some(make);
        self
    }

    /// Belongs to this family.
    pub(crate) fn of(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// Is not run with more items.
    pub(crate) const fn up_to(mut self, most_items: u64) -> Self {
        self.most_items = most_items;
        self
    }

    /// Has the memory and the rate of another entry.
    pub(crate) const fn twin(mut self) -> Self {
        self.twin = true;
        self
    }

    /// Works on blocks.
    pub(crate) const fn batched(mut self) -> Self {
        self.batched = true;
        self
    }

    /// What makes it, if it takes part in this way.
    pub(crate) fn make(&self, way: Way) -> Option<Make<K>> {
        match way {
            Way::Stated => self.fixed,
            Way::Ready => self.ready,
            Way::Growing => self.growing,
        }
    }

    /// Why it does not take part at this size, if it does not.
    pub(crate) fn excuse(&self, items: u64, memory_limit: u64) -> Option<String> {
        let wanted = self.peak * items as f64;
        if items > self.most_items {
            return Some(format!("takes too long above {} items", self.most_items));
        }
        (wanted > memory_limit as f64)
            .then(|| format!("needs about {:.1} GiB", wanted / f64::from(1 << 30)))
    }
}
