//! The CF.* commands.

use std::ffi::CStr;
use std::iter;

use coua::window::Clock;

use super::cf_info::{debug, info};
use super::compaction::{Compaction, CompactionPosition};
use super::{ADVANCED, Copies, Cuckoo, CuckooRequest, CuckooValue, NativeCuckoo, advance_clock};
use crate::error::CommandError;
use crate::parse::integer;
use crate::server::{Call, Command, Family, Reply, TypeEntry, Word, commands};
use crate::settings::{REMOVED, key_memory_limit_of};
use crate::value::insertion::{Insertion, add_item, reply_each};
use crate::value::{self, NativeFilter as _, Outcome, creation, dump};

/// CF.*
pub(crate) const FAMILY: Family = Family {
    name: "CF.*",
    category: c"cuckoo",
    value_type: TypeEntry::of::<CuckooValue>(),
    commands: COMMANDS,
};

const COMMANDS: &[Command] = commands! {
    c"cf.reserve", -3, Grow, reserve,
        c"key capacity:integer [BUCKETSIZE size:integer] [MAXITERATIONS iterations:integer] \
        [EXPANSION expansion:integer] [ERROR rate:double | HASHBITS bits:integer] [SEED seed] \
        [WINDOW length | WINDOWITEMS items:integer] [GENERATIONS generations:integer]",
        c"Creates an empty cuckoo filter";
    c"cf.add", 3, Grow, add, c"key item",
        c"Adds an item, or another copy of it, to a cuckoo filter";
    c"cf.addnx", 3, Grow, add_absent, c"key item",
        c"Adds an item to a cuckoo filter if it is absent";
    c"cf.madd", -3, Grow, add_all, c"key item...", c"Adds items to a cuckoo filter";
    c"cf.insert", -4, Grow, insert, INSERT_WORDS,
        c"Adds items to a cuckoo filter; options apply to a new one";
    c"cf.insertnx", -4, Grow, insert_absent, INSERT_WORDS,
        c"Adds absent items to a cuckoo filter; options apply to a new one";
    c"cf.exists", 3, Read, value::contains::<Cuckoo>, c"key item", c"Checks whether an item is in a cuckoo filter";
    c"cf.mexists", -3, Read, value::contains_all::<Cuckoo>, c"key item...",
        c"Checks which items are in a cuckoo filter";
    c"cf.count", 3, Read, count, c"key item", c"Counts the copies of an item in a cuckoo filter";
    c"cf.mcount", -3, Read, count_all, c"key item...",
        c"Counts the copies of each item in a cuckoo filter";
    c"cf.del", 3, Shrink, remove, c"key item", c"Removes one copy of an item from a cuckoo filter";
    c"cf.mdel", -3, Shrink, remove_all, c"key item...",
        c"Removes one copy of each item from a cuckoo filter";
    c"cf.scandump", 3, ReadAll, scan_dump, c"key iterator:integer",
        c"Returns the next chunk of a cuckoo filter";
    c"cf.loadchunk", 4, Grow, dump::load::<Cuckoo>, c"key iterator:integer data",
        c"Loads a chunk of a cuckoo filter";
    c"cf.merge", -3, Merge, merge, c"destination:key source:key...",
        c"Adds all items of the source filters to the destination";
    c"cf.compact", -2, Rebuild, compact, c"key [part:integer] [from:integer]",
        c"Frees memory of a cuckoo filter after removals";
    c"cf.advance", 3, Shrink, advance, c"key milliseconds:integer",
        c"Advances the clock of a cuckoo filter with a window";
    c"cf.note", -4, Grow, note, c"key name value [NX]",
        c"Sets or removes a note of a cuckoo filter; CF.INFO shows notes";
    c"cf.info", -2, Read, info, c"key [FULL | field]", c"Describes a cuckoo filter";
    c"cf.debug", 2, Read, debug, c"key", c"Describes a cuckoo filter in one line";
};

/// CF.INSERT and CF.INSERTNX.
const INSERT_WORDS: &CStr =
    c"key [CAPACITY capacity:integer] [ERROR rate:double | HASHBITS bits:integer] \
    [SEED seed] [NOCREATE] ITEMS item...";

fn reserve(call: &Call<'_>) -> Result<Reply, CommandError> {
    let request = CuckooRequest::of_reserve(call.argv().get(2..).ok_or(CommandError::Arity)?)?;
    creation::reserve::<Cuckoo>(call, &request)
}

fn add(call: &Call<'_>) -> Result<Reply, CommandError> {
    add_item::<Cuckoo>(call, Copies::Add)
}

fn add_absent(call: &Call<'_>) -> Result<Reply, CommandError> {
    add_item::<Cuckoo>(call, Copies::Keep)
}

fn add_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let outcomes = Insertion::<Cuckoo>::of_items().add_all(call, Copies::Add)?;
    Ok(reply_each(outcomes, accepted))
}

fn insert(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::<Cuckoo>::of_options(call)?.add_all(call, Copies::Add)?, accepted))
}

fn insert_absent(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(reply_each(Insertion::<Cuckoo>::of_options(call)?.add_all(call, Copies::Keep)?, number))
}

fn accepted(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted | Outcome::Present => Reply::Accepted(true),
        Outcome::Refused(CommandError::Full | CommandError::MaximumExpansions) => {
            Reply::Accepted(false)
        }
        Outcome::Refused(refusal) => Reply::Error(refusal),
    }
}

/// Three outcomes do not fit a boolean of RESP3: these are integers in both protocols.
fn number(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted => Reply::Integer(1),
        Outcome::Present => Reply::Integer(0),
        Outcome::Refused(CommandError::Full | CommandError::MaximumExpansions) => {
            Reply::Integer(-1)
        }
        Outcome::Refused(refusal) => Reply::Error(refusal),
    }
}

fn count(call: &Call<'_>) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let key = call.key::<CuckooValue>(1)?;
    let Some(value) = key.value() else { return Ok(Reply::Integer(0)) };
    Ok(Reply::count(value.count_all(&[item])?.first().copied().unwrap_or(0)))
}

fn count_all(call: &Call<'_>) -> Result<Reply, CommandError> {
    let items = call.items()?;
    let key = call.key::<CuckooValue>(1)?;
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
    remove: impl FnOnce(&mut CuckooValue) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    advance_clock(call, &mut key);
    let outcome = remove(key.value_mut().ok_or(CommandError::NothingToRemoveFrom)?)?;
    let removed = outcome.as_ref();
    let count = removed.iter().filter(|&&removed| removed).count();
    if count == 0 {
        return Ok(outcome);
    }
    REMOVED.add(count as u64);
    key.notify_changed(c"cuckoo.del");
    if count == removed.len() {
        call.replicate_as_called();
        return Ok(outcome);
    }
    let first = call.count() - removed.len();
    let there = (first..).zip(removed).filter(|(_, removed)| **removed);
    let words = iter::once(1).chain(there.map(|(number, _)| number)).map(Word::Same);
    call.replicate(c"cf.mdel", words);
    Ok(outcome)
}

fn scan_dump(call: &Call<'_>) -> Result<Reply, CommandError> {
    Ok(match dump::scan::<Cuckoo>(call)? {
        Some((end, chunk)) => Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]),
        None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
    })
}

fn merge(call: &Call<'_>) -> Result<Reply, CommandError> {
    // Two new copies exist for a while, beside the filter that is replaced.
    let left = call.memory_left().map(|left| left / 2);
    let limit = key_memory_limit_of(call).into_iter().chain(left).min();
    let merged = merged(call, limit).map_err(|refusal| match refusal {
        CommandError::KeyMemory { limit } if Some(limit) == left => CommandError::ServerMemory,
        refusal => refusal,
    })?;
    let mut destination = call.key_to_change::<CuckooValue>(1)?;
    match destination.value_mut() {
        Some(CuckooValue::Native(native)) => *native = merged,
        Some(_) => return Err(CommandError::Defect),
        None => drop(destination.set(CuckooValue::Native(merged))?),
    }
    destination.notify_changed(c"cuckoo.merge");
    call.replicate_as_called();
    Ok(Reply::Ok)
}

/// The new value of the destination, within a limit. The old value does not change until all sources are merged.
fn merged(call: &Call<'_>, limit: Option<u64>) -> Result<NativeCuckoo, CommandError> {
    let destination = call.key::<CuckooValue>(1)?;
    // A missing destination becomes a copy of the first source.
    let first = if destination.value().is_some() { 1 } else { 2 };
    let mut union: Option<NativeCuckoo> = None;
    for word in first..call.count() {
        let key = call.key::<CuckooValue>(word)?;
        let native = key.value().ok_or(CommandError::NotFound)?.native()?;
        match &mut union {
            None => union = Some(within(limit, native)?.try_clone()?),
            Some(union) => union.merge(native, limit)?,
        }
    }
    let union = union.ok_or(CommandError::NotFound)?;
    within(limit, &union)?;
    Ok(union)
}

fn within(limit: Option<u64>, native: &NativeCuckoo) -> Result<&NativeCuckoo, CommandError> {
    match limit.filter(|&limit| native.memory_bytes() > limit) {
        Some(limit) => Err(CommandError::KeyMemory { limit }),
        None => Ok(native),
    }
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
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    advance_clock(call, &mut key);
    let value = key.value_mut().ok_or(CommandError::NotFound)?;
    let Compaction { has_changed, next } = value.compact(at)?;
    if has_changed {
        key.notify_changed(c"cuckoo.compact");
        call.replicate_as_called();
    }
    if let Some(next) = next {
        call.schedule(c"cf.compact", next.arguments());
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
    let limit = key_memory_limit_of(call);
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    let native = key.value_mut().ok_or(CommandError::NotFound)?.native_mut()?;
    if is_for_new && native.notes().get(name).is_some() {
        return Ok(Reply::Null);
    }
    if native.set_note(name, value, limit)? {
        key.notify_changed(c"cuckoo.note");
        call.replicate_as_called();
    }
    Ok(Reply::Ok)
}

/// In milliseconds since 1970.
const YEAR_10000: u64 = 253_402_300_800_000;

fn advance(call: &Call<'_>) -> Result<Reply, CommandError> {
    let &[_, _, time] = call.argv() else { return Err(CommandError::Arity) };
    let time = integer(time).and_then(|time| u64::try_from(time).ok());
    let time = time.ok_or(CommandError::NotANumber("milliseconds"))?;
    // A time in another unit would empty the filter, and stop its clock for thousands of
    // years.
    if time >= YEAR_10000 && !call.is_replicated() {
        return Err(CommandError::TimeRange);
    }
    let mut key = call.key_to_change::<CuckooValue>(1)?;
    let native = key.value_mut().ok_or(CommandError::NotFound)?.native_mut()?;
    if native.window().is_none_or(|window| window.clock() == Clock::Count) {
        return Err(CommandError::NotTimed);
    }
    let has_moved = native.advance(time).is_some();
    if has_moved {
        key.notify_changed(ADVANCED);
        call.replicate_as_called();
    }
    Ok(Reply::Truth(has_moved))
}
