//! The small fixed pieces of work whose instructions are counted.

use std::fmt;
use std::hint::black_box;

use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHash, Layout, WhenFull};

use crate::generate::Order;
use crate::keys::{Key, Row};

/// Items in the filter. So many that the filters have 8 segments and more, for interleaved
/// relocations have nothing to do in one.
const ITEMS: u64 = 300_000;
const BLOCK: usize = 4096;

/// What filter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Buckets of 4, the bits of a rate of 0.001, planned for 95 % load.
    Narrow,
    /// Buckets of 4 that keep all 64 bits of the hash: slots too wide for two in a word.
    Wide,
    /// Overlapping windows of 2, the bits of a rate of 0.001.
    Windows,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    InsertBatch,
    LastStretch,
    UniqueBatch,
    LookupBatch,
    RemoveBatch,
    Insert,
    Lookup,
    Growing,
}

/// A piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    shape: Shape,
    call: Call,
}

impl Case {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let calls = [
            Call::InsertBatch,
            Call::LastStretch,
            Call::UniqueBatch,
            Call::LookupBatch,
            Call::RemoveBatch,
            Call::Insert,
            Call::Lookup,
            Call::Growing,
        ];
        let shapes = [Shape::Narrow, Shape::Wide, Shape::Windows];
        shapes.into_iter().flat_map(move |shape| calls.map(|call| Self { shape, call }))
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|case| case.to_string() == name)
    }

    /// Keys that [`play`](Self::play) counts.
    pub(crate) fn keys(self) -> u64 {
        match self.call {
            Call::LastStretch => ITEMS - before_the_stretch(),
            Call::UniqueBatch => stream_length(),
            _ => ITEMS,
        }
    }

    /// Does the work; what belongs to the count runs within [`counted`].
    ///
    /// # Errors
    ///
    /// If the filter cannot be built.
    pub(crate) fn play(self) -> Result<(), BuildError> {
        let mut filter = match self.call {
            Call::Growing => self.shape.growing().build()?,
            _ => self.shape.full().build()?,
        };
        let keys: Vec<KeyHash> = hashes(Row::Present);
        match self.call {
            Call::InsertBatch | Call::Growing => counted(&mut || insert(&mut filter, &keys)),
            Call::LastStretch => {
                let (first, last) = keys.split_at(before_the_stretch() as usize);
                insert(&mut filter, first);
                counted(&mut || insert(&mut filter, last));
            }
            Call::UniqueBatch => insert_unique(&mut filter),
            Call::Insert => counted(&mut || {
                for &key in &keys {
                    black_box(filter.insert(key).is_ok());
                }
            }),
            Call::LookupBatch | Call::Lookup => {
                insert(&mut filter, &keys);
                look_up(&filter, self.call);
            }
            Call::RemoveBatch => {
                insert(&mut filter, &keys);
                counted(&mut || {
                    for block in keys.chunks(BLOCK) {
                        let answers = filter.remove_batch(block);
                        black_box(&answers);
                    }
                });
            }
        }
        Ok(())
    }
}

/// Callgrind counts between entry and return of this function, which it finds by its name: see
/// `SYMBOL` in `count`.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Something after the call, so that it is no jump, and the function is left after the work.
    black_box(());
}

fn insert(filter: &mut CuckooFilter, keys: &[KeyHash]) {
    for block in keys.chunks(BLOCK) {
        black_box(filter.insert_batch(block).is_ok());
    }
}

fn insert_unique(filter: &mut CuckooFilter) {
    let length = stream_length();
    let stream = Order::new(1, length, length - ITEMS);
    let keys: Vec<KeyHash> = stream.map(|n| u64::nth(n).ready()).collect();
    let mut outcomes = Vec::new();
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            black_box(filter.insert_unique_batch_into(block, &mut outcomes).is_ok());
        }
    });
}

/// Half of the keys are there.
fn look_up(filter: &CuckooFilter, call: Call) {
    let keys = hashes(Row::Half);
    counted(&mut || {
        for block in keys.chunks(BLOCK) {
            if call == Call::Lookup {
                black_box(block.iter().filter(|&&key| filter.contains(key)).count());
            } else {
                let answers = filter.contains_batch(block);
                black_box(&answers);
            }
        }
    });
}

fn hashes(row: Row) -> Vec<KeyHash> {
    row.keys::<u64>(0..ITEMS).map(|key| key.ready()).collect()
}

/// Items in the filter at 90 % load, where all of them make 95 %.
const fn before_the_stretch() -> u64 {
    ITEMS * 90 / 95
}

/// Keys of a stream with 57 repeats in a hundred.
const fn stream_length() -> u64 {
    ITEMS * 100 / 43
}

impl Shape {
    /// With room for all items from the start, and for no more where that is allowed to be said.
    fn full(self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().capacity(ITEMS);
        match self {
            Self::Narrow => builder.rate(0.001).when_full(WhenFull::Refuse),
            Self::Wide => builder,
            Self::Windows => {
                builder.rate(0.001).layout(Layout::Overlapping).when_full(WhenFull::Refuse)
            }
        }
    }

    /// Starting small.
    fn growing(self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().capacity(0);
        match self {
            Self::Narrow => builder.max_items(ITEMS).rate(0.001),
            Self::Wide => builder,
            Self::Windows => builder.max_items(ITEMS).rate(0.001).layout(Layout::Overlapping),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Narrow => "narrow",
            Shape::Wide => "wide",
            Shape::Windows => "windows",
        };
        let call = match self.call {
            Call::InsertBatch => "insert in batches until full",
            Call::LastStretch => "insert in batches, the last 5 of 95",
            Call::UniqueBatch => "insert_unique in batches, 57 % repeats",
            Call::LookupBatch => "look up in batches, half present",
            Call::RemoveBatch => "remove in batches",
            Call::Insert => "insert one by one until full",
            Call::Lookup => "look up one by one, half present",
            Call::Growing => "insert in batches while growing",
        };
        write!(out, "{shape}: {call}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Case;

    #[test]
    fn cases_are_found_by_their_names() {
        let names: HashSet<String> = Case::all().map(|case| case.to_string()).collect();
        assert_eq!(names.len(), 24);
        for case in Case::all() {
            assert_eq!(Case::named(&case.to_string()), Some(case));
            assert!(case.keys() > 0);
        }
        assert_eq!(Case::named("narrow"), None);
    }

    #[test]
    fn every_case_can_be_played() {
        for case in Case::all() {
            case.play().unwrap();
        }
    }
}
