//! Errors of commands, and of loading values.
//!
//! Texts that clients of RedisBloom may compare are RedisBloom's, word for
//! word; a test below pins them.

use std::io;

use coua::{FullReason, LoadError};
use thiserror::Error;

use crate::redisbloom::{self as peer, InsertError};

/// The most bytes of a client's word that an error repeats.
const MOST_REPEATED: usize = 64;

/// A command is refused. Nothing has changed then, unless the text says so.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum CommandError {
    /// The server itself sends this one, with the command's name.
    #[error("ERR wrong number of arguments")]
    Arity,
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR item exists")]
    ItemExists,
    #[error("ERR not found")]
    NotFound,
    /// The key of a removal is missing.
    #[error("Not found")]
    NothingToRemoveFrom,
    #[error("Bad capacity")]
    BadCapacity,
    #[error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")]
    CapacityRange,
    #[error("{code}Couldn't parse {0}", code = code_of(.0))]
    NotANumber(&'static str),
    #[error("{code}{0}: value must be in the range {1}", code = code_of(.0))]
    OutOfRange(&'static str, &'static str),
    #[error("ERR SEED must be 32 hexadecimal digits")]
    Seed,
    #[error("ERR WINDOW must be a number and a unit (ms, s, m, h, d or w), such as 7d")]
    Duration,
    #[error("ERR GENERATIONS needs WINDOW or WINDOWITEMS")]
    NoWindow,
    #[error("ERR cannot merge filters with different windows")]
    OtherWindow,
    #[error("ERR the filter has no WINDOW")]
    NotTimed,
    #[error("ERR the time must be in milliseconds since 1970, and at most a window ahead")]
    TimeRange,
    #[error("ERR {0} and {1} exclude each other; use one")]
    Contradiction(&'static str, &'static str),
    #[error("ERR {0} is given twice")]
    Twice(&'static str),
    #[error("ERR unknown argument '{}'", .0.escape_ascii())]
    Unknown(Vec<u8>),
    #[error("Filter is full")]
    Full,
    #[error("Maximum expansions reached")]
    MaximumExpansions,
    #[error("ERR the filter is full: it lacks hash bits; reserve another with a smaller ERROR")]
    HashBits,
    #[error("ERR Insufficient memory to create filter")]
    NoMemoryToCreate,
    #[error("ERR Insufficient memory")]
    NoMemory,
    #[error("ERR the filter would exceed coua.key-memory-limit ({limit} bytes)")]
    KeyMemory { limit: u64 },
    /// In the server's own words.
    #[error("OOM command not allowed when used memory > 'maxmemory'.")]
    ServerMemory,
    #[error("ERR {0}")]
    Impossible(String),
    #[error("ERR a note needs a name")]
    NoteName,
    #[error("ERR the notes of a filter would exceed 4096 bytes")]
    NotesTooLarge,
    #[error("Invalid position")]
    Position,
    #[error("ERR the filter changed during the dump; start again at 0")]
    ChangedSince,
    #[error("Invalid header")]
    Header,
    #[error("Couldn't create filter!")]
    NotCreated,
    #[error("Couldn't load chunk!")]
    NotLoaded,
    #[error("ERR the filter is incomplete; load its remaining chunks")]
    Incomplete,
    #[error("ERR filters imported from RedisBloom do not support this command")]
    Imported,
    #[error("ERR internal error of the module coua; see the server's log")]
    Defect,
}

/// The error code for an option: RedisBloom's texts have none.
fn code_of(option: &str) -> &'static str {
    if ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION"].contains(&option) { "" } else { "ERR " }
}

impl CommandError {
    /// Refuses a key of `bytes` bytes if that is more than its limit.
    pub(crate) fn check_bytes(bytes: u64, limit: Option<u64>) -> Result<(), Self> {
        let exceeded = limit.filter(|&limit| bytes > limit);
        exceeded.map_or(Ok(()), |limit| Err(Self::KeyMemory { limit }))
    }

    /// A refused insert, in RedisBloom's words.
    pub(crate) fn of_insert(error: &InsertError) -> Self {
        match error {
            InsertError::Full => Self::Full,
            InsertError::GrowthLimit => Self::MaximumExpansions,
            InsertError::TooLarge(large) => Self::KeyMemory { limit: large.limit },
            InsertError::OutOfMemory(_) => Self::NoMemory,
        }
    }

    /// An unknown word; the error repeats its beginning.
    pub(crate) fn unknown(word: &[u8]) -> Self {
        Self::Unknown(word[..word.len().min(MOST_REPEATED)].to_vec())
    }

    /// Whether a filter has no room for an item. Arrays then have -1 for the item.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Full | Self::MaximumExpansions | Self::HashBits)
    }

    /// Whether an allocation failed. A limit that the operator has set is no such lack.
    pub(crate) fn is_lack_of_memory(&self) -> bool {
        matches!(self, Self::NoMemory | Self::NoMemoryToCreate)
    }

    /// A full filter, in RedisBloom's words.
    pub(crate) fn of_full(reason: FullReason, expansion: u16) -> Self {
        match reason {
            FullReason::OutOfMemory => Self::NoMemory,
            _ if expansion == 0 => Self::Full,
            _ => Self::MaximumExpansions,
        }
    }
}

/// A value cannot be loaded from a dump file.
#[derive(Debug, Error)]
pub(crate) enum RdbError {
    #[error("unknown encoding {0}")]
    Encoding(i32),
    #[error("invalid {0}: the value is damaged")]
    Field(&'static str),
    #[error("its window counts from when items were last seen, which servers do not support")]
    LastSeen,
    #[error("{0}")]
    Filter(LoadError),
    #[error("{0}")]
    Imported(#[from] peer::LoadError),
    #[error("it is truncated, or memory is short: {0}")]
    Io(#[from] io::Error),
    #[error("unexpected bytes after its end")]
    Trailing,
    #[error("it exceeds coua.key-memory-limit ({limit} bytes)")]
    KeyMemory { limit: u64 },
    #[error("internal error of the module")]
    Defect,
}

impl RdbError {
    /// Whether an allocation failed.
    pub(crate) fn is_lack_of_memory(&self) -> bool {
        match self {
            Self::Filter(error) => matches!(error, LoadError::OutOfMemory(_)),
            Self::Imported(error) => matches!(error, peer::LoadError::OutOfMemory(_)),
            Self::Io(error) => error.kind() == io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }

    /// Whether the value is damaged. It may be sound if memory is short, or if a newer version wrote it.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Field(_) | Self::Trailing => true,
            Self::Filter(error) => matches!(
                error,
                LoadError::NotAFilter
                    | LoadError::Length { .. }
                    | LoadError::Checksum { .. }
                    | LoadError::Field { .. }
            ),
            Self::Io(error) => error.kind() != io::ErrorKind::OutOfMemory,
            _ => false,
        }
    }
}

impl From<LoadError> for RdbError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Io(error) => Self::Io(error),
            error => Self::Filter(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_clients_compare_are_as_they_were() {
        for (refusal, text) in [
            (
                CommandError::CapacityRange,
                "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
            ),
            (CommandError::NotANumber("BUCKETSIZE"), "Couldn't parse BUCKETSIZE"),
            (
                CommandError::OutOfRange("MAXITERATIONS", "[1, 65535]"),
                "MAXITERATIONS: value must be in the range [1, 65535]",
            ),
            (CommandError::NothingToRemoveFrom, "Not found"),
            (CommandError::NotLoaded, "Couldn't load chunk!"),
        ] {
            assert_eq!(refusal.to_string(), text);
        }
    }

    #[test]
    fn a_sound_value_is_no_damage() {
        for (refusal, is_damage, lacks_memory) in [
            (RdbError::Io(io::ErrorKind::OutOfMemory.into()), false, true),
            (RdbError::Imported(peer::OutOfMemory { bytes: 1 }.into()), false, true),
            (RdbError::KeyMemory { limit: 1 }, false, false),
            (RdbError::Filter(LoadError::Features { found: 8 }), false, false),
            (RdbError::Filter(LoadError::Checksum { part: "header".into() }), true, false),
            (RdbError::Io(io::ErrorKind::UnexpectedEof.into()), true, false),
            (RdbError::Trailing, true, false),
        ] {
            assert_eq!(refusal.is_damage(), is_damage, "{refusal}");
            assert_eq!(refusal.is_lack_of_memory(), lacks_memory, "{refusal}");
        }
    }

    #[test]
    fn a_foreign_word_is_repeated_harmlessly() {
        let refusal = CommandError::unknown(&[b"\r\n-OK\xff".as_slice(), &[b'x'; 1000]].concat());
        let text = refusal.to_string();
        assert!(text.starts_with("ERR unknown argument '\\r\\n-OK\\xff"), "{text}");
        assert!(text.len() < 120, "{text}");
    }
}
