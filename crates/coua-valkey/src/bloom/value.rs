//! What is done to a Bloom filter, of whichever module.

use std::ffi::CStr;

use super::chain::OwnBloom;
use super::imported;
use super::request::Request;
use crate::parse::{Options, Words};
use crate::redisbloom::{Limits, PeerBloom};
use crate::refusal::Refusal;
use crate::server::TypeSlot;
use crate::value::outcome::{Outcome, Outcomes};
use crate::value::{Creates, Defaults, Kind, Value};

/// Bloom filters.
pub(crate) struct Bloom;

impl Kind for Bloom {
    type Own = OwnBloom;
    type Imported = PeerBloom;
    const NAME: &'static CStr = c"MBbloom--";
    const LOAD_COMMAND: &'static CStr = c"BF.LOADCHUNK";
    const LOADED: &'static CStr = c"bloom.loadchunk";

    fn slot() -> &'static TypeSlot {
        static SLOT: TypeSlot = TypeSlot::new();
        &SLOT
    }
}

impl Creates for Bloom {
    type Request = Request;
    const OPTIONS: &'static [&'static str] =
        &["CAPACITY", "ERROR", "EXPANSION", "NONSCALING", "VALIDATESCALETO", "SEED"];
    const RESERVE: &'static CStr = c"bf.reserve";
    const CREATED: &'static CStr = c"bloom.reserve";

    fn take(
        request: &mut Request,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), Refusal> {
        request.take(option, options).map_err(Refusal::in_words_of_insert)
    }

    fn check(request: &Request) -> Result<(), Refusal> {
        request.complete([0; 16], Defaults::Settings).map(drop)
    }

    fn build(
        request: &Request,
        random: [u8; 16],
        defaults: Defaults,
        limit: Option<u64>,
    ) -> Result<(OwnBloom, Words), Refusal> {
        let blueprint = request.complete(random, defaults)?;
        if let Some(items) = request.scale_to() {
            OwnBloom::check_scale(&blueprint, items, limit)?;
        }
        let words = blueprint.words();
        Ok((OwnBloom::new(blueprint, limit)?, words))
    }
}

/// The value of a key that holds a Bloom filter.
pub(crate) type BloomValue = Value<Bloom>;

impl BloomValue {
    /// Whether the item seems to be there.
    pub(crate) fn contains(&self, item: &[u8]) -> Result<bool, Refusal> {
        self.of_either(|own| own.contains(item), |imported| imported.contains(item))
    }

    /// Which items seem to be there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
        self.of_either(
            |own| own.contains_all(items),
            |imported| items.iter().map(|item| imported.contains(item)).collect(),
        )
    }

    /// Inserts an item that is absent, and tells what became of it.
    pub(crate) fn insert_one(
        &mut self,
        item: &[u8],
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcome, Refusal> {
        self.change_either(
            |own| own.insert_one(item, limit),
            |imported| imported::insert_one(imported, item, &limits()),
        )
    }

    /// Inserts items that are absent, in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcomes, Refusal> {
        self.change_either(
            |own| own.insert(items, limit),
            |imported| {
                let limits = limits();
                let one = |item: &&[u8]| imported::insert_one(imported, item, &limits);
                items.iter().map(one).collect()
            },
        )
    }

    /// Items that were inserted.
    pub(crate) fn len(&self) -> Result<u64, Refusal> {
        self.of_either(OwnBloom::len, PeerBloom::items)
    }
}
