//! Questions that filters of both kinds answer: whether items are there. A missing key has none.

use super::{FilterKind, Value};
use crate::error::CommandError;
use crate::server::{Call, Reply};

/// Does EXISTS.
pub(crate) fn contains<K: FilterKind>(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let key = call.key::<Value<K>>(1)?;
    key.value().map_or(Ok(false), |value| value.contains(item)).map(Reply::Truth)
}

/// Does MEXISTS.
pub(crate) fn contains_all<K: FilterKind>(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    let key = call.key::<Value<K>>(1)?;
    let absent = || Ok(vec![false; items.len()]);
    key.value().map_or_else(absent, |value| value.contains_all(items)).map(Reply::Truths)
}
