//! A cuckoo filter, described to the last bit: for the library's builder, and as the words with which replicas
//! build the same.

use coua::window::Window;
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};

use super::window;
use crate::parse::Words;
use crate::refusal::Refusal;
use crate::settings;

/// Items that a generation has room for at first: it grows with what comes.
const GENERATION: u64 = 64;

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

    /// The words after the key with which CF.RESERVE builds the same filter anywhere. What is as in the module as
    /// it is delivered is left out, as the server takes a while for each word.
    pub(crate) fn words(&self) -> Words {
        let mut words = Words::new();
        words.say(self.capacity);
        for (name, hint, setting) in [
            ("BUCKETSIZE", self.hints.bucket_size, &settings::CF_BUCKET_SIZE),
            ("MAXITERATIONS", self.hints.max_iterations, &settings::CF_MAX_ITERATIONS),
            ("EXPANSION", self.hints.expansion, &settings::CF_EXPANSION_FACTOR),
        ] {
            if i64::from(hint) != setting.default {
                words.say(name).say(hint);
            }
        }
        match self.precision {
            Precision::Rate(rate) => words.say("ERROR").say(rate),
            Precision::HashBits(bits) => words.say("HASHBITS").say(bits),
        };
        words.say("SEED").say_key(self.hash_key);
        if let Some(window) = &self.window {
            window::say(**window, &mut words);
        }
        words
    }
}

fn refusal_of(error: &BuildError) -> Refusal {
    match error {
        BuildError::OutOfMemory(_) => Refusal::NoMemoryToCreate,
        error => Refusal::Impossible(error.to_string()),
    }
}
