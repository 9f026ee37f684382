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
        if call.words().len() != 3 {
            return Err(Refusal::Arity);
        }
        let removed = remove(call, &call.words()[2..])?;
        Ok(Reply::Truth(removed.first() == Some(&true)))
    }
}

impl Command for DeleteMany {
    const NAME: &'static CStr = c"cf.mdel";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Takes a copy of each item out of a cuckoo filter";
    const ACCESS: Access = Access::Shrink;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        remove(call, call.items()?).map(Reply::Truths)
    }
}

/// Removes items, here and on replicas.
fn remove(call: &Call<'_>, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    tell_time(call, &mut key);
    let value = key.value_mut().ok_or(Refusal::NothingToRemoveFrom)?;
    let removed = value.remove(items)?;
    let count = removed.iter().filter(|&&removed| removed).count();
    if count == 0 {
        return Ok(removed);
    }
    counters::REMOVED.add(count as u64);
    key.has_changed(c"cuckoo.del");
    if count == removed.len() {
        call.replicate_as_called();
        return Ok(removed);
    }
    let first = call.words().len() - items.len();
    let there = (first..).zip(&removed).filter(|(_, removed)| **removed);
    let words = iter::once(1).chain(there.map(|(number, _)| number)).map(Word::Same);
    call.replicate(DeleteMany::NAME, words);
    Ok(removed)
}
