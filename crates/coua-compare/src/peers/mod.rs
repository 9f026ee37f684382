//! Who takes part, one file a family.

#[cfg(feature = "peers")]
mod bloom;
mod calls;
mod coua;
#[cfg(feature = "peers")]
mod cuckoo;
#[cfg(feature = "peers")]
mod exact;
#[cfg(feature = "peers")]
mod fuse;

use crate::contestant::Entry;
use crate::keys::Key;

/// All contestants, Coua first.
pub(crate) fn entries<K: Key>() -> Vec<Entry<K>> {
    #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "the peers are appended"))]
    let mut all = coua::entries();
    #[cfg(feature = "peers")]
    all.extend(
        [cuckoo::entries(), bloom::entries(), fuse::entries(), exact::entries()]
            .into_iter()
            .flatten(),
    );
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::entries;
    use crate::contestant::{Entry, Plan};
    use crate::keys::{Key, Row, Text};

    const ITEMS: u64 = 10_000;

    /// Every entry keeps what it took and finds few strangers. A crate that displaces a stranger when it is
    /// full, or loses fingerprints, shows here; the table counts that, so a few are let through.
    fn honest<K: Key>(entry: &Entry<K>) {
        let keys = |row: Row| row.keys(0..ITEMS).collect::<Vec<K>>();
        let mut filter = (entry.make)(Plan { items: ITEMS, rate: 0.001 }).expect(entry.name);
        filter.insert(&keys(Row::Present), &mut Vec::new());
        filter.seal();
        let found = filter.contains(&keys(Row::Present));
        assert!(found >= ITEMS - 100, "{}: {found}", entry.name);
        let strangers = filter.contains(&keys(Row::Absent));
        assert!(strangers < 600, "{}: {strangers}", entry.name);
        if let Some(removed) = filter.remove(&keys(Row::Present)) {
            assert!(removed >= ITEMS - 200, "{}: {removed}", entry.name);
        }
    }

    fn all_honest<K: Key>() {
        let entries = entries::<K>();
        assert_eq!(entries.iter().map(|e| e.name).collect::<HashSet<_>>().len(), entries.len());
        entries.iter().for_each(honest);
    }

    #[test]
    fn every_contestant_is_used_as_its_documents_say() {
        all_honest::<u64>();
        all_honest::<Text>();
    }
}
