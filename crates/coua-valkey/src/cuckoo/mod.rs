//! CF.*: cuckoo filters.

mod cf_commands;
mod cf_info;
mod compaction;
mod cuckoo_image;
mod cuckoo_request;
mod hash_list;
mod native_cuckoo;
mod notes;
#[cfg(test)]
mod replicas;
mod sorted_hashes;
mod table;
#[cfg(test)]
mod tests;
mod windowed;

use std::ffi::CStr;

use crate::error::CommandError;
use crate::parse::{ArgumentList, Options};
use crate::redisbloom::{CompactionStep, Limits, PeerCuckoo, SlotPosition};
use crate::server::{Call, Key, TypeSlot, Word};
use crate::value::{Defaults, FilterKind, Outcome, Rest, Value, release};
use compaction::{Compaction, CompactionPosition};

pub(crate) use cf_commands::FAMILY;
pub(crate) use cuckoo_request::CuckooRequest;
pub(crate) use native_cuckoo::NativeCuckoo;
pub(crate) use table::Copies;

/// Cuckoo filters.
pub(crate) struct Cuckoo;

impl FilterKind for Cuckoo {
    type Native = NativeCuckoo;
    type Imported = PeerCuckoo;
    type Request = CuckooRequest;
    const NAME: &'static CStr = c"MBbloomCF";
    const LOAD_COMMAND: &'static CStr = c"CF.LOADCHUNK";
    const LOADED: &'static CStr = c"cuckoo.loadchunk";
    const OPTIONS: &'static [&'static str] = &["CAPACITY", "ERROR", "HASHBITS", "SEED"];
    const RESERVE: &'static CStr = c"cf.reserve";
    const CREATED: &'static CStr = c"cuckoo.reserve";

    fn slot() -> &'static TypeSlot {
        static SLOT: TypeSlot = TypeSlot::new();
        &SLOT
    }

    fn take(
        request: &mut CuckooRequest,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError> {
        request.take(option, options)
    }

    type Copies = Copies;
    const ADDED: &'static CStr = c"cuckoo.add";

    fn insert_imported(
        imported: &mut PeerCuckoo,
        item: &[u8],
        copies: Copies,
        limits: &Limits,
    ) -> Outcome {
        let inserted = match copies {
            Copies::Add => imported.insert(item, limits).map(|()| true),
            Copies::Keep => imported.insert_unique(item, limits),
        };
        Outcome::of_imported(inserted)
    }

    fn rest(copies: Copies) -> Rest {
        let command = if copies == Copies::Add { c"cf.insert" } else { c"cf.insertnx" };
        Rest { command, words: &["NOCREATE", "ITEMS"] }
    }

    fn advance_clock(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
        advance_clock(call, key);
    }

    fn check(request: &CuckooRequest) -> Result<(), CommandError> {
        request.complete([0; 16]).map(drop)
    }

    fn build(
        request: &CuckooRequest,
        random: [u8; 16],
        defaults: Defaults,
        _limit: Option<u64>,
    ) -> Result<(NativeCuckoo, ArgumentList), CommandError> {
        let spec = request.complete_with(random, defaults)?;
        let words = spec.arguments();
        Ok((NativeCuckoo::of(spec)?, words))
    }
}

/// The value of a key that holds a cuckoo filter.
pub(crate) type CuckooValue = Value<Cuckoo>;

impl CuckooValue {
    /// Counts the copies of each item.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Result<Vec<u64>, CommandError> {
        self.ask(
            |native| native.count_all(items),
            |imported| items.iter().map(|item| imported.count(item)).collect(),
        )
    }

    /// Removes a copy of an item, and returns whether there was one.
    pub(crate) fn remove_one(&mut self, item: &[u8]) -> Result<bool, CommandError> {
        self.change(|native| native.remove_one(item), |imported| imported.remove(item))
    }

    /// Removes a copy of each item, and returns which were present.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Result<Vec<bool>, CommandError> {
        self.change(
            |native| native.remove(items),
            |imported| items.iter().map(|item| imported.remove(item)).collect(),
        )
    }

    /// Frees memory from a position on, within the time that a command may take.
    pub(crate) fn compact(
        &mut self,
        at: Option<CompactionPosition>,
    ) -> Result<Compaction, CommandError> {
        self.change(
            |native| native.compact(at.unwrap_or_default()),
            |imported| compact_imported(imported, at),
        )
    }
}

/// The same for a RedisBloom filter.
fn compact_imported(filter: &mut PeerCuckoo, at: Option<CompactionPosition>) -> Compaction {
    let from =
        at.map(|CompactionPosition { part, from }| SlotPosition { sub_filter: part, slot: from });
    let CompactionStep { has_changed, next, freed } = filter.compact_step(from);
    let bytes = freed.iter().map(Vec::len).sum();
    release(freed, bytes);
    let at =
        |SlotPosition { sub_filter, slot }| CompactionPosition { part: sub_filter, from: slot };
    Compaction { has_changed, next: next.map(at) }
}

/// The command that advances a filter's clock.
pub(super) const ADVANCE: &CStr = c"cf.advance";
/// The event of an advanced clock.
pub(super) const ADVANCED: &CStr = c"cuckoo.advance";

/// Advances the clock of a filter with a window before a command changes it, which removes expired items. For
/// replicated commands the primary has already replicated the clock.
#[inline]
pub(super) fn advance_clock(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
    let forgets =
        matches!(key.value(), Some(CuckooValue::Native(native)) if native.window().is_some());
    if forgets && !call.is_replicated() {
        advance_to_present(call, key);
    }
}

fn advance_to_present(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
    let Some(CuckooValue::Native(native)) = key.value_mut() else { return };
    if let Some(clock) = native.advance_to_present() {
        key.notify_changed(ADVANCED);
        call.replicate(ADVANCE, [Word::Same(1), Word::Text(clock.to_string().as_bytes())]);
    }
}
