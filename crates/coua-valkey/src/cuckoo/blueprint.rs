//! A cuckoo filter, described to the last bit: for the library's builder, and as the words with which replicas
//! build the same.

use coua::window::Window;
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};

use super::window;
use crate::parse::word_of_key;
use crate::refusal::Refusal;

/// Items that a generation has room for at first: it grows with what comes.
const GENERATION: u64 = 1024;

/// What was asked for at creation and only reported since: the geometry follows from capacity and
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    /// BUCKETSIZE.
    pub(crate) bucket_size: u32,
    /// MAXITERATIONS.
    pub(crate) max_iterations: u32,
    /// EXPANSION. 0, and only 0, has a meaning: the filter does not grow.
    pub(crate) expansion: u32,
}

/// How exact a filter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Precision {
    /// A filter of fixed size has this false-positive rate when it is full.
    Rate(f64),
    /// Bits of every key's hash that are remembered.
    HashBits(u32),
}

/// A filter, described to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blueprint {
    pub(super) capacity: u64,
    pub(super) hints: Hints,
    pub(super) precision: Precision,
    pub(super) hash_key: [u8; 16],
    /// If it forgets. Few do: it is not to make the others larger.
    pub(super) window: Option<Box<Window>>,
}

impl Blueprint {
    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::siphash13(self.hash_key)
    }

    fn builder(&self) -> CuckooFilterBuilder {
        let most = if self.window.is_some() { GENERATION } else { u64::MAX };
        let capacity = self.capacity.min(most);
        let builder = CuckooFilter::builder().capacity(capacity).hasher(self.hasher());
        let builder = match self.precision {
            Precision::Rate(rate) => builder.rate(rate),
            Precision::HashBits(bits) => builder.hash_bits(bits),
        };
        let when_full = if self.hints.expansion == 0 { WhenFull::Refuse } else { WhenFull::Grow };
        builder.when_full(when_full)
    }

    /// Builds the filter, or what every generation begins as.
    pub(super) fn build(&self) -> Result<CuckooFilter, Refusal> {
        self.builder().build().map_err(|error| refusal_of(&error))
    }

    /// The words after the key with which CF.RESERVE builds the same filter anywhere.
    pub(crate) fn words(&self) -> Vec<String> {
        let (precision, value) = match self.precision {
            Precision::Rate(rate) => ("ERROR", rate.to_string()),
            Precision::HashBits(bits) => ("HASHBITS", bits.to_string()),
        };
        let Hints { bucket_size, max_iterations, expansion } = self.hints;
        let mut words = vec![
            self.capacity.to_string(),
            "BUCKETSIZE".to_owned(),
            bucket_size.to_string(),
            "MAXITERATIONS".to_owned(),
            max_iterations.to_string(),
            "EXPANSION".to_owned(),
            expansion.to_string(),
            precision.to_owned(),
            value,
            "SEED".to_owned(),
            word_of_key(self.hash_key),
        ];
        words.extend(self.window.iter().flat_map(|window| window::words(**window)));
        words
    }
}

fn refusal_of(error: &BuildError) -> Refusal {
    match error {
        BuildError::OutOfMemory(_) => Refusal::NoMemoryToCreate,
        error => Refusal::Impossible(error.to_string()),
    }
}
