//! BF.RESERVE, and filters that other commands create.

use std::ffi::{CStr, c_int};

use crate::bloom::chain::OwnBloom;
use crate::bloom::request::Request;
use crate::bloom::value::BloomValue;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command, Key, Word};

/// `BF.RESERVE key error_rate capacity [EXPANSION e | NONSCALING] [SEED s]`
pub(super) struct Reserve;

impl Command for Reserve {
    const NAME: &'static CStr = c"bf.reserve";
    const ARITY: c_int = -4;
    const SUMMARY: &'static CStr = c"Creates an empty Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let request = Request::of_reserve(call.words().get(2..).ok_or(Refusal::Arity)?)?;
        let mut key = call.key_to_change::<BloomValue>(1)?;
        if key.value().is_some() {
            return Err(Refusal::ItemExists);
        }
        create(call, &mut key, &request)?;
        key.has_changed(c"bloom.reserve");
        Ok(Reply::Ok)
    }
}

/// Creates a filter in a key without a value, here and, with every parameter, on replicas.
pub(super) fn create(
    call: &Call<'_>,
    key: &mut Key<'_, BloomValue>,
    request: &Request,
) -> Result<(), Refusal> {
    let blueprint = request.complete(call.random_bytes())?;
    let limit = call.key_memory_limit();
    if let Some(items) = request.scale_to() {
        OwnBloom::check_scale(&blueprint, items, limit)?;
    }
    let text = blueprint.words();
    key.set(BloomValue::Own(OwnBloom::new(blueprint, limit)?))?;
    let mut words = vec![Word::Same(1)];
    words.extend(text.iter().map(|word| Word::Text(word)));
    call.replicate(Reserve::NAME, &words);
    Ok(())
}
