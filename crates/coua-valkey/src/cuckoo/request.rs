//! What the words of a command say about a new cuckoo filter.

use super::blueprint::{Blueprint, Hints, Precision};
use super::window;
use crate::parse::{Options, Range, integer, once, real};
use crate::refusal::Refusal;
use crate::settings;
use crate::value::Defaults;

/// Fingerprints that the module this one stands in for tells apart. With b slots in a bucket it errs
/// with probability 2 b load / 255, and its load at the capacity asked for is between 1/2 and 1,
/// because it rounds up to a power of two: so b / 255 is at least as accurate in every case.
const PEER_FINGERPRINTS: f64 = 255.0;
/// A filter with EXPANSION 1 keeps its rate up to this many times its capacity: the other module
/// stops there.
const LINEAR_ROOM: f64 = 32.0;
/// With a larger EXPANSION, up to this many times.
const GEOMETRIC_ROOM: f64 = 1024.0;
/// Any filter that grows keeps its rate up to as many items at least. Small filters pay for this with
/// a few bytes.
const LEAST_ROOM: f64 = (1 << 24) as f64;

const BUCKET_SIZE: Range = Range { least: 1, most: 255, shown: "[1, 255]" };
const MAX_ITERATIONS: Range = Range { least: 1, most: 65_535, shown: "[1, 65535]" };
const EXPANSION: Range = Range { least: 0, most: 32_768, shown: "[0, 32768]" };
const HASH_BITS: Range = Range { least: 8, most: 64, shown: "[8, 64]" };

/// What the words of a command say.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    capacity: Option<i64>,
    bucket_size: Option<i64>,
    max_iterations: Option<i64>,
    expansion: Option<i64>,
    rate: Option<f64>,
    hash_bits: Option<i64>,
    hash_key: Option<[u8; 16]>,
    window: window::Words,
}

impl Request {
    /// Of the words behind the key of CF.RESERVE.
    pub(crate) fn of_reserve(words: &[&[u8]]) -> Result<Self, Refusal> {
        const OPTIONS: [&str; 6] =
            ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION", "ERROR", "HASHBITS", "SEED"];
        let known = [&OPTIONS[..], &window::OPTIONS].concat();
        let (&capacity, rest) = words.split_first().ok_or(Refusal::Arity)?;
        let capacity = integer(capacity).ok_or(Refusal::BadCapacity)?;
        let mut request = Self { capacity: Some(capacity), ..Self::default() };
        let mut options = Options::new(rest);
        while let Some(option) = options.keyword(&known)? {
            request.take(option, &mut options)?;
        }
        Ok(request)
    }

    /// Takes the value of an option that says how a filter is created.
    pub(crate) fn take(
        &mut self,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), Refusal> {
        let (place, range) = match option {
            "CAPACITY" => {
                let capacity = integer(options.value()?).ok_or(Refusal::BadCapacity)?;
                return once(&mut self.capacity, option, capacity);
            }
            "ERROR" => {
                let rate = real(options.value()?).ok_or(Refusal::NotANumber(option))?;
                if rate <= 0.0 || rate >= 1.0 {
                    return Err(Refusal::OutOfRange(option, "(0, 1)"));
                }
                return once(&mut self.rate, option, rate);
            }
            "SEED" => return once(&mut self.hash_key, option, options.hash_key()?),
            option if window::OPTIONS.contains(&option) => {
                return self.window.take(option, options);
            }
            "BUCKETSIZE" => (&mut self.bucket_size, BUCKET_SIZE),
            "MAXITERATIONS" => (&mut self.max_iterations, MAX_ITERATIONS),
            "EXPANSION" => (&mut self.expansion, EXPANSION),
            _ => (&mut self.hash_bits, HASH_BITS),
        };
        once(place, option, options.number(option, &range)?)
    }

    /// Fills in what was not said from the settings; `random` is the key of the hash then.
    pub(crate) fn complete(&self, random: [u8; 16]) -> Result<Blueprint, Refusal> {
        self.complete_with(random, Defaults::Settings)
    }

    /// Fills in what was not said.
    pub(super) fn complete_with(
        &self,
        random: [u8; 16],
        defaults: Defaults,
    ) -> Result<Blueprint, Refusal> {
        let or = |said: Option<i64>, setting: &crate::server::Setting| match defaults {
            Defaults::Settings => said.unwrap_or_else(|| setting.value()),
            Defaults::BuiltIn => said.unwrap_or(setting.default),
        };
        let capacity = or(self.capacity, &settings::CF_INITIAL_SIZE);
        let bucket_size = or(self.bucket_size, &settings::CF_BUCKET_SIZE);
        // A capacity that nobody asked for gives way to the bucket size.
        let least = 2 * bucket_size;
        let capacity = if self.capacity.is_none() { capacity.max(least) } else { capacity };
        if !(least..=settings::MOST_CAPACITY).contains(&capacity) {
            return Err(Refusal::CapacityRange);
        }
        let window = self.window.window()?;
        let mut expansion = or(self.expansion, &settings::CF_EXPANSION_FACTOR);
        if window.is_some() && expansion == 0 {
            if self.expansion.is_some() {
                return Err(Refusal::Contradiction("WINDOW", "EXPANSION 0"));
            }
            expansion = 1;
        }
        let hints = Hints {
            bucket_size: bucket_size as u32,
            max_iterations: or(self.max_iterations, &settings::CF_MAX_ITERATIONS) as u32,
            expansion: expansion as u32,
        };
        let capacity = capacity.unsigned_abs();
        let precision = match (self.hash_bits, self.rate) {
            (Some(_), Some(_)) => return Err(Refusal::Contradiction("ERROR", "HASHBITS")),
            (Some(bits), None) => Precision::HashBits(bits as u32),
            (None, rate) => {
                let rate = rate.unwrap_or(f64::from(bucket_size as u32) / PEER_FINGERPRINTS);
                precision_for(capacity, hints.expansion, rate.min(0.5))?
            }
        };
        let (hash_key, window) = (self.hash_key.unwrap_or(random), window.map(Box::new));
        Ok(Blueprint { capacity, hints, precision, hash_key, window })
    }
}

/// What keeps the rate: at the capacity in a filter of fixed size, while it grows in others.
fn precision_for(capacity: u64, expansion: u32, rate: f64) -> Result<Precision, Refusal> {
    let items = capacity as f64;
    let room = match expansion {
        0 => return Ok(Precision::Rate(rate)),
        1 => items * LINEAR_ROOM,
        _ => items * GEOMETRIC_ROOM,
    };
    if (items / rate).log2() > 64.0 {
        let smallest = items * (-64f64).exp2();
        return Err(Refusal::Impossible(format!(
            "error rate {rate:e} is too small for {capacity} items: a 64-bit hash allows {smallest:e}"
        )));
    }
    let bits = (room.max(LEAST_ROOM) / rate).log2().ceil();
    Ok(Precision::HashBits((bits as u32).clamp(8, 64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::inserts::Copies;
    use crate::cuckoo::own::OwnCuckoo;
    use crate::value::outcome::Outcome;

    const SEED: [u8; 16] = *b"sixteen letters!";

    fn of(text: &str) -> Result<Blueprint, Refusal> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        Request::of_reserve(&words)?.complete(SEED)
    }

    #[test]
    fn the_words_for_replicas_describe_the_same_filter() {
        for text in [
            "1000",
            "1000 EXPANSION 0",
            "1000 EXPANSION 0 HASHBITS 20",
            "1000000 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 2 ERROR 0.000123",
            "1000 WINDOW 7d",
            "1000 WINDOW 1001ms GENERATIONS 4 ERROR 0.01",
            "1000 WINDOWITEMS 1000000",
            "1000 EXPANSION 0 ERROR 1e-7 SEED 000102030405060708090a0b0c0d0e0f",
        ] {
            let blueprint = of(text).unwrap();
            let words = blueprint.words();
            let words: Vec<&[u8]> = words.iter().collect();
            let request = Request::of_reserve(&words).unwrap();
            assert_eq!(request.complete_with([0; 16], Defaults::BuiltIn), Ok(blueprint), "{text}");
        }
    }

    #[test]
    fn ranges_are_those_of_the_table() {
        for (text, refusal) in [
            ("x", Refusal::BadCapacity),
            ("3", Refusal::CapacityRange),
            ("1073741825", Refusal::CapacityRange),
            ("-5", Refusal::CapacityRange),
            ("7 BUCKETSIZE 4", Refusal::CapacityRange),
            ("1024 BUCKETSIZE x", Refusal::NotANumber("BUCKETSIZE")),
            ("1024 BUCKETSIZE 0", Refusal::OutOfRange("BUCKETSIZE", "[1, 255]")),
            ("1024 BUCKETSIZE 256", Refusal::OutOfRange("BUCKETSIZE", "[1, 255]")),
            ("1024 MAXITERATIONS 65536", Refusal::OutOfRange("MAXITERATIONS", "[1, 65535]")),
            ("1024 EXPANSION -1", Refusal::OutOfRange("EXPANSION", "[0, 32768]")),
            ("1024 EXPANSION", Refusal::Arity),
            ("1024 EXPANSION 1 expansion 1", Refusal::Twice("EXPANSION")),
            ("1024 ERROR 0", Refusal::OutOfRange("ERROR", "(0, 1)")),
            ("1024 ERROR nan", Refusal::NotANumber("ERROR")),
            ("1024 ERROR 0.1 HASHBITS 20", Refusal::Contradiction("ERROR", "HASHBITS")),
            ("1024 WINDOW 7", Refusal::Duration),
            ("1024 WINDOWITEMS -1", Refusal::NotANumber("WINDOWITEMS")),
            ("1024 WINDOW 7d GENERATIONS 0", Refusal::OutOfRange("GENERATIONS", "[1, 1000]")),
            ("1024 WINDOW 7d WINDOW 7d", Refusal::Twice("WINDOW")),
            ("1024 WINDOW 7d WINDOWITEMS 5", Refusal::Contradiction("WINDOW", "WINDOWITEMS")),
            ("1024 WINDOW 7d EXPANSION 0", Refusal::Contradiction("WINDOW", "EXPANSION 0")),
            ("1024 GENERATIONS 4", Refusal::NoWindow),
            ("1024 BUCKET 4", Refusal::unknown(b"BUCKET")),
        ] {
            assert_eq!(of(text), Err(refusal), "{text}");
        }
        assert!(of("4").is_ok() && of("510 BUCKETSIZE 255").is_ok());
    }

    #[test]
    fn without_a_rate_the_filter_is_as_accurate_as_the_other_module_and_stays_so() {
        for (text, most, items) in [
            ("1024 EXPANSION 2", 0.015, 1_000_000.0),
            ("1024", 0.015, 1_000_000.0),
            ("1000000", 0.0147, 1_000_000.0),
            ("1000000 BUCKETSIZE 4", 0.0291, 1_000_000.0),
            ("1048576 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 0", 0.0291, 1_000_000.0),
            ("1000000 BUCKETSIZE 1", 0.0078, 10_000_000.0),
        ] {
            let filter = of(text).unwrap().build().unwrap();
            let rate = items / filter.hash_bits().exp2();
            assert!(rate <= most, "{text}: {rate}");
        }
    }

    #[test]
    fn expansion_zero_never_grows() {
        let mut own = OwnCuckoo::of(of("1000 EXPANSION 0").unwrap()).unwrap();
        let before = own.memory_bytes();
        let keys: Vec<[u8; 4]> = (0..5_000u32).map(u32::to_le_bytes).collect();
        let items: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        let outcomes = own.insert(&items, Copies::Add, None);
        let accepted = outcomes.iter().filter(|&outcome| *outcome == Outcome::Inserted).count();
        assert!((1_000..1_100).contains(&accepted), "{accepted}");
        assert!(own.memory_bytes() < before + 4_096);
    }
}
