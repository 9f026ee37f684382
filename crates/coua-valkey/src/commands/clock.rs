//! CF.ADVANCE, and the clock of filters with a window.

use std::ffi::CStr;

use coua::window::Clock;

use crate::cuckoo::milliseconds;
use crate::error::CommandError;
use crate::parse::integer;
use crate::server::{Call, Key, Reply, Word, command_name};
use crate::value::Value;

/// The event of an advanced clock.
const ADVANCED: &CStr = c"cuckoo.advance";

/// Advances the clock of a filter with a window before a command changes it, which removes expired items. For
/// replicated commands the primary has already replicated the clock.
#[inline]
pub(super) fn advance_clock(call: &Call<'_>, key: &mut Key<'_, Value>) {
    let forgets = matches!(key.value(), Some(Value::Native(native)) if native.window().is_some());
    if forgets && !call.is_replicated() {
        advance_to_present(call, key);
    }
}

fn advance_to_present(call: &Call<'_>, key: &mut Key<'_, Value>) {
    let Some(Value::Native(native)) = key.value_mut() else { return };
    if let Some(clock) = native.advance(milliseconds()) {
        key.notify_changed(ADVANCED);
        let clock = clock.to_string();
        let words = [Word::Same(1), Word::Text(clock.as_bytes())];
        call.replicate(command_name!("advance"), words);
    }
}

/// CF.ADVANCE
pub(super) fn advance(call: &Call<'_>) -> Result<Reply, CommandError> {
    let &[_, _, time] = call.argv() else { return Err(CommandError::Arity) };
    let time = integer(time).and_then(|time| u64::try_from(time).ok());
    let time = time.ok_or(CommandError::NotANumber("milliseconds"))?;
    let mut key = call.key_to_change::<Value>(1)?;
    let native = key.value_mut().ok_or(CommandError::NotFound)?.native_mut()?;
    let window = native.window().filter(|window| window.clock() != Clock::Count);
    let window = window.ok_or(CommandError::NotTimed)?;
    // Until then the filter would forget nothing, and no command sets its clock back.
    let latest = milliseconds().saturating_add(window.length()).saturating_add(window.step());
    if time > latest && !call.is_replicated() {
        return Err(CommandError::TimeRange);
    }
    let has_moved = native.advance(time).is_some();
    if has_moved {
        key.notify_changed(ADVANCED);
        call.replicate_as_called();
    }
    Ok(Reply::Truth(has_moved))
}
