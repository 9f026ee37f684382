//! The exact side table: copies beyond a bucket's worth, and the few items without a slot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hint::black_box;

use crate::KeyHash;
use crate::error::OutOfMemory;

/// Copies of one key that have no slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// Copies beyond a bucket's worth.
    pub(crate) extra: u64,
    /// Copies whose relocation failed; they count as stored.
    pub(crate) homeless: u64,
}

impl Aside {
    pub(crate) fn copies(self) -> u64 {
        self.extra.saturating_add(self.homeless)
    }
}

/// Which kind of copy was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Extra,
    Homeless,
}

/// Copies by representative hash. A tree: its order groups a segment's entries and makes snapshots
/// reproducible, and no choice of keys makes it slow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    entries: BTreeMap<u64, Aside>,
    homeless: u64,
    /// The most that `homeless` ever was.
    most_homeless: u64,
    /// Extra copies over all keys.
    extra: u128,
}

/// Memory of one entry of the tree: 24 bytes, in nodes that are two thirds full, and pointers.
pub(crate) const ENTRY_BYTES: usize = 40;

impl Side {
    /// Whether there is memory for so many entries. A tree cannot be asked to try.
    pub(crate) fn check_memory(entries: usize) -> Result<(), OutOfMemory> {
        let bytes = entries.saturating_mul(ENTRY_BYTES);
        let mut tried = Vec::<u8>::new();
        let had = tried.try_reserve_exact(bytes);
        // The compiler would leave memory out that nobody uses.
        black_box(tried);
        had.map_err(|_| OutOfMemory { bytes: bytes as u64 })
    }

    /// A copy, if there is memory for it.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Self::check_memory(self.entries.len())?;
        Ok(self.clone())
    }

    pub(crate) fn copies(&self, representative: KeyHash) -> u64 {
        self.entries.get(&representative.to_u64()).map_or(0, |aside| aside.copies())
    }

    pub(crate) fn add(&mut self, representative: KeyHash, aside: Aside) {
        let held = self.entries.entry(representative.to_u64()).or_default();
        let extra = held.extra.saturating_add(aside.extra);
        self.extra += u128::from(extra - held.extra);
        held.extra = extra;
        held.homeless += aside.homeless;
        self.homeless += aside.homeless;
        self.most_homeless = self.most_homeless.max(self.homeless);
    }

    /// Takes one copy away, homeless ones last; `None` if there is none.
    pub(crate) fn take(&mut self, representative: KeyHash) -> Option<Taken> {
        let Entry::Occupied(mut entry) = self.entries.entry(representative.to_u64()) else {
            return None;
        };
        let aside = entry.get_mut();
        let taken = if aside.extra > 0 { Taken::Extra } else { Taken::Homeless };
        match taken {
            Taken::Extra => {
                aside.extra -= 1;
                self.extra -= 1;
            }
            Taken::Homeless => {
                aside.homeless -= 1;
                self.homeless -= 1;
            }
        }
        if *aside == Aside::default() {
            entry.remove();
        }
        Some(taken)
    }

    /// Takes one homeless copy away, which must exist: it has found a slot.
    pub(crate) fn take_homeless(&mut self, representative: KeyHash) {
        if let Entry::Occupied(mut entry) = self.entries.entry(representative.to_u64()) {
            entry.get_mut().homeless -= 1;
            self.homeless -= 1;
            if *entry.get() == Aside::default() {
                entry.remove();
            }
        }
    }

    /// Copies beyond a bucket's worth, over all keys.
    pub(crate) fn extra(&self) -> u128 {
        self.extra
    }

    /// Copies without a home, over all keys.
    pub(crate) fn homeless(&self) -> u64 {
        self.homeless
    }

    /// Whether a key may stand here that has no slot. Extra copies alone come after those in slots, and go
    /// before them.
    #[inline(always)]
    pub(crate) fn has_homeless(&self) -> bool {
        self.homeless > 0
    }

    /// The most copies without a home that there ever were at a time.
    pub(crate) fn most_homeless(&self) -> u64 {
        self.most_homeless
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeyHash, Aside)> + '_ {
        self.entries.iter().map(|(&hash, &aside)| (KeyHash::from_u64(hash), aside))
    }

    /// Entries whose hash starts with the `depth` bits of `prefix`, in order.
    pub(crate) fn under(
        &self,
        prefix: u64,
        depth: u32,
    ) -> impl Iterator<Item = (KeyHash, Aside)> + '_ {
        let last = prefix | u64::MAX.checked_shr(depth).unwrap_or(0);
        self.entries.range(prefix..=last).map(|(&hash, &aside)| (KeyHash::from_u64(hash), aside))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.len() * ENTRY_BYTES
    }
}
