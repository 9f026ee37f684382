//! CF.DEL and CF.MDEL.

use std::ffi::{CStr, c_int};
use std::iter;

use crate::counters;
use crate::cuckoo::CuckooValue;
use crate::cuckoo::clock::tell_time;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command, Word};

/// `CF.DEL key item`
pub(super) struct Delete;
/// `CF.MDEL key item [item ...]`
pub(super) struct DeleteMany;

impl Command for Delete {
    const NAME: &'static CStr = c"cf.del";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Takes a copy of an item out of a cuckoo filter";
    const ACCESS: Access = Access::Shrink;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let item = call.item()?;
        let [removed] = remove(call, |value| Ok([value.remove_one(item)?]))?;
        Ok(Reply::Truth(removed))
    }
}

impl Command for DeleteMany {
    const NAME: &'static CStr = c"cf.mdel";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Takes a copy of each item out of a cuckoo filter";
    const ACCESS: Access = Access::Shrink;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = call.items()?;
        remove(call, |value| value.remove(items)).map(Reply::Truths)
    }
}

/// Removes items, the last words of the call, here and on replicas.
fn remove<T: AsRef<[bool]>>(
    call: &Call<'_>,
    remove: impl FnOnce(&mut CuckooValue) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    tell_time(call, &mut key);
    let told = remove(key.value_mut().ok_or(Refusal::NothingToRemoveFrom)?)?;
    let removed = told.as_ref();
    let count = removed.iter().filter(|&&removed| removed).count();
    if count == 0 {
        return Ok(told);
    }
    counters::REMOVED.add(count as u64);
    key.has_changed(c"cuckoo.del");
    if count == removed.len() {
        call.replicate_as_called();
        return Ok(told);
    }
    let first = call.count() - removed.len();
    let there = (first..).zip(removed).filter(|(_, removed)| **removed);
    let words = iter::once(1).chain(there.map(|(number, _)| number)).map(Word::Same);
    call.replicate(DeleteMany::NAME, words);
    Ok(told)
}
