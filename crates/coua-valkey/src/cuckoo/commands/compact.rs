//! CF.COMPACT.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::cuckoo::clock::tell_time;
use crate::cuckoo::compaction::{Compaction, Position};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.COMPACT key [part from]`. A timer gives the words after the key, where the command before has ended.
pub(super) struct Compact;

impl Command for Compact {
    const NAME: &'static CStr = c"cf.compact";
    const ARITY: c_int = -2;
    const WORDS: &'static CStr = c"key [part:integer] [from:integer]";
    const SUMMARY: &'static CStr = c"Gives back memory of a cuckoo filter after removals";
    const ACCESS: Access = Access::Rebuild;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let at = match call.words() {
            [_, _] => None,
            &[_, _, part, from] => Some(Position::of([part, from]).ok_or(Refusal::Position)?),
            _ => return Err(Refusal::Arity),
        };
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        tell_time(call, &mut key);
        let value = key.value_mut().ok_or(Refusal::NotFound)?;
        let Compaction { has_changed, next } = value.compact(at)?;
        if has_changed {
            key.has_changed(c"cuckoo.compact");
            call.replicate_as_called();
        }
        if let Some(next) = next {
            call.go_on_later(Self::NAME, next.words());
        }
        Ok(Reply::Ok)
    }
}
