//! The contestants, one file per family.

#[cfg(feature = "peers")]
mod calls;
mod coua;
#[cfg(feature = "peers")]
mod cuckoo;
#[cfg(feature = "peers")]
mod others;

/// A filter with an interface of blocks of keys. It may process a block key by key or at once.
pub(crate) trait Contestant {
    /// Adds the keys. Keys that the filter reports as not added go into `refused`.
    fn insert(&mut self, keys: &[u64], refused: &mut Vec<u64>);

    /// Called once after the last insert: filters that are built from all keys are built here.
    fn seal(&mut self) {}

    /// The number of keys that the filter reports as present.
    fn contains(&self, keys: &[u64]) -> u64;

    /// Removes the keys. Returns the number that the filter reports as removed, or `None` if it cannot remove.
    fn remove(&mut self, _keys: &[u64]) -> Option<u64> {
        None
    }

    /// Bytes in use, if the counting allocator does not see them all.
    fn memory_bytes(&self) -> Option<usize> {
        None
    }
}

/// The size and accuracy of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The number of items that the filter must hold.
    pub(crate) items: u64,
    /// The requested false-positive rate. Contestants of fixed width ignore it.
    pub(crate) rate: f64,
}

/// A contestant, or the reason why there is none.
pub(crate) type Made = Result<Box<dyn Contestant>, String>;

/// A line of the table.
pub(crate) struct Entry {
    /// The crate, and how it is used.
    pub(crate) name: &'static str,
    pub(crate) make: fn(Plan) -> Made,
}

/// All contestants, Coua first.
pub(crate) fn entries() -> Vec<Entry> {
    #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "the peers are appended"))]
    let mut all = coua::entries();
    #[cfg(feature = "peers")]
    all.extend(cuckoo::entries().into_iter().chain(others::entries()));
    all
}

#[cfg(test)]
mod tests {
    use super::{Entry, Plan, entries};
    use coua_bench::keys::{ABSENT, keys};

    const ITEMS: u64 = 10_000;

    /// Checks that an entry finds what it added and few strangers. A crate that drops fingerprints when it is full, or
    /// loses them otherwise, fails here; the table counts lost keys, so a few are tolerated.
    fn honest(entry: &Entry) {
        let present: Vec<u64> = keys(0..ITEMS).collect();
        let mut filter = (entry.make)(Plan { items: ITEMS, rate: 0.001 }).expect(entry.name);
        filter.insert(&present, &mut Vec::new());
        filter.seal();
        let found = filter.contains(&present);
        assert!(found >= ITEMS - 100, "{}: {found}", entry.name);
        let strangers = filter.contains(&keys(ABSENT..ABSENT + ITEMS).collect::<Vec<_>>());
        assert!(strangers < 600, "{}: {strangers}", entry.name);
        if let Some(removed) = filter.remove(&present) {
            assert!(removed >= ITEMS - 200, "{}: {removed}", entry.name);
        }
    }

    #[test]
    fn every_contestant_is_used_as_its_documents_say() {
        entries().iter().for_each(honest);
    }
}
