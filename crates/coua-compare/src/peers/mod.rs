//! Who takes part, one file a family.

mod bloom;
mod calls;
mod coua;
mod coua_bloom;
mod coua_shared;
mod cuckoo;
mod exact;
mod fuse;
mod quotient;

use ::coua::Insertion;

use crate::contestant::{Entry, Family};
use crate::keys::Key;

/// What every other time is divided by: Coua asked key by key, as most peers must be.
pub(crate) const REFERENCE: &str = "coua";

/// More items than this the slowest contestants are spared: they would take most of a night.
const TOO_MANY: u64 = 20_000_000;

/// All contestants, Coua first.
pub(crate) fn entries<K: Key>() -> Vec<Entry<K>> {
    let families = [
        (Family::Cuckoo, coua::entries()),
        (Family::Cuckoo, coua_shared::entries()),
        (Family::Cuckoo, cuckoo::entries()),
        (Family::Quotient, quotient::entries()),
        (Family::Bloom, bloom::entries()),
        (Family::Bloom, coua_bloom::entries()),
        (Family::Static, fuse::entries()),
        (Family::Exact, exact::entries()),
    ];
    families
        .into_iter()
        .flat_map(|(family, all)| all.into_iter().map(move |one| one.of(family)))
        .collect()
}

fn count(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

fn inserted(outcomes: &[Insertion]) -> u64 {
    outcomes.iter().filter(|&&outcome| outcome == Insertion::Inserted).count() as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{REFERENCE, entries};
    use crate::contestant::{Contestant, Entry, Plan};
    use crate::keys::{Key, Row, Text};

    const ITEMS: u64 = 10_000;

    fn keys<K: Key>(row: Row) -> Vec<K> {
        (0..ITEMS).map(|n| row.key(n)).collect()
    }

    /// Every entry keeps what it took and finds few strangers.
    fn honest<K: Key>(entry: &Entry<K>, make: fn(Plan) -> crate::contestant::Made<K>) {
        let empty = || make(Plan { items: ITEMS, rate: 0.001 }).unwrap();
        let mut filled = empty();
        filled.insert(&keys(Row::Present), &mut Vec::new());
        filled.seal();
        holds(entry, filled.as_mut());
        let mut built = empty();
        if built.build(&keys(Row::Present), 2).is_some() {
            holds(entry, built.as_mut());
        }
    }

    fn holds<K: Key>(entry: &Entry<K>, contestant: &mut dyn Contestant<K>) {
        // A crate that displaces a stranger when it is full, or loses fingerprints, shows here; that
        // is what the table counts, so a few are let through.
        let found = contestant.contains(&keys(Row::Present));
        assert!(found >= ITEMS - 100, "{}: {found}", entry.name);
        let strangers = contestant.contains(&keys(Row::Absent));
        assert!(strangers < 600, "{}: {strangers}", entry.name);
        if let Some(removed) = contestant.remove(&keys(Row::Present)) {
            assert!(removed >= ITEMS - 200, "{}: {removed}", entry.name);
        }
    }

    fn all_honest<K: Key>() {
        let entries = entries::<K>();
        assert_eq!(entries[0].name, REFERENCE);
        assert_eq!(entries.iter().map(|e| e.name).collect::<HashSet<_>>().len(), entries.len());
        for entry in &entries {
            assert!(entry.fixed.is_some() || entry.growing.is_some());
            [entry.fixed, entry.ready, entry.growing]
                .into_iter()
                .flatten()
                .for_each(|make| honest(entry, make));
        }
    }

    #[test]
    fn every_contestant_is_used_as_its_documents_say() {
        all_honest::<u64>();
        all_honest::<Text>();
    }

    #[test]
    #[ignore = "takes seconds, and 3 GiB"]
    fn every_contestant_can_be_made_for_a_hundred_million_keys() {
        let plan = Plan { items: 100_000_000, rate: 0.001 };
        for entry in entries::<u64>() {
            if entry.excuse(plan.items, 16 << 30).is_none() {
                for make in [entry.fixed, entry.ready, entry.growing].into_iter().flatten() {
                    let made = make(plan);
                    assert!(made.is_ok(), "{}: {:?}", entry.name, made.err());
                }
            }
        }
    }
}
