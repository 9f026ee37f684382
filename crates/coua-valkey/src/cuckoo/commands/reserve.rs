//! CF.RESERVE, and filters that other commands create.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::cuckoo::request::{Blueprint, Request};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command, Key, Word};

/// The event of a new filter.
const CREATED: &CStr = c"cuckoo.reserve";

/// `CF.RESERVE key capacity [BUCKETSIZE b] [MAXITERATIONS m] [EXPANSION e]
/// [ERROR rate | HASHBITS h] [SEED s]`
pub(super) struct Reserve;

impl Command for Reserve {
    const NAME: &'static CStr = c"cf.reserve";
    const ARITY: c_int = -3;
    const SUMMARY: &'static CStr = c"Creates an empty cuckoo filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let words = call.words();
        if words.len() < 3 {
            return Err(Refusal::Arity);
        }
        let request = Request::of_reserve(&words[2..])?;
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        if key.value().is_some() {
            return Err(Refusal::ItemExists);
        }
        create(call, &mut key, &request)?;
        key.has_changed(CREATED);
        Ok(Reply::Ok)
    }
}

/// Creates a filter in a key without a value, here and on replicas.
pub(super) fn create(
    call: &Call<'_>,
    key: &mut Key<'_, CuckooValue>,
    request: &Request,
) -> Result<(), Refusal> {
    let blueprint = request.complete(call.random_bytes())?;
    let own = blueprint.build()?;
    if let Some(limit) = call.key_memory_limit()
        && own.memory_bytes() > limit
    {
        return Err(Refusal::KeyMemory { limit });
    }
    key.set(CuckooValue::Own(own))?;
    replicate(call, &blueprint);
    Ok(())
}

/// Tells replicas every parameter: their settings may be others, and their random numbers are.
fn replicate(call: &Call<'_>, blueprint: &Blueprint) {
    let text = blueprint.words();
    let mut words = vec![Word::Same(1)];
    words.extend(text.iter().map(|word| Word::Text(word)));
    call.replicate(Reserve::NAME, &words);
}
