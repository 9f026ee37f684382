//! CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.MCOUNT.

use std::ffi::CStr;

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
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let &[_, _, item] = call.words() else { return Err(Refusal::Arity) };
        let key = call.key::<CuckooValue>(1)?;
        let Some(value) = key.value() else { return Ok(Reply::Truth(false)) };
        Ok(Reply::Truth(value.own()?.filter().contains(item)))
    }
}

impl Command for ExistMany {
    const NAME: &'static CStr = c"cf.mexists";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = items_of(call)?;
        let key = call.key::<CuckooValue>(1)?;
        let mut present = Vec::new();
        match key.value() {
            Some(value) => value.own()?.filter().contains_batch(items, &mut present),
            None => present.resize(items.len(), false),
        }
        Ok(Reply::Truths(present))
    }
}

impl Command for Count {
    const NAME: &'static CStr = c"cf.count";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let &[_, _, item] = call.words() else { return Err(Refusal::Arity) };
        let key = call.key::<CuckooValue>(1)?;
        let Some(value) = key.value() else { return Ok(Reply::Integer(0)) };
        Ok(Reply::count(value.own()?.filter().count(item)))
    }
}

impl Command for CountMany {
    const NAME: &'static CStr = c"cf.mcount";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = items_of(call)?;
        let key = call.key::<CuckooValue>(1)?;
        let mut counts = Vec::new();
        match key.value() {
            Some(value) => value.own()?.filter().count_batch(items, &mut counts),
            None => counts.resize(items.len(), 0),
        }
        Ok(Reply::Array(counts.into_iter().map(Reply::count).collect()))
    }
}

/// The words behind the key, of which there is one at least.
pub(super) fn items_of<'a>(call: &'a Call<'a>) -> Result<&'a [&'a [u8]], Refusal> {
    call.words().get(2..).filter(|items| !items.is_empty()).ok_or(Refusal::Arity)
}
