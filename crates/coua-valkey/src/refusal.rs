//! Why a command is refused, and why a value cannot be loaded.
//!
//! Texts that clients of the module this one stands in for may compare are that module's, word for
//! word; they are pinned by a test below.

use std::fmt;
use std::io;

use coua::{FullReason, LoadError, MergeError};

use crate::redisbloom::{self as peer, InsertError};

/// Bytes of a foreign word that an error repeats.
const MOST_REPEATED: usize = 64;

/// Why a command is refused. Nothing has changed then, unless the text says so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// Too few words, or too many.
    Arity,
    /// The key holds something else.
    WrongType,
    /// The key is there already.
    ItemExists,
    /// The key is missing.
    NotFound,
    /// The key that something is to be removed from is missing.
    NothingToRemoveFrom,
    /// The capacity is not a number.
    BadCapacity,
    /// The capacity is out of range.
    CapacityRange,
    /// An option's value is not a number.
    NotANumber(&'static str),
    /// An option's value is out of range.
    OutOfRange(&'static str, &'static str),
    /// The key of a hash is not one.
    Seed,
    /// The length of a window is not one.
    Duration,
    /// Generations of no window.
    NoWindow,
    /// The filters do not forget alike.
    OtherWindow,
    /// A time is told to a filter that does not forget by time.
    NotTimed,
    /// Two options that contradict each other.
    Contradiction(&'static str, &'static str),
    /// An option stands there twice.
    Twice(&'static str),
    /// A word that means nothing here.
    Unknown(Vec<u8>),
    /// The filter may not grow, and is full.
    Full,
    /// The filter cannot grow any more.
    MaximumExpansions,
    /// No memory for a new filter.
    NoMemoryToCreate,
    /// No memory.
    NoMemory,
    /// The limit of memory per key would be exceeded.
    KeyMemory {
        /// The limit in bytes.
        limit: u64,
    },
    /// The server's own limit of memory would be exceeded.
    ServerMemory,
    /// The error rate of a Bloom filter is not a number.
    BloomRate,
    /// The error rate of a Bloom filter is out of range.
    BloomRateRange,
    /// The capacity of a Bloom filter is not a number, or too large.
    BloomCapacity,
    /// The capacity of a Bloom filter is out of range.
    BloomCapacityRange,
    /// The growth of a Bloom filter is not a number, or out of range.
    BloomExpansion,
    /// BF.INSERT says the same in other words.
    BadErrorRate,
    /// BF.INSERT says the same in other words.
    BadExpansion,
    /// The growth of a Bloom filter that does not grow.
    NonScalingExpansion,
    /// A Bloom filter that does not grow is full.
    NonScalingFull,
    /// A Bloom filter cannot grow to as many items within its error rate.
    ScaleBeyondRate {
        /// The items.
        items: u64,
    },
    /// A Bloom filter cannot grow to as many items within the limit of memory.
    ScaleBeyondMemory {
        /// The items.
        items: u64,
    },
    /// A field that a Bloom filter does not tell.
    InformationValue,
    /// A filter as asked for cannot be.
    Impossible(String),
    /// A position that no dump has, or not this one.
    Position,
    /// The filter has changed since its dump began.
    ChangedSince,
    /// The first bytes of a dump are not such.
    Header,
    /// The first bytes of a dump describe no filter that can be created.
    NotCreated,
    /// The bytes of a dump cannot be loaded.
    NotLoaded,
    /// The filter is being loaded, chunk by chunk.
    Incomplete,
    /// Filters of the other module cannot do this.
    Imported,
    /// The filters cannot be merged.
    Merge(MergeError),
    /// A defect of this module.
    Defect,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The server says it, with the command's name.
            Self::Arity => f.write_str("ERR wrong number of arguments"),
            Self::NotANumber(option) => write!(f, "Couldn't parse {option}"),
            Self::OutOfRange(option, range) => {
                write!(f, "{option}: value must be in the range {range}")
            }
            Self::Contradiction(one, other) => {
                write!(f, "ERR {one} and {other} contradict each other: give one of them")
            }
            Self::Twice(option) => write!(f, "ERR {option} is given twice"),
            Self::Unknown(word) => write!(f, "ERR unknown argument '{}'", word.escape_ascii()),
            Self::KeyMemory { limit } => write!(
                f,
                "ERR the filter would take more than {limit} bytes, the limit set by \
                 coua.key-memory-limit"
            ),
            // As the server says it of its own types.
            Self::ServerMemory => {
                f.write_str("OOM command not allowed when used memory > 'maxmemory'.")
            }
            Self::ScaleBeyondRate { items } => {
                write!(
                    f,
                    "ERR the filter cannot grow to {items} items: its error rate is too small"
                )
            }
            Self::ScaleBeyondMemory { items } => write!(
                f,
                "ERR the filter cannot grow to {items} items within coua.key-memory-limit"
            ),
            Self::Impossible(why) => write!(f, "ERR {why}"),
            Self::Merge(error) => write!(f, "ERR {error}"),
            fixed => f.write_str(fixed.text()),
        }
    }
}

impl Refusal {
    fn text(&self) -> &'static str {
        match self {
            Self::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Self::ItemExists => "ERR item exists",
            Self::NotFound => "ERR not found",
            Self::NothingToRemoveFrom => "Not found",
            Self::BadCapacity => "Bad capacity",
            Self::CapacityRange => "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
            Self::Seed => "ERR SEED must be 32 hexadecimal digits",
            Self::Duration => "ERR WINDOW must be a number with a unit: ms, s, m, h, d or w",
            Self::NoWindow => "ERR GENERATIONS needs WINDOW or WINDOWITEMS",
            Self::OtherWindow => "ERR filters that do not forget alike cannot be merged",
            Self::NotTimed => "ERR the filter does not forget by time",
            Self::Full => "Filter is full",
            Self::MaximumExpansions => "Maximum expansions reached",
            Self::NoMemoryToCreate => "ERR Insufficient memory to create filter",
            Self::NoMemory => "ERR Insufficient memory",
            Self::BloomRate => "ERR bad error rate",
            Self::BloomRateRange => "ERR (0 < error rate range < 1)",
            Self::BloomCapacity => "ERR bad capacity",
            Self::BloomCapacityRange => "ERR (capacity should be larger than 0)",
            Self::BloomExpansion => "ERR bad expansion",
            Self::BadErrorRate => "Bad error rate",
            Self::BadExpansion => "Bad expansion",
            Self::NonScalingExpansion => "Nonscaling filters cannot expand",
            Self::NonScalingFull => "ERR non scaling filter is full",
            Self::InformationValue => "Invalid information value",
            Self::Position => "Invalid position",
            Self::ChangedSince => {
                "ERR the filter has changed since its dump began: begin again with 0"
            }
            Self::Header => "Invalid header",
            Self::NotCreated => "Couldn't create filter!",
            Self::NotLoaded => "Couldn't load chunk!",
            Self::Incomplete => {
                "ERR the filter is not complete: its remaining chunks must be loaded"
            }
            Self::Imported => {
                "ERR the filter was imported and keeps its own layout, which cannot do this"
            }
            _ => "ERR a defect of the module coua: see the server's log",
        }
    }

    /// The words that BF.INSERT has for this, and BF.RESERVE has not.
    pub(crate) fn in_words_of_insert(self) -> Self {
        match self {
            Self::BloomRate => Self::BadErrorRate,
            Self::BloomCapacity => Self::BadCapacity,
            Self::BloomExpansion => Self::BadExpansion,
            other => other,
        }
    }

    /// A refused insert, in the words of the module that this one stands in for.
    pub(crate) fn of_insert(error: &InsertError) -> Self {
        match error {
            InsertError::Full { .. } => Self::Full,
            InsertError::GrowthLimit { .. } | InsertError::CannotGrow { .. } => {
                Self::MaximumExpansions
            }
            InsertError::TooLarge(large) => Self::KeyMemory { limit: large.limit },
            InsertError::OutOfMemory(_) => Self::NoMemory,
        }
    }

    /// A word that means nothing here, of which an error repeats the beginning.
    pub(crate) fn unknown(word: &[u8]) -> Self {
        Self::Unknown(word[..word.len().min(MOST_REPEATED)].to_vec())
    }

    /// A full filter, in the words of the module that this one stands in for.
    pub(crate) fn of_full(reason: FullReason, expansion: u64) -> Self {
        match reason {
            FullReason::OutOfMemory => Self::NoMemory,
            _ if expansion == 0 => Self::Full,
            _ => Self::MaximumExpansions,
        }
    }
}

/// Why a value cannot be loaded from a dump file.
#[derive(Debug)]
pub(crate) enum LoadRefusal {
    /// An encoding that this module does not know.
    Encoding(i32),
    /// A value of a kind, or a version, that this module does not know.
    Kind(u32),
    /// A field holds what it never holds.
    Field(&'static str),
    /// The filter itself.
    Filter(LoadError),
    /// A filter of the other module.
    Imported(peer::LoadError),
    /// The bytes end too early, or memory lacks.
    Io(io::Error),
    /// There is something after the end.
    Trailing,
    /// The limit of memory per key.
    KeyMemory {
        /// The limit in bytes.
        limit: u64,
    },
    /// A defect of this module.
    Defect,
}

impl fmt::Display for LoadRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding(found) => write!(f, "its encoding {found} is not known"),
            Self::Kind(found) => write!(f, "its kind {found} is not known: a later coua wrote it"),
            Self::Field(name) => write!(f, "its {name} is impossible: it is damaged"),
            Self::Filter(error) => error.fmt(f),
            Self::Imported(error) => error.fmt(f),
            Self::Io(error) => write!(f, "it ends too early or cannot be held: {error}"),
            Self::Trailing => f.write_str("it goes on after its end"),
            Self::KeyMemory { limit } => {
                write!(
                    f,
                    "it takes more than {limit} bytes, the limit set by coua.key-memory-limit"
                )
            }
            Self::Defect => f.write_str("a defect of the module"),
        }
    }
}

impl From<io::Error> for LoadRefusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<peer::LoadError> for LoadRefusal {
    fn from(error: peer::LoadError) -> Self {
        Self::Imported(error)
    }
}

impl From<LoadError> for LoadRefusal {
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
            (Refusal::CapacityRange, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
            (Refusal::NotANumber("BUCKETSIZE"), "Couldn't parse BUCKETSIZE"),
            (
                Refusal::OutOfRange("MAXITERATIONS", "[1, 65535]"),
                "MAXITERATIONS: value must be in the range [1, 65535]",
            ),
            (Refusal::NothingToRemoveFrom, "Not found"),
            (Refusal::NotLoaded, "Couldn't load chunk!"),
        ] {
            assert_eq!(refusal.to_string(), text);
        }
    }

    #[test]
    fn a_foreign_word_is_repeated_harmlessly() {
        let refusal = Refusal::unknown(&[b"\r\n-OK\xff".as_slice(), &[b'x'; 1000]].concat());
        let text = refusal.to_string();
        assert!(text.starts_with("ERR unknown argument '\\r\\n-OK\\xff"), "{text}");
        assert!(text.len() < 120, "{text}");
    }
}
