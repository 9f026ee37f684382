//! SCANDUMP and LOADCHUNK, for both kinds of filters.

use super::chunks::{Position, chunk_behind};
use super::{ImportedFilter as _, Incomplete, Kind, OwnFilter as _, Value};
use crate::parse::integer;
use crate::peer::LoadError;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::Call;
use crate::settings::limits;

/// The position of the header in a dump of the other module.
const HEADER: i64 = 1;

/// Answers SCANDUMP with the next chunk and its position; nothing behind the last one.
pub(crate) fn scan<K: Kind>(call: &Call<'_>) -> Result<Option<(i64, Vec<u8>)>, Refusal> {
    let &[_, _, position] = call.words() else { return Err(Refusal::Arity) };
    let position = integer(position).filter(|&position| position >= 0).ok_or(Refusal::Position)?;
    let key = call.key::<Value<K>>(1)?;
    match key.value().ok_or(Refusal::NotFound)? {
        Value::Own(own) => match position {
            0 => chunk_behind(own, None),
            number => chunk_behind(own, Some(Position::decode(number).ok_or(Refusal::Position)?)),
        },
        Value::Imported(imported) if position == 0 => Ok(Some((HEADER, imported.header()))),
        Value::Imported(imported) => {
            let chunk = imported.chunk(position).map_err(|_| Refusal::Position)?;
            Ok(chunk.map(|chunk| (chunk.next, chunk.bytes.to_vec())))
        }
        Value::Incomplete(_) => Err(Refusal::Incomplete),
    }
}

/// Does LOADCHUNK.
pub(crate) fn load<K: Kind>(call: &Call<'_>) -> Result<Reply, Refusal> {
    let &[_, _, position, chunk] = call.words() else { return Err(Refusal::Arity) };
    let position = integer(position).filter(|&position| position > 0).ok_or(Refusal::Position)?;
    let mut key = call.key_to_change::<Value<K>>(1)?;
    let limit = call.key_memory_limit();
    match key.value_mut() {
        None => {
            key.set(begun::<K>(position, chunk, limit)?)?;
        }
        Some(value) => go_on(value, position, chunk, limit)?,
    }
    key.has_changed(K::LOADED);
    call.replicate_as_called();
    Ok(Reply::Ok)
}

/// The value that begins with this chunk.
fn begun<K: Kind>(position: i64, chunk: &[u8], limit: Option<u64>) -> Result<Value<K>, Refusal> {
    if K::Own::is_begun(chunk) {
        let position = Position::decode(position).ok_or(Refusal::Position)?;
        let mut incomplete = Incomplete::default();
        return Ok(match incomplete.take(position, chunk, limit)? {
            Some(own) => Value::Own(own),
            None => Value::Incomplete(incomplete),
        });
    }
    if position != HEADER {
        return Err(Refusal::NotFound);
    }
    let imported = K::Imported::of_header(chunk, &limits(limit)).map_err(|error| match error {
        LoadError::TooLarge(large) => Refusal::KeyMemory { limit: large.limit },
        LoadError::OutOfMemory(_) => Refusal::NoMemoryToCreate,
        LoadError::Length { .. } => Refusal::Header,
        _ => Refusal::NotCreated,
    })?;
    Ok(Value::Imported(imported))
}

/// Takes a further chunk.
fn go_on<K: Kind>(
    value: &mut Value<K>,
    position: i64,
    chunk: &[u8],
    limit: Option<u64>,
) -> Result<(), Refusal> {
    match value {
        Value::Incomplete(incomplete) => {
            let position = Position::decode(position).ok_or(Refusal::Position)?;
            if let Some(own) = incomplete.take(position, chunk, limit)? {
                *value = Value::Own(own);
            }
            Ok(())
        }
        Value::Imported(imported) if position != HEADER => {
            imported.load_chunk(position, chunk).map_err(|_| Refusal::NotLoaded)
        }
        _ => Err(Refusal::ItemExists),
    }
}
