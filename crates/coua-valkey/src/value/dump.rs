//! SCANDUMP and LOADCHUNK, for both kinds of filters.

use super::chunks::{Incomplete, Position, chunk_behind};
use super::filter::{Kind, OwnFilter as _};
use super::held::Value;
use super::image::begins_image;
use super::imported::piece_of;
use crate::parse::integer;
use crate::redisbloom::{LoadError, PeerFilter as _};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::Call;
use crate::settings::{key_memory_limit_of, limits};

/// The position of the header in a dump of the other module.
const HEADER: i64 = 1;

/// Answers SCANDUMP with the next chunk and its position; nothing behind the last one.
pub(crate) fn scan<K: Kind>(call: &Call<'_>) -> Result<Option<(i64, Vec<u8>)>, Refusal> {
    let &[_, _, position] = call.words() else { return Err(Refusal::Arity) };
    let position = integer(position).filter(|&position| position >= 0).ok_or(Refusal::Position)?;
    let key = call.key::<Value<K>>(1)?;
    key.value().ok_or(Refusal::NotFound)?.chunk(position)
}

/// Does LOADCHUNK.
pub(crate) fn load<K: Kind>(call: &Call<'_>) -> Result<Reply, Refusal> {
    let &[_, _, position, chunk] = call.words() else { return Err(Refusal::Arity) };
    let position = integer(position).filter(|&position| position > 0).ok_or(Refusal::Position)?;
    let mut key = call.key_to_change::<Value<K>>(1)?;
    let limit = key_memory_limit_of(call);
    match key.value_mut() {
        None => {
            key.set(Value::<K>::begun(position, chunk, limit, || call.memory_left())?)?;
        }
        Some(value) => value.load_chunk(position, chunk, limit)?,
    }
    key.has_changed(K::LOADED);
    call.replicate_as_called();
    Ok(Reply::Ok)
}

impl<K: Kind> Value<K> {
    /// The chunk behind a position, from 0 on, and its own position; nothing at the end.
    pub(crate) fn chunk(&self, position: i64) -> Result<Option<(i64, Vec<u8>)>, Refusal> {
        match self {
            Self::Own(own) => match position {
                0 => chunk_behind(own, None),
                number => {
                    chunk_behind(own, Some(Position::decode(number).ok_or(Refusal::Position)?))
                }
            },
            Self::Imported(imported) if position == 0 => Ok(Some((HEADER, imported.header()))),
            Self::Imported(imported) => {
                let chunk = piece_of(imported, position).map_err(|_| Refusal::Position)?;
                Ok(chunk.map(|chunk| (chunk.next, chunk.bytes.to_vec())))
            }
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// The value that begins with this chunk.
    ///
    /// `memory_left` tells how much the server may still take: a header of the other module stands for memory
    /// that no chunk has justified yet.
    pub(crate) fn begun(
        position: i64,
        chunk: &[u8],
        limit: Option<u64>,
        memory_left: impl FnOnce() -> Option<u64>,
    ) -> Result<Self, Refusal> {
        if K::Own::is_begun(chunk) {
            let position = Position::decode(position).ok_or(Refusal::Position)?;
            let mut incomplete = Incomplete::default();
            return Ok(match incomplete.take(position, chunk, limit)? {
                Some(own) => Self::Own(own),
                None => Self::Incomplete(incomplete),
            });
        }
        if position != HEADER {
            // Damaged, or a later chunk of a filter that is not there.
            return Err(if begins_image(chunk) { Refusal::Header } else { Refusal::NotFound });
        }
        let mut limits = limits(limit);
        limits.bytes = limits.bytes.min(memory_left().unwrap_or(u64::MAX));
        let imported = K::Imported::from_header(chunk, &limits).map_err(|error| match error {
            LoadError::TooLarge(large) if Some(large.limit) == limit => {
                Refusal::KeyMemory { limit: large.limit }
            }
            LoadError::TooLarge(_) | LoadError::OutOfMemory(_) => Refusal::NoMemoryToCreate,
            LoadError::Length { .. } => Refusal::Header,
            _ => Refusal::NotCreated,
        })?;
        Ok(Self::Imported(imported))
    }

    /// Takes a further chunk. Refused chunks change nothing.
    pub(crate) fn load_chunk(
        &mut self,
        position: i64,
        chunk: &[u8],
        limit: Option<u64>,
    ) -> Result<(), Refusal> {
        match self {
            Self::Incomplete(incomplete) => {
                let position = Position::decode(position).ok_or(Refusal::Position)?;
                if let Some(own) = incomplete.take(position, chunk, limit)? {
                    *self = Self::Own(own);
                }
                Ok(())
            }
            Self::Imported(imported) if position != HEADER => {
                imported.load_chunk(position, chunk).map_err(|_| Refusal::NotLoaded)
            }
            _ => Err(Refusal::ItemExists),
        }
    }
}
