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
use crate::value::{Defaults, FilterKind, Outcome, Rest, Value};

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

    type Copies = ();
    const ADDED: &'static CStr = c"bloom.add";

    fn insert_imported(imported: &mut PeerBloom, item: &[u8], (): (), limits: &Limits) -> Outcome {
        match imported.insert(item, limits) {
            Err(InsertError::Full { .. }) => Outcome::Refused(CommandError::NonScalingFull),
            inserted => Outcome::of_imported(inserted),
        }
    }

    fn rest((): ()) -> Rest {
        Rest { command: c"bf.madd", words: &[] }
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
