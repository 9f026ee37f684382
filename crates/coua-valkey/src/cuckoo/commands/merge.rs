//! CF.MERGE.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::cuckoo::own::OwnCuckoo;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::settings::key_memory_limit_of;

/// `CF.MERGE destination source [source ...]`
pub(super) struct Merge;

impl Command for Merge {
    const NAME: &'static CStr = c"cf.merge";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"destination:key source:key...";
    const SUMMARY: &'static CStr = c"Adds all items of cuckoo filters to another one";
    const ACCESS: Access = Access::Grow;
    const HAS_SOURCES: bool = true;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.count() < 3 {
            return Err(Refusal::Arity);
        }
        // The filter is there twice for a while, beside the one that it replaces.
        let left = call.memory_left().map(|left| left / 2);
        let limit = key_memory_limit_of(call).into_iter().chain(left).min();
        let merged = merged(call, limit).map_err(|refusal| match refusal {
            Refusal::KeyMemory { limit } if Some(limit) == left => Refusal::ServerMemory,
            refusal => refusal,
        })?;
        let mut destination = call.key_to_change::<CuckooValue>(1)?;
        match destination.value_mut() {
            Some(CuckooValue::Own(own)) => own.replace(merged),
            Some(_) => return Err(Refusal::Defect),
            None => drop(destination.set(CuckooValue::Own(merged))?),
        }
        destination.has_changed(c"cuckoo.merge");
        call.replicate_as_called();
        Ok(Reply::Ok)
    }
}

/// What the destination will be, within a limit. It is not changed before all sources are in.
fn merged(call: &Call<'_>, limit: Option<u64>) -> Result<OwnCuckoo, Refusal> {
    let destination = call.key::<CuckooValue>(1)?;
    // A missing destination becomes a copy of the first source.
    let first = if destination.value().is_some() { 1 } else { 2 };
    let mut union: Option<OwnCuckoo> = None;
    for word in first..call.count() {
        let key = call.key::<CuckooValue>(word)?;
        let own = key.value().ok_or(Refusal::NotFound)?.own()?;
        match &mut union {
            None => union = Some(within(limit, own)?.try_clone()?),
            Some(union) => union.merge(own, limit)?,
        }
    }
    let union = union.ok_or(Refusal::NotFound)?;
    within(limit, &union)?;
    Ok(union)
}

fn within(limit: Option<u64>, own: &OwnCuckoo) -> Result<&OwnCuckoo, Refusal> {
    match limit.filter(|&limit| own.memory_bytes() > limit) {
        Some(limit) => Err(Refusal::KeyMemory { limit }),
        None => Ok(own),
    }
}
