//! What a filter must offer to take part.

use crate::keys::Key;

/// A filter that is asked in blocks of keys. How it works a block off, key by key or all at once, is its own
/// affair.
pub(crate) trait Contestant<K: Key> {
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

    /// Bytes in use, where the counting allocator does not see them all.
    fn memory_bytes(&self) -> Option<usize> {
        None
    }
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

/// A line of the table.
pub(crate) struct Entry<K> {
    /// The crate, and the way it is used.
    pub(crate) name: &'static str,
    pub(crate) make: fn(Plan) -> Made<K>,
}
