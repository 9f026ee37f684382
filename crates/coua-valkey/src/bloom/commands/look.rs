//! BF.EXISTS and BF.MEXISTS.

use std::ffi::{CStr, c_int};

use crate::bloom::value::BloomValue;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `BF.EXISTS key item`
pub(super) struct Exists;
/// `BF.MEXISTS key item [item ...]`
pub(super) struct ExistMany;

impl Command for Exists {
    const NAME: &'static CStr = c"bf.exists";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Tells whether an item is in a Bloom filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let item = call.item()?;
        let key = call.key::<BloomValue>(1)?;
        let Some(value) = key.value() else { return Ok(Reply::Truth(false)) };
        value.contains(item).map(Reply::Truth)
    }
}

impl Command for ExistMany {
    const NAME: &'static CStr = c"bf.mexists";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Tells which items are in a Bloom filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let items = call.items()?;
        let key = call.key::<BloomValue>(1)?;
        let absent = || Ok(vec![false; items.len()]);
        key.value().map_or_else(absent, |value| value.contains_all(items)).map(Reply::Truths)
    }
}
