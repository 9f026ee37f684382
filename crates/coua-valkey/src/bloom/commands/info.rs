//! BF.CARD, BF.INFO and BF.DEBUG.

use std::ffi::{CStr, c_int};

use crate::bloom::value::BloomValue;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `BF.CARD key`
pub(super) struct Cardinality;
/// `BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]`
pub(super) struct Info;
/// `BF.DEBUG key`
pub(super) struct Debug;

impl Command for Cardinality {
    const NAME: &'static CStr = c"bf.card";
    const ARITY: c_int = 2;
    const WORDS: &'static CStr = c"key";
    const SUMMARY: &'static CStr = c"Tells how many items were added to a Bloom filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.count() != 2 {
            return Err(Refusal::Arity);
        }
        let key = call.key::<BloomValue>(1)?;
        let items = key.value().map_or(Ok(0), BloomValue::len)?;
        Ok(Reply::count(items))
    }
}

impl Command for Info {
    const NAME: &'static CStr = c"bf.info";
    const ARITY: c_int = -2;
    const WORDS: &'static CStr = c"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]";
    const SUMMARY: &'static CStr = c"Describes a Bloom filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let words = call.words();
        if !(2..=3).contains(&words.len()) {
            return Err(Refusal::Arity);
        }
        let key = call.key::<BloomValue>(1)?;
        let mut fields = fields_of(key.value().ok_or(Refusal::NotFound)?)?;
        let Some(wanted) = words.get(2) else {
            return Ok(Reply::Map(
                fields.into_iter().map(|(_, name, value)| (name, value)).collect(),
            ));
        };
        let place =
            fields.iter().position(|(word, ..)| wanted.eq_ignore_ascii_case(word.as_bytes()));
        let (_, name, value) = fields.swap_remove(place.ok_or(Refusal::InformationValue)?);
        Ok(Reply::Field(name, Box::new(value)))
    }
}

impl Command for Debug {
    const NAME: &'static CStr = c"bf.debug";
    const ARITY: c_int = 2;
    const WORDS: &'static CStr = c"key";
    const SUMMARY: &'static CStr = c"Describes each filter of a Bloom filter that has grown";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.count() != 2 {
            return Err(Refusal::Arity);
        }
        let key = call.key::<BloomValue>(1)?;
        let value = key.value().ok_or(Refusal::NotFound)?;
        let parts = match value {
            BloomValue::Own(own) => own.parts(),
            BloomValue::Imported(imported) => imported.parts(),
            BloomValue::Incomplete(_) => return Err(Refusal::Incomplete),
        };
        let mut lines = vec![format!("size:{}", value.len()?)];
        lines.extend(parts.iter().map(|it| {
            format!(
                "bytes:{} bits:{} hashes:{} hashwidth:64 capacity:{} size:{} ratio:{}",
                it.bytes, it.bits, it.hashes, it.capacity, it.items, it.rate
            )
        }));
        let replies = lines.into_iter().map(|line| Reply::Bytes(line.into_bytes()));
        Ok(Reply::Array(replies.collect()))
    }
}

/// The word that asks for a field, its name, its value.
type Field = (&'static str, &'static CStr, Reply);

fn fields_of(value: &BloomValue) -> Result<Vec<Field>, Refusal> {
    let (capacity, size, filters, items, expansion) = match value {
        BloomValue::Own(own) => {
            let filters = own.links.len() as u64;
            (own.capacity(), own.memory_bytes(), filters, own.len(), own.blueprint.expansion)
        }
        BloomValue::Imported(imported) => (
            imported.capacity(),
            imported.peer_size(),
            u64::from(imported.filters()),
            imported.items(),
            imported.expansion(),
        ),
        BloomValue::Incomplete(_) => return Err(Refusal::Incomplete),
    };
    let expansion = expansion.map_or(Reply::Null, |number| Reply::Integer(i64::from(number)));
    Ok(vec![
        ("CAPACITY", c"Capacity", Reply::count(capacity)),
        ("SIZE", c"Size", Reply::count(size)),
        ("FILTERS", c"Number of filters", Reply::count(filters)),
        ("ITEMS", c"Number of items inserted", Reply::count(items)),
        ("EXPANSION", c"Expansion rate", expansion),
    ])
}
