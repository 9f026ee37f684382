//! New filters: RESERVE, and commands that create what they fill.

use std::ffi::CStr;
use std::iter;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::KeyHasher;

use super::filter::{Kind, OwnFilter as _};
use super::held::Value;
use crate::parse::{Options, Words};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Call, Key, Word, random_bytes};
use crate::settings::key_memory_limit_of;

/// Where what was not said comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defaults {
    /// The settings of this server.
    Settings,
    /// Those of the module as it is delivered. A primary leaves out what is the same as these.
    BuiltIn,
}

/// A secret key for a new filter, another one each time: the server takes a while for random bytes, so a secret
/// is drawn from it once, and the keys are what SipHash makes of their numbers under it.
fn fresh_key() -> [u8; 16] {
    static SECRET: OnceLock<[u8; 16]> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(2, Ordering::Relaxed);
    let hasher = KeyHasher::siphash13(*SECRET.get_or_init(random_bytes));
    let half = |number: u64| u128::from(hasher.hash(number.to_le_bytes()).to_u64());
    (half(number) << 64 | half(number + 1)).to_le_bytes()
}

/// Of filters from this size on the server is asked whether it has memory for them: it takes a while to tell.
const LARGE: u64 = 1 << 20;

/// How filters of a kind are created.
pub(crate) trait Creates: Kind {
    /// What the words of a command say about a new filter.
    type Request: Default;
    /// Options that such a command may have before its items.
    const OPTIONS: &'static [&'static str];
    /// The command that creates an empty filter.
    const RESERVE: &'static CStr;
    /// The event of a new filter.
    const CREATED: &'static CStr;

    /// Takes the value of one of the options.
    fn take(
        request: &mut Self::Request,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), Refusal>;

    /// Tells a filter that forgets what time it is, before it changes.
    fn tell_time(_call: &Call<'_>, _key: &mut Key<'_, Value<Self>>) {}

    /// Refuses what contradicts itself.
    fn check(request: &Self::Request) -> Result<(), Refusal>;

    /// Builds the filter, with `random` as the key of its hash unless one is given, and `defaults` for the rest. Also the words
    /// behind the key with which [`RESERVE`](Self::RESERVE) builds the same one anywhere.
    fn build(
        request: &Self::Request,
        random: [u8; 16],
        defaults: Defaults,
        limit: Option<u64>,
    ) -> Result<(Self::Own, Words), Refusal>;
}

/// Does RESERVE.
pub(crate) fn reserve<K: Creates>(call: &Call<'_>, request: &K::Request) -> Result<Reply, Refusal> {
    let mut key = call.key_to_change::<Value<K>>(1)?;
    if key.value().is_some() {
        return Err(Refusal::ItemExists);
    }
    create(call, &mut key, request)?;
    key.has_changed(K::CREATED);
    Ok(Reply::Ok)
}

/// Creates a filter in a key without a value, here and, with every parameter, on replicas: their
/// settings may be others, and their random numbers are.
pub(super) fn create<K: Creates>(
    call: &Call<'_>,
    key: &mut Key<'_, Value<K>>,
    request: &K::Request,
) -> Result<(), Refusal> {
    let limit = key_memory_limit_of(call);
    let defaults = if call.is_repetition() { Defaults::BuiltIn } else { Defaults::Settings };
    let (own, text) = K::build(request, fresh_key(), defaults, limit)?;
    if let Some(limit) = limit.filter(|&limit| own.memory_bytes() > limit) {
        return Err(Refusal::KeyMemory { limit });
    }
    // Memory that nobody has touched yet is given back at once.
    let is_large = own.memory_bytes() >= LARGE;
    if is_large && call.memory_left().is_some_and(|left| own.memory_bytes() > left) {
        return Err(Refusal::NoMemoryToCreate);
    }
    key.set(Value::Own(own))?;
    call.replicate(K::RESERVE, iter::once(Word::Same(1)).chain(text.iter().map(Word::Text)));
    Ok(())
}
