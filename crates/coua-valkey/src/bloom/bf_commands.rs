//! The BF.* commands.

use std::ffi::CStr;

use super::{Bloom, BloomRequest, BloomValue, NativeBloom};
use crate::error::CommandError;
use crate::redisbloom::{PeerBloom, PeerFilter};
use crate::server::{Call, Command, Family, Reply, TypeEntry, commands};
use crate::value::insertion::{Insertion, add_item, reply_each};
use crate::value::{self, NativeFilter as _, Outcome, creation, dump};

/// BF.*
pub(crate) const FAMILY: Family = Family {
    name: "BF.*",
    category: c"bloom",
    value_type: TypeEntry::of::<BloomValue>(),
    commands: COMMANDS,
};

const COMMANDS: &[Command] = commands! {
    c"bf.reserve", -4, Grow, reserve,
        c"key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING] \
        [SEED seed]",
        c"Creates an empty Bloom filter";
    c"bf.add", 3, Grow, add, c"key item", c"Adds an item to a Bloom filter";
    c"bf.madd", -3, Grow, add_all, c"key item...", c"Adds items to a Bloom filter";
    c"bf.insert", -4, Grow, insert,
        c"key [CAPACITY capacity:integer] [ERROR error:double] [EXPANSION expansion:integer] \
        [NOCREATE] [NONSCALING] [VALIDATESCALETO items:integer] [SEED seed] ITEMS item...",
        c"Adds items to a Bloom filter; options apply to a new one";
    c"bf.exists", 3, Read, value::contains::<Bloom>, c"key item", c"Checks whether an item is in a Bloom filter";
    c"bf.mexists", -3, Read, value::contains_all::<Bloom>, c"key item...",
        c"Checks which items are in a Bloom filter";
    c"bf.card", 2, Read, cardinality, c"key", c"Counts the items that were added to a Bloom filter";
    c"bf.info", -2, Read, info, c"key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
        c"Describes a Bloom filter";
    c"bf.debug", 2, Read, debug, c"key", c"Describes each part of a Bloom filter on a line";
    c"bf.scandump", 3, ReadAll, scan_dump, c"key iterator:integer",
        c"Returns the next chunk of a Bloom filter";
    c"bf.loadchunk", 4, Grow, dump::load::<Bloom>, c"key iterator:integer data",
        c"Loads a chunk of a Bloom filter";
};

fn reserve(call: &Call<'_>) -> Result<Reply, CommandError> {
    let request = BloomRequest::of_reserve(call.argv().get(2..).ok_or(CommandError::Arity)?)?;
    creation::reserve::<Bloom>(call, &request)
}

fn add(call: &Call<'_>) -> Result<Reply, CommandError> {
    add_item::<Bloom>(call, ())
}

fn add_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::<Bloom>::of_items().add_all(call, ())?, truth))
}

fn insert(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::<Bloom>::of_options(call)?.add_all(call, ())?, truth))
}

fn truth(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted => Reply::Truth(true),
        Outcome::Present => Reply::Truth(false),
        Outcome::Refused(refusal) => Reply::Error(refusal),
    }
}

fn cardinality(call: &Call<'_>) -> Result<Reply, CommandError> {
    let key = call.key::<BloomValue>(1)?;
    let items = key.value().map_or(Ok(0), items_of)?;
    Ok(Reply::count(items))
}

fn items_of(value: &BloomValue) -> Result<u64, CommandError> {
    value.ask(NativeBloom::len, PeerFilter::items)
}

fn info(call: &Call<'_>) -> Result<Reply, CommandError> {
    let words = call.argv();
    if !(2..=3).contains(&words.len()) {
        return Err(CommandError::Arity);
    }
    let key = call.key::<BloomValue>(1)?;
    let mut fields = fields_of(key.value().ok_or(CommandError::NotFound)?)?;
    let Some(wanted) = words.get(2) else {
        return Ok(Reply::Map(fields.into_iter().map(|(_, name, value)| (name, value)).collect()));
    };
    let place = fields.iter().position(|(word, ..)| wanted.eq_ignore_ascii_case(word.as_bytes()));
    let (_, name, value) = fields.swap_remove(place.ok_or(CommandError::InformationValue)?);
    Ok(Reply::Field(name, Box::new(value)))
}

fn debug(call: &Call<'_>) -> Result<Reply, CommandError> {
    let key = call.key::<BloomValue>(1)?;
    let value = key.value().ok_or(CommandError::NotFound)?;
    let parts = value.ask(NativeBloom::parts, PeerBloom::parts)?;
    let mut lines = vec![format!("size:{}", items_of(value)?)];
    lines.extend(parts.iter().map(|it| {
        format!(
            "bytes:{} bits:{} hashes:{} hashwidth:64 capacity:{} size:{} ratio:{}",
            it.bytes, it.bits, it.hashes, it.capacity, it.items, it.rate
        )
    }));
    let replies = lines.into_iter().map(|line| Reply::Bytes(line.into_bytes()));
    Ok(Reply::Array(replies.collect()))
}

fn scan_dump(call: &Call<'_>) -> Result<Reply, CommandError> {
    // Clients expect an empty string at the end here, but null from CF.SCANDUMP.
    let (end, chunk) = dump::scan::<Bloom>(call)?.unwrap_or_default();
    Ok(Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]))
}

/// For each field, the word that requests it, its name, and its value.
fn fields_of(
    value: &BloomValue,
) -> Result<Vec<(&'static str, &'static CStr, Reply)>, CommandError> {
    let (capacity, size, filters, items, expansion) = value.ask(
        |native| {
            let filters = native.links.len() as u64;
            (native.capacity(), native.memory_bytes(), filters, native.len(), native.spec.expansion)
        },
        |imported| {
            let (size, filters) = (imported.peer_size(), u64::from(imported.filters()));
            (imported.capacity(), size, filters, imported.items(), imported.expansion())
        },
    )?;
    let expansion = expansion.map_or(Reply::Null, |number| Reply::Integer(i64::from(number)));
    Ok(vec![
        ("CAPACITY", c"Capacity", Reply::count(capacity)),
        ("SIZE", c"Size", Reply::count(size)),
        ("FILTERS", c"Number of filters", Reply::count(filters)),
        ("ITEMS", c"Number of items inserted", Reply::count(items)),
        ("EXPANSION", c"Expansion rate", expansion),
    ])
}
