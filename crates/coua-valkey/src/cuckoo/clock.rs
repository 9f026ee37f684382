//! What time it is, told to filters that forget: here, and on replicas and in the append-only file.

use std::ffi::CStr;

use super::value::CuckooValue;
use crate::server::{Call, Key, Word};

/// The command that tells a filter its time.
pub(super) const ADVANCE: &CStr = c"cf.advance";
/// The event of a filter whose clock has moved.
pub(super) const ADVANCED: &CStr = c"cuckoo.advance";

/// Tells the filter what time it is, before a command that changes it: what the window has left goes. Whoever
/// repeats what was decided elsewhere has been told the time.
#[inline]
pub(super) fn tell_time(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
    let forgets = matches!(key.value(), Some(CuckooValue::Own(own)) if own.window().is_some());
    if forgets && !call.is_repetition() {
        tell_present(call, key);
    }
}

fn tell_present(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
    let Some(CuckooValue::Own(own)) = key.value_mut() else { return };
    if let Some(clock) = own.advance_to_present() {
        key.has_changed(ADVANCED);
        call.replicate(ADVANCE, [Word::Same(1), Word::Text(clock.to_string().as_bytes())]);
    }
}
