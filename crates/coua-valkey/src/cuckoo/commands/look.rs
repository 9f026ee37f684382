//! CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.MCOUNT.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.EXISTS key item`
pub(super) struct Exists;
/// `CF.MEXISTS key item [item ...]`
pub(super) struct ExistMany;
/// `CF.COUNT key item`
pub(super) struct Count;
/// `CF.MCOUNT key item [item ...]`
pub(super) struct CountMany;

impl Command for Exists {
    const NAME: &'static CStr = c"cf.exists";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Tells whether an item is in a cuckoo filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let item = call.item()?;
        let key = call.key::<CuckooValue>(1)?;
        let Some(value) = key.value() else { return Ok(Reply::Truth(false)) };
        value.contains(item).map(Reply::Truth)
    }
}

impl Command for ExistMany {
    const NAME: &'static CStr = c"cf.mexists";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Tells which items are in a cuckoo filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = call.items()?;
        let key = call.key::<CuckooValue>(1)?;
        let absent = || Ok(vec![false; items.len()]);
        key.value().map_or_else(absent, |value| value.contains_all(items)).map(Reply::Truths)
    }
}

impl Command for Count {
    const NAME: &'static CStr = c"cf.count";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Tells how often an item is in a cuckoo filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let item = call.item()?;
        let key = call.key::<CuckooValue>(1)?;
        let Some(value) = key.value() else { return Ok(Reply::Integer(0)) };
        Ok(Reply::count(value.count_all(&[item])?.first().copied().unwrap_or(0)))
    }
}

impl Command for CountMany {
    const NAME: &'static CStr = c"cf.mcount";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Tells how often items are in a cuckoo filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = call.items()?;
        let key = call.key::<CuckooValue>(1)?;
        let absent = || Ok(vec![0; items.len()]);
        let counts = key.value().map_or_else(absent, |value| value.count_all(items))?;
        Ok(Reply::Array(counts.into_iter().map(Reply::count).collect()))
    }
}
