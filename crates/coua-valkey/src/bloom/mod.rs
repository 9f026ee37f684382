//! BF.*: Bloom filters that grow.

mod bf_commands;
mod bloom_image;
mod bloom_request;
mod native_bloom;

use std::ffi::CStr;

use crate::error::CommandError;
use crate::parse::{ArgumentList, Options};
use crate::redisbloom::{InsertError, Limits, PeerBloom};
use crate::server::TypeSlot;
use crate::value::{Defaults, FilterKind, Outcome, Outcomes, Value};

pub(crate) use bf_commands::FAMILY;
pub(crate) use bloom_request::BloomRequest;
pub(crate) use native_bloom::NativeBloom;

/// Bloom filters.
pub(crate) struct Bloom;

impl FilterKind for Bloom {
    type Native = NativeBloom;
    type Imported = PeerBloom;
    type Request = BloomRequest;
    const NAME: &'static CStr = c"MBbloom--";
    const LOAD_COMMAND: &'static CStr = c"BF.LOADCHUNK";
    const LOADED: &'static CStr = c"bloom.loadchunk";
    const OPTIONS: &'static [&'static str] =
        &["CAPACITY", "ERROR", "EXPANSION", "NONSCALING", "VALIDATESCALETO", "SEED"];
    const RESERVE: &'static CStr = c"bf.reserve";
    const CREATED: &'static CStr = c"bloom.reserve";

    fn slot() -> &'static TypeSlot {
        static SLOT: TypeSlot = TypeSlot::new();
        &SLOT
    }

    fn take(
        request: &mut BloomRequest,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError> {
        request.take(option, options).map_err(CommandError::in_words_of_insert)
    }

    fn check(request: &BloomRequest) -> Result<(), CommandError> {
        request.complete([0; 16], Defaults::Settings).map(drop)
    }

    fn build(
        request: &BloomRequest,
        random: [u8; 16],
        defaults: Defaults,
        limit: Option<u64>,
    ) -> Result<(NativeBloom, ArgumentList), CommandError> {
        let spec = request.complete(random, defaults)?;
        if let Some(items) = request.scale_to() {
            NativeBloom::check_scale(&spec, items, limit)?;
        }
        let words = spec.arguments();
        Ok((NativeBloom::new(spec, limit)?, words))
    }
}

/// The value of a key that holds a Bloom filter.
pub(crate) type BloomValue = Value<Bloom>;

impl BloomValue {
    /// Whether the item seems to be there.
    pub(crate) fn contains(&self, item: &[u8]) -> Result<bool, CommandError> {
        match self {
            Self::Native(native) => Ok(native.contains(item)),
            Self::Imported(imported) => Ok(imported.contains(item)),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// Which items seem to be there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Result<Vec<bool>, CommandError> {
        match self {
            Self::Native(native) => Ok(native.contains_all(items)),
            Self::Imported(imported) => Ok(items.iter().map(|it| imported.contains(it)).collect()),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// Inserts an item that is absent, and tells what became of it.
    pub(crate) fn insert_one(
        &mut self,
        item: &[u8],
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcome, CommandError> {
        match self {
            Self::Native(native) => Ok(native.insert_absent(item, limit)),
            Self::Imported(imported) => Ok(insert_imported(imported, item, &limits())),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// Inserts items that are absent, in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcomes, CommandError> {
        match self {
            Self::Native(native) => Ok(native.insert(items, limit)),
            Self::Imported(imported) => {
                let limits = limits();
                Ok(items.iter().map(|it| insert_imported(imported, it, &limits)).collect())
            }
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// Items that were inserted.
    pub(crate) fn len(&self) -> Result<u64, CommandError> {
        match self {
            Self::Native(native) => Ok(native.len()),
            Self::Imported(imported) => Ok(imported.items()),
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }
}

/// Inserts an item that is absent, and tells what became of it.
fn insert_imported(filter: &mut PeerBloom, item: &[u8], limits: &Limits) -> Outcome {
    match filter.insert(item, limits) {
        Ok(true) => Outcome::Inserted,
        Ok(false) => Outcome::Present,
        Err(InsertError::Full { .. }) => Outcome::Refused(CommandError::NonScalingFull),
        Err(error) => Outcome::Refused(CommandError::of_insert(&error)),
    }
}
