//! The CF.* commands.

mod clock;
mod creation;
mod info;
mod insertion;

use std::ffi::CStr;
use std::iter;
use std::sync::atomic::Ordering::Relaxed;

use crate::cuckoo::{Compaction, NativeCuckoo, Outcome};
use crate::error::CommandError;
use crate::parse::integer;
use crate::redisbloom::CompactionPosition;
use crate::server::{Call, Command, Reply, Word, command_name, commands, shown};
use crate::settings::{REMOVED, key_memory_limit_of};
use crate::value::Value;
use clock::{advance, advance_clock};
use coua::IfPresent;
use creation::reserve;
use info::{debug, info};
use insertion::{Insertion, add_item, reply_each, warn_of_rate};

/// All of them.
pub(crate) const COMMANDS: &[Command] = commands! {
    "reserve", -3, Grow, reserve,
        c"key capacity:integer [BUCKETSIZE size:integer] [MAXITERATIONS iterations:integer] \
        [EXPANSION expansion:integer] [ERROR rate:double | HASHBITS bits:integer] [SEED seed] \
        [WINDOW length | WINDOWITEMS items:integer] [GENERATIONS generations:integer]",
        c"Creates an empty cuckoo filter";
    "add", 3, Grow, add, c"key item",
        c"Adds an item, or another copy of it, to a cuckoo filter";
    "addnx", 3, Grow, add_absent, c"key item",
        c"Adds an item to a cuckoo filter if it is absent";
    "madd", -3, Grow, add_all, c"key item...", c"Adds items to a cuckoo filter";
    "insert", -4, Grow, insert, INSERT_WORDS,
        c"Adds items to a cuckoo filter; options apply to a new one";
    "insertnx", -4, Grow, insert_absent, INSERT_WORDS,
        c"Adds absent items to a cuckoo filter; options apply to a new one";
    "exists", 3, Read, contains, c"key item", c"Checks whether an item is in a cuckoo filter";
    "mexists", -3, Read, contains_all, c"key item...",
        c"Checks which items are in a cuckoo filter";
    "count", 3, Read, count, c"key item", c"Counts the copies of an item in a cuckoo filter";
    "mcount", -3, Read, count_all, c"key item...",
        c"Counts the copies of each item in a cuckoo filter";
    "del", 3, Shrink, remove, c"key item", c"Removes one copy of an item from a cuckoo filter";
    "mdel", -3, Shrink, remove_all, c"key item...",
        c"Removes one copy of each item from a cuckoo filter";
    "scandump", 3, ReadAll, scan_dump, c"key iterator:integer",
        c"Returns the next chunk of a cuckoo filter";
    "loadchunk", 4, Grow, load_chunk, c"key iterator:integer data",
        c"Loads a chunk of a cuckoo filter";
    "merge", -3, Merge, merge, c"destination:key source:key...",
        c"Adds all items of the source filters to the destination";
    "compact", -2, Rebuild, compact, c"key [part:integer] [from:integer]",
        c"Frees memory of a cuckoo filter after removals";
    "advance", 3, Shrink, advance, c"key milliseconds:integer",
        c"Advances the clock of a cuckoo filter with a window";
    "note", -4, Grow, note, c"key name value [NX]",
        c"Sets or removes a note of a cuckoo filter; CF.INFO shows notes";
    "info", -2, Read, info, c"key [FULL | field]", c"Describes a cuckoo filter";
    "debug", 2, Read, debug, c"key", c"Describes a cuckoo filter in one line";
};

/// CF.INSERT and CF.INSERTNX.
const INSERT_WORDS: &CStr =
    c"key [CAPACITY capacity:integer] [ERROR rate:double | HASHBITS bits:integer] \
    [SEED seed] [NOCREATE] ITEMS item...";

fn add(call: &Call<'_>) -> Result<Reply, CommandError> {
    add_item(call, IfPresent::AddCopy)
}

fn add_absent(call: &Call<'_>) -> Result<Reply, CommandError> {
    add_item(call, IfPresent::Skip)
}

fn add_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let outcomes = Insertion::of_items().add_all(call, IfPresent::AddCopy)?;
    Ok(reply_each(outcomes, accepted))
}

fn insert(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::of_options(call)?.add_all(call, IfPresent::AddCopy)?, accepted))
}

fn insert_absent(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::of_options(call)?.add_all(call, IfPresent::Skip)?, number))
}

fn accepted(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted | Outcome::Present => Reply::Accepted(true),
        Outcome::Refused(refusal) if refusal.is_full() => Reply::Accepted(false),
        Outcome::Refused(refusal) => Reply::Error(refusal),
    }
}

/// Three outcomes do not fit a boolean of RESP3: these are integers in both protocols.
fn number(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted => Reply::Integer(1),
        Outcome::Present => Reply::Integer(0),
        Outcome::Refused(refusal) if refusal.is_full() => Reply::Integer(-1),
        Outcome::Refused(refusal) => Reply::Error(refusal),
    }
}

/// A missing key has no item.
fn contains(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let key = call.key::<Value>(1)?;
    key.value().map_or(Ok(false), |value| value.contains(item)).map(Reply::Truth)
}

fn contains_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    let key = call.key::<Value>(1)?;
    let absent = || Ok(vec![false; items.len()]);
    key.value().map_or_else(absent, |value| value.contains_all(items)).map(Reply::Truths)
}

fn count(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let key = call.key::<Value>(1)?;
    let Some(value) = key.value() else { return Ok(Reply::Integer(0)) };
    Ok(Reply::count(value.count_all(&[item])?.first().copied().unwrap_or(0)))
}

fn count_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    let key = call.key::<Value>(1)?;
    let absent = || Ok(vec![0; items.len()]);
    let counts = key.value().map_or_else(absent, |value| value.count_all(items))?;
    Ok(Reply::Array(counts.into_iter().map(Reply::count).collect()))
}

fn remove(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let [removed] = remove_here_and_there(call, |value| Ok([value.remove_one(item)?]))?;
    Ok(Reply::Truth(removed))
}

fn remove_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    remove_here_and_there(call, |value| value.remove(items)).map(Reply::Truths)
}

/// Removes items, the last words of the call, here and on replicas.
fn remove_here_and_there<T: AsRef<[bool]>>(
    call: &Call<'_>,
    remove: impl FnOnce(&mut Value) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut key = call.key_to_change::<Value>(1)?;
    advance_clock(call, &mut key);
    let outcome = remove(key.value_mut().ok_or(CommandError::NothingToRemoveFrom)?)?;
    let removed = outcome.as_ref();
    let count = removed.iter().filter(|&&removed| removed).count();
    if count == 0 {
        return Ok(outcome);
    }
    REMOVED.fetch_add(count as u64, Relaxed);
    key.notify_changed(c"cuckoo.del");
    if count == removed.len() {
        call.replicate_as_called();
        return Ok(outcome);
    }
    let first = call.count() - removed.len();
    let there = (first..).zip(removed).filter(|(_, removed)| **removed);
    let words = iter::once(1).chain(there.map(|(number, _)| number)).map(Word::Same);
    call.replicate(command_name!("mdel"), words);
    Ok(outcome)
}

fn scan_dump(call: &Call<'_>) -> Result<Reply, CommandError> {
    let &[_, _, position] = call.argv() else { return Err(CommandError::Arity) };
    let position =
        integer(position).filter(|&position| position >= 0).ok_or(CommandError::Position)?;
    let key = call.key::<Value>(1)?;
    Ok(match key.value().ok_or(CommandError::NotFound)?.chunk(position)? {
        Some((end, chunk)) => Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]),
        None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
    })
}

fn load_chunk(call: &Call<'_>) -> Result<Reply, CommandError> {
    let &[_, _, position, chunk] = call.argv() else { return Err(CommandError::Arity) };
    let position =
        integer(position).filter(|&position| position > 0).ok_or(CommandError::Position)?;
    let mut key = call.key_to_change::<Value>(1)?;
    let limit = key_memory_limit_of(call);
    match key.value_mut() {
        None => {
            key.set(Value::from_first_chunk(position, chunk, limit, || call.memory_left())?)?;
        }
        Some(value) => value.load_chunk(position, chunk, limit)?,
    }
    key.notify_changed(c"cuckoo.loadchunk");
    call.replicate_as_called();
    Ok(Reply::Ok)
}

fn merge(call: &Call<'_>) -> Result<Reply, CommandError> {
    // Two new copies exist for a while, beside the filter that is replaced.
    let left = call.memory_left().map(|left| left / 2);
    let limit = key_memory_limit_of(call).into_iter().chain(left).min();
    let merged = merged(call, limit).map_err(|refusal| match refusal {
        CommandError::KeyMemory { limit } if Some(limit) == left => CommandError::ServerMemory,
        refusal => refusal,
    })?;
    let mut destination = call.key_to_change::<Value>(1)?;
    let exceeded = destination.value().is_some_and(Value::exceeds_rate);
    match destination.value_mut() {
        Some(Value::Native(native)) => *native = merged,
        Some(_) => return Err(CommandError::Defect),
        None => drop(destination.set(Value::Native(merged))?),
    }
    if let Some(value) = destination.value().filter(|it| !exceeded && it.exceeds_rate()) {
        warn_of_rate(call, value);
    }
    destination.notify_changed(c"cuckoo.merge");
    call.replicate_as_called();
    Ok(Reply::Ok)
}

/// The new value of the destination, within a limit. The old value does not change until all sources are merged.
fn merged(call: &Call<'_>, limit: Option<u64>) -> Result<NativeCuckoo, CommandError> {
    let destination = call.key::<Value>(1)?;
    // A missing destination becomes a copy of the first source.
    let first = if destination.value().is_some() { 1 } else { 2 };
    let mut union = None;
    for word in first..call.count() {
        let key = call.key::<Value>(word)?;
        if let Err(refusal) = merge_into(&mut union, key.value(), limit) {
            // What was merged before may be an empty filter here, because it was damaged.
            if refusal.is_lack_of_memory() || !call.is_replicated() {
                return Err(refusal);
            }
            let source = shown(call.argv()[word]);
            call.log(&format!("lacks the items of a source ({refusal}): key {source}"));
        }
    }
    let union = union.ok_or(CommandError::NotFound)?;
    CommandError::check_bytes(union.memory_bytes(), limit)?;
    Ok(union)
}

fn merge_into(
    union: &mut Option<NativeCuckoo>,
    source: Option<&Value>,
    limit: Option<u64>,
) -> Result<(), CommandError> {
    let source = source.ok_or(CommandError::NotFound)?.native()?;
    if let Some(union) = union {
        return union.merge(source, limit);
    }
    CommandError::check_bytes(source.memory_bytes(), limit)?;
    *union = Some(source.try_clone()?);
    Ok(())
}

/// Words after the key come from a timer, and say where the previous command ended.
fn compact(call: &Call<'_>) -> Result<Reply, CommandError> {
    let at = match call.argv() {
        [_, _] => None,
        &[_, _, part, from] => {
            Some(CompactionPosition::of([part, from]).ok_or(CommandError::Position)?)
        }
        _ => return Err(CommandError::Arity),
    };
    let mut key = call.key_to_change::<Value>(1)?;
    advance_clock(call, &mut key);
    let value = key.value_mut().ok_or(CommandError::NotFound)?;
    let Compaction { has_changed, next } = value.compact(at)?;
    if has_changed {
        key.notify_changed(c"cuckoo.compact");
        call.replicate_as_called();
    }
    if let Some(next) = next {
        call.schedule(command_name!("compact"), next.arguments());
    }
    Ok(Reply::Ok)
}

/// An empty value removes the note. With NX an existing note stays.
fn note(call: &Call<'_>) -> Result<Reply, CommandError> {
    let (name, value, is_for_new) = match *call.argv() {
        [_, _, name, value] => (name, value, false),
        [_, _, name, value, nx] if nx.eq_ignore_ascii_case(b"NX") => (name, value, true),
        [_, _, _, _, other] => return Err(CommandError::unknown(other)),
        _ => return Err(CommandError::Arity),
    };
    let mut key = call.key_to_change::<Value>(1)?;
    let native = key.value_mut().ok_or(CommandError::NotFound)?.native_mut()?;
    if is_for_new && native.notes.get(name).is_some() {
        return Ok(Reply::Null);
    }
    if native.set_note(name, value)? {
        key.notify_changed(c"cuckoo.note");
        call.replicate_as_called();
    }
    Ok(Reply::Ok)
}
