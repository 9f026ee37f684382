//! New filters: RESERVE, and commands that create what they fill.

use std::ffi::CStr;
use std::iter;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::KeyHasher;

use crate::cuckoo::{CuckooRequest, Defaults, NativeCuckoo};
use crate::error::CommandError;
use crate::server::{Call, Key, Reply, Word, command_name, random_bytes};
use crate::settings::key_memory_limit_of;
use crate::value::Value;

/// A new secret key for each filter. The server takes a while for random bytes, so one secret comes from it, and the
/// keys are the SipHash values of their numbers under that secret.
fn fresh_key() -> [u8; 16] {
    static SECRET: OnceLock<[u8; 16]> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(2, Ordering::Relaxed);
    let hasher = KeyHasher::SipHash13 { key: *SECRET.get_or_init(random_bytes) };
    let half = |number: u64| u128::from(hasher.hash(number.to_le_bytes()).to_u64());
    (half(number) << 64 | half(number + 1)).to_le_bytes()
}

/// Only for filters from this size on is the server's free memory queried, because that takes a while.
const LARGE: u64 = 1 << 20;

/// The event of a new filter.
pub(super) const CREATED: &CStr = c"cuckoo.reserve";

/// CF.RESERVE
pub(super) fn reserve(call: &Call<'_>) -> Result<Reply, CommandError> {
    let request = CuckooRequest::of_reserve(call.argv().get(2..).ok_or(CommandError::Arity)?)?;
    let mut key = call.key_to_change::<Value>(1)?;
    if key.value().is_some() {
        return Err(CommandError::ItemExists);
    }
    create(call, &mut key, &request)?;
    key.notify_changed(CREATED);
    Ok(Reply::Ok)
}

/// Creates a filter in a key without a value, here and, with all parameters, on replicas, whose
/// settings and random numbers may differ.
pub(super) fn create(
    call: &Call<'_>,
    key: &mut Key<'_, Value>,
    request: &CuckooRequest,
) -> Result<(), CommandError> {
    let limit = key_memory_limit_of(call);
    let defaults = if call.is_replicated() { Defaults::BuiltIn } else { Defaults::Settings };
    let spec = request.complete_with(fresh_key(), defaults)?;
    let words = spec.arguments();
    let native = NativeCuckoo::of(spec)?;
    CommandError::check_bytes(native.memory_bytes(), limit)?;
    // Memory that was not touched yet is given back at once.
    let is_large = native.memory_bytes() >= LARGE;
    if is_large && call.memory_left().is_some_and(|left| native.memory_bytes() > left) {
        return Err(CommandError::NoMemoryToCreate);
    }
    key.set(Value::Native(native))?;
    let words = iter::once(Word::Same(1)).chain(words.iter().map(Word::Text));
    call.replicate(command_name!("reserve"), words);
    Ok(())
}
