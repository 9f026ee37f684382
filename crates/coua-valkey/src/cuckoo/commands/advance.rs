//! CF.ADVANCE.

use std::ffi::{CStr, c_int};

use coua::window::Clock;

use crate::cuckoo::CuckooValue;
use crate::cuckoo::clock::{ADVANCE, ADVANCED};
use crate::parse::integer;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.ADVANCE key milliseconds`
pub(super) struct Advance;

impl Command for Advance {
    const NAME: &'static CStr = ADVANCE;
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key milliseconds:integer";
    const SUMMARY: &'static CStr = c"Tells a cuckoo filter that forgets what time it is";
    const ACCESS: Access = Access::Shrink;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let &[_, _, time] = call.words() else { return Err(Refusal::Arity) };
        let time = integer(time).and_then(|time| u64::try_from(time).ok());
        let time = time.ok_or(Refusal::NotANumber("milliseconds"))?;
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        let own = key.value_mut().ok_or(Refusal::NotFound)?.own_mut()?;
        if own.window().is_none_or(|window| window.clock() == Clock::Count) {
            return Err(Refusal::NotTimed);
        }
        let has_moved = own.advance(time).is_some();
        if has_moved {
            key.has_changed(ADVANCED);
            call.replicate_as_called();
        }
        Ok(Reply::Truth(has_moved))
    }
}
