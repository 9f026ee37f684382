//! CF.COMPACT.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::cuckoo::clock::tell_time;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.COMPACT key`
pub(super) struct Compact;

impl Command for Compact {
    const NAME: &'static CStr = c"cf.compact";
    const ARITY: c_int = 2;
    const WORDS: &'static CStr = c"key";
    const SUMMARY: &'static CStr = c"Gives back memory of a cuckoo filter after removals";
    const ACCESS: Access = Access::Rebuild;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.words().len() != 2 {
            return Err(Refusal::Arity);
        }
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        tell_time(call, &mut key);
        let value = key.value_mut().ok_or(Refusal::NotFound)?;
        let compaction = value.compact()?;
        if compaction.has_changed {
            key.has_changed(c"cuckoo.compact");
            call.replicate_as_called();
        }
        if !compaction.is_done {
            call.go_on_later(Self::NAME);
        }
        Ok(Reply::Ok)
    }
}
