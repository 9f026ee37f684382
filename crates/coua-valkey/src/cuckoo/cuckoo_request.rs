//! Options for a new cuckoo filter: from the words of a command to the library's builder, and to the words
//! with which replicas build the same filter.

use coua::window::{Clock, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};
use coua_image::{Hints, MOST_LISTED};

use crate::error::CommandError;
use crate::parse::{ArgumentList, Options, Range, integer, once, real};
use crate::settings;

/// Different fingerprints in RedisBloom. With b slots in a bucket its false-positive rate is 2 b load / 255, and
/// its load at the requested capacity is between 1/2 and 1, because it rounds up to a power of two: so b / 255
/// is at least as accurate in every case.
const PEER_FINGERPRINTS: f64 = 255.0;
/// A filter with EXPANSION 1 keeps its rate up to this many times its capacity, where RedisBloom stops.
const LINEAR_ROOM: u64 = 32;
/// The same for a larger EXPANSION.
const GEOMETRIC_ROOM: u64 = 1024;
/// Every growing filter keeps its rate up to at least this many items. In small ones this costs half a byte or more per
/// item.
const LEAST_ROOM: u64 = 1 << 24;
/// A growing filter has hash bits for this rate at least. With fewer it could not divide its segments up to the items for
/// which it keeps its rate, and one command would have to move all items.
const COARSEST: f64 = 1.0 / 32.0;
/// Filters for at most this many items may begin as a list, so even those of fixed size remember whole bits of
/// hashes.
pub(super) const SMALL: u64 = MOST_LISTED as u64;

const BUCKET_SIZE: Range = Range { least: 1, most: 255, shown: "[1, 255]" };
const MAX_ITERATIONS: Range = Range { least: 1, most: 65_535, shown: "[1, 65535]" };
const EXPANSION: Range = Range { least: 0, most: 32_768, shown: "[0, 32768]" };
const HASH_BITS: Range = Range { least: 8, most: MOST_HASH_BITS as i64, shown: "[8, 64]" };
const MOST_HASH_BITS: u32 = 64;

/// The source of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defaults {
    /// The settings of this server.
    Settings,
    /// The built-in defaults. A primary does not replicate options that equal them.
    BuiltIn,
}

/// The options of a command.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CuckooRequest {
    capacity: Option<i64>,
    bucket_size: Option<i64>,
    max_iterations: Option<i64>,
    expansion: Option<i64>,
    rate: Option<f64>,
    hash_bits: Option<i64>,
    hash_key: Option<[u8; 16]>,
    window: WindowRequest,
}

impl CuckooRequest {
    /// Parses the words after the key of CF.RESERVE.
    pub(crate) fn of_reserve(words: &[&[u8]]) -> Result<Self, CommandError> {
        const OPTIONS: [&str; 6] =
            ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION", "ERROR", "HASHBITS", "SEED"];
        let known = [&OPTIONS[..], &WINDOW_OPTIONS].concat();
        let (&capacity, rest) = words.split_first().ok_or(CommandError::Arity)?;
        let capacity = integer(capacity).ok_or(CommandError::BadCapacity)?;
        let mut request = Self { capacity: Some(capacity), ..Self::default() };
        let mut options = Options::new(rest);
        while let Some(option) = options.keyword(&known)? {
            request.take(option, &mut options)?;
        }
        Ok(request)
    }

    /// Takes the value of an option for a new filter.
    pub(crate) fn take(
        &mut self,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError> {
        let (place, range) = match option {
            "CAPACITY" => {
                let capacity = integer(options.value()?).ok_or(CommandError::BadCapacity)?;
                return once(&mut self.capacity, option, capacity);
            }
            "ERROR" => {
                let rate = real(options.value()?).ok_or(CommandError::NotANumber(option))?;
                if rate <= 0.0 || rate >= 1.0 {
                    return Err(CommandError::OutOfRange(option, "(0, 1)"));
                }
                return once(&mut self.rate, option, rate);
            }
            "SEED" => return once(&mut self.hash_key, option, options.hash_key()?),
            option if WINDOW_OPTIONS.contains(&option) => {
                return self.window.take(option, options);
            }
            "BUCKETSIZE" => (&mut self.bucket_size, BUCKET_SIZE),
            "MAXITERATIONS" => (&mut self.max_iterations, MAX_ITERATIONS),
            "EXPANSION" => (&mut self.expansion, EXPANSION),
            _ => (&mut self.hash_bits, HASH_BITS),
        };
        once(place, option, options.number(option, &range)?)
    }

    /// Completes the options with the settings; `random` is the key of the hash unless one is given.
    pub(crate) fn complete(&self, random: [u8; 16]) -> Result<CuckooSpec, CommandError> {
        self.complete_with(random, Defaults::Settings)
    }

    /// Completes the options with these defaults.
    pub(crate) fn complete_with(
        &self,
        random: [u8; 16],
        defaults: Defaults,
    ) -> Result<CuckooSpec, CommandError> {
        let or = |said: Option<i64>, setting: &crate::server::Setting| match defaults {
            Defaults::Settings => said.unwrap_or_else(|| setting.value()),
            Defaults::BuiltIn => said.unwrap_or(setting.default),
        };
        let capacity = or(self.capacity, &settings::CF_INITIAL_SIZE);
        let bucket_size = or(self.bucket_size, &settings::CF_BUCKET_SIZE);
        // A default capacity yields to the bucket size.
        let least = 2 * bucket_size;
        let capacity = if self.capacity.is_none() { capacity.max(least) } else { capacity };
        if !(least..=settings::MOST_CAPACITY).contains(&capacity) {
            return Err(CommandError::CapacityRange);
        }
        let window = self.window.window()?;
        let mut expansion = or(self.expansion, &settings::CF_EXPANSION_FACTOR);
        if window.is_some() && expansion == 0 {
            if self.expansion.is_some() {
                return Err(CommandError::Contradiction("WINDOW", "EXPANSION 0"));
            }
            expansion = 1;
        }
        let hints = Hints {
            bucket_size: bucket_size as u16,
            max_iterations: or(self.max_iterations, &settings::CF_MAX_ITERATIONS) as u16,
            expansion: expansion as u16,
        };
        let capacity = capacity.unsigned_abs();
        let precision = match (self.hash_bits, self.rate) {
            (Some(_), Some(_)) => return Err(CommandError::Contradiction("ERROR", "HASHBITS")),
            (Some(bits), None) => Precision::HashBits(bits as u32),
            (None, Some(rate)) => precision_for(capacity, hints.expansion, rate)?,
            (None, None) => {
                let rate = f64::from(hints.bucket_size) / PEER_FINGERPRINTS;
                precision_for(capacity, hints.expansion, rate)?
            }
        };
        let (hash_key, window) = (self.hash_key.unwrap_or(random), window.map(Box::new));
        Ok(CuckooSpec { capacity, hints, precision, hash_key, window })
    }
}

/// The items up to which a growing filter keeps its rate.
fn room_of(capacity: u64, expansion: u16) -> u64 {
    let times = if expansion == 1 { LINEAR_ROOM } else { GEOMETRIC_ROOM };
    (capacity * times).max(LEAST_ROOM)
}

/// The precision that keeps the rate: in a filter of fixed size when it is full, in others while they grow.
fn precision_for(capacity: u64, expansion: u16, rate: f64) -> Result<Precision, CommandError> {
    let items = capacity as f64;
    if (items / rate).log2() > 64.0 {
        let smallest = items * (-64f64).exp2();
        return Err(CommandError::Impossible(format!(
            "error rate {rate:e} is too small for {capacity} items: a 64-bit hash allows {smallest:e}"
        )));
    }
    let cells = match expansion {
        0 if capacity > SMALL => return Ok(Precision::Rate(rate.min(0.5))),
        0 => items / rate.min(0.5),
        _ => room_of(capacity, expansion) as f64 / rate.min(COARSEST),
    };
    Ok(Precision::HashBits((cells.log2().ceil() as u32).clamp(8, MOST_HASH_BITS)))
}

/// The initial capacity of a generation, which then grows.
const GENERATION: u64 = 64;

/// The precision of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Precision {
    /// A filter of fixed size has this false-positive rate when it is full.
    Rate(f64),
    /// This many bits of every key's hash are remembered.
    HashBits(u32),
}

/// A filter, described to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CuckooSpec {
    pub(super) capacity: u64,
    pub(super) hints: Hints,
    pub(super) precision: Precision,
    pub(super) hash_key: [u8; 16],
    /// The window, boxed because few filters have one.
    pub(super) window: Option<Box<Window>>,
}

impl CuckooSpec {
    fn builder(&self) -> CuckooFilterBuilder {
        let most = if self.window.is_some() { GENERATION } else { u64::MAX };
        let capacity = self.capacity.min(most);
        let hasher = KeyHasher::SipHash13 { key: self.hash_key };
        let builder = CuckooFilter::builder().capacity(capacity).hasher(hasher);
        let builder = match self.precision {
            Precision::Rate(rate) => builder.rate(rate),
            Precision::HashBits(bits) => builder.hash_bits(bits),
        };
        match (self.hints.expansion, self.precision) {
            (0, _) => builder.when_full(WhenFull::Refuse),
            // No filter has more bits.
            (_, Precision::HashBits(MOST_HASH_BITS)) => builder,
            (expansion, _) => {
                let room = room_of(self.capacity, expansion);
                builder.max_items(room).when_full(WhenFull::ExceedRate)
            }
        }
    }

    /// Whether there is such a table.
    pub(super) fn has_plan(&self) -> bool {
        self.builder().plan().is_ok()
    }

    /// Builds the filter, or the template of its generations.
    pub(super) fn build(&self) -> Result<CuckooFilter, CommandError> {
        self.builder().build().map_err(|error| refusal_of(&error))
    }

    /// The words after the key with which CF.RESERVE builds the same filter on any server. Built-in defaults are left
    /// out, because each word takes the server time.
    pub(crate) fn arguments(&self) -> ArgumentList {
        let mut words = ArgumentList::new();
        words.push(self.capacity);
        for (name, hint, setting) in [
            ("BUCKETSIZE", self.hints.bucket_size, &settings::CF_BUCKET_SIZE),
            ("MAXITERATIONS", self.hints.max_iterations, &settings::CF_MAX_ITERATIONS),
            ("EXPANSION", self.hints.expansion, &settings::CF_EXPANSION_FACTOR),
        ] {
            if i64::from(hint) != setting.default {
                words.push(name).push(hint);
            }
        }
        match self.precision {
            Precision::Rate(rate) => words.push("ERROR").push(rate),
            Precision::HashBits(bits) => words.push("HASHBITS").push(bits),
        };
        words.push("SEED").push_key(self.hash_key);
        if let Some(window) = &self.window {
            push_window(**window, &mut words);
        }
        words
    }
}

fn refusal_of(error: &BuildError) -> CommandError {
    match error {
        BuildError::OutOfMemory(_) => CommandError::NoMemoryToCreate,
        error => CommandError::Impossible(error.to_string()),
    }
}

/// The default number of generations of a window: ages are then exact to 12.5 %.
const GENERATIONS: i64 = 8;
const MOST_GENERATIONS: Range = Range { least: 1, most: 1000, shown: "[1, 1000]" };
/// Milliseconds of the units of time.
const UNITS: [(&[u8], u64); 6] = [
    (b"ms", 1),
    (b"s", 1_000),
    (b"m", 60_000),
    (b"h", 3_600_000),
    (b"d", 86_400_000),
    (b"w", 604_800_000),
];

/// The options of a window.
const WINDOW_OPTIONS: [&str; 3] = ["WINDOW", "WINDOWITEMS", "GENERATIONS"];

/// The window options of a command.
#[derive(Debug, Default, PartialEq)]
struct WindowRequest {
    /// Milliseconds.
    length: Option<u64>,
    items: Option<u64>,
    generations: Option<i64>,
}

impl WindowRequest {
    /// Takes the value of one of the options.
    pub(super) fn take(
        &mut self,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError> {
        match option {
            "WINDOW" => {
                let length = milliseconds(options.value()?).ok_or(CommandError::Duration)?;
                once(&mut self.length, option, length)
            }
            "WINDOWITEMS" => {
                let items = integer(options.value()?).and_then(|items| u64::try_from(items).ok());
                once(&mut self.items, option, items.ok_or(CommandError::NotANumber(option))?)
            }
            _ => {
                let generations = options.number(option, &MOST_GENERATIONS)?;
                once(&mut self.generations, option, generations)
            }
        }
    }

    /// The window, if there is to be one.
    pub(super) fn window(&self) -> Result<Option<Window>, CommandError> {
        let (clock, length) = match (self.length, self.items) {
            (Some(_), Some(_)) => return Err(CommandError::Contradiction("WINDOW", "WINDOWITEMS")),
            (Some(length), None) => (Clock::Arrival, length),
            (None, Some(items)) => (Clock::Count, items),
            (None, None) if self.generations.is_some() => return Err(CommandError::NoWindow),
            (None, None) => return Ok(None),
        };
        let generations = self.generations.unwrap_or(GENERATIONS) as u32;
        let window = Window::new(clock, length, generations);
        window.map(Some).map_err(|error| CommandError::Impossible(error.to_string()))
    }
}

/// Passes on the words that describe a window.
fn push_window(window: Window, words: &mut ArgumentList) {
    let length = window.length();
    match window.clock() {
        Clock::Count => words.push("WINDOWITEMS").push(length),
        Clock::Arrival | Clock::Given => words.push("WINDOW").push(format_args!("{length}ms")),
    };
    words.push("GENERATIONS").push(window.generations());
}

/// A length of time such as `7d`.
fn milliseconds(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = word.split_at(digits);
    let (_, millis) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    u64::try_from(integer(number)?).ok()?.checked_mul(*millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::Outcome;
    use crate::cuckoo::native_cuckoo::NativeCuckoo;
    use coua::IfPresent;

    const SEED: [u8; 16] = *b"sixteen letters!";

    fn of(text: &str) -> Result<CuckooSpec, CommandError> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        CuckooRequest::of_reserve(&words)?.complete(SEED)
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
            let spec = of(text).unwrap();
            let words = spec.arguments();
            let words: Vec<&[u8]> = words.iter().collect();
            let request = CuckooRequest::of_reserve(&words).unwrap();
            assert_eq!(request.complete_with([0; 16], Defaults::BuiltIn), Ok(spec), "{text}");
        }
    }

    #[test]
    fn ranges_are_those_of_the_table() {
        for (text, refusal) in [
            ("x", CommandError::BadCapacity),
            ("3", CommandError::CapacityRange),
            ("1073741825", CommandError::CapacityRange),
            ("-5", CommandError::CapacityRange),
            ("7 BUCKETSIZE 4", CommandError::CapacityRange),
            ("1024 BUCKETSIZE x", CommandError::NotANumber("BUCKETSIZE")),
            ("1024 BUCKETSIZE 0", CommandError::OutOfRange("BUCKETSIZE", "[1, 255]")),
            ("1024 BUCKETSIZE 256", CommandError::OutOfRange("BUCKETSIZE", "[1, 255]")),
            ("1024 MAXITERATIONS 65536", CommandError::OutOfRange("MAXITERATIONS", "[1, 65535]")),
            ("1024 EXPANSION -1", CommandError::OutOfRange("EXPANSION", "[0, 32768]")),
            ("1024 EXPANSION", CommandError::Arity),
            ("1024 EXPANSION 1 expansion 1", CommandError::Twice("EXPANSION")),
            ("1024 ERROR 0", CommandError::OutOfRange("ERROR", "(0, 1)")),
            ("1024 ERROR nan", CommandError::NotANumber("ERROR")),
            ("1024 ERROR 0.1 HASHBITS 20", CommandError::Contradiction("ERROR", "HASHBITS")),
            ("1024 WINDOW 7", CommandError::Duration),
            ("1024 WINDOWITEMS -1", CommandError::NotANumber("WINDOWITEMS")),
            ("1024 WINDOW 7d GENERATIONS 0", CommandError::OutOfRange("GENERATIONS", "[1, 1000]")),
            ("1024 WINDOW 7d WINDOW 7d", CommandError::Twice("WINDOW")),
            ("1024 WINDOW 7d WINDOWITEMS 5", CommandError::Contradiction("WINDOW", "WINDOWITEMS")),
            ("1024 WINDOW 7d EXPANSION 0", CommandError::Contradiction("WINDOW", "EXPANSION 0")),
            ("1024 GENERATIONS 4", CommandError::NoWindow),
            ("1024 BUCKET 4", CommandError::unknown(b"BUCKET")),
        ] {
            assert_eq!(of(text), Err(refusal), "{text}");
        }
        assert!(of("4").is_ok() && of("510 BUCKETSIZE 255").is_ok());
    }

    #[test]
    fn without_a_rate_the_filter_is_as_accurate_as_the_other_module_and_stays_so() {
        for (text, most, items) in [
            ("1024 EXPANSION 2", 0.0079, 16_000_000.0),
            ("1024", 0.0079, 16_000_000.0),
            ("100", 0.0079, 16_000_000.0),
            ("1024 ERROR 0.0078", 0.0079, 16_000_000.0),
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
    fn a_growing_filter_has_bits_to_divide_its_segments_up_to_its_room() {
        for (text, room) in [
            ("1024", LEAST_ROOM),
            ("1024 ERROR 0.9", LEAST_ROOM),
            ("10000000 ERROR 0.9", 32 * 10_000_000),
            ("100000 EXPANSION 2 ERROR 0.1", 1024 * 100_000),
        ] {
            let filter = of(text).unwrap().build().unwrap();
            assert_eq!(filter.max_items(), room, "{text}");
            assert!(filter.room_by_splits() >= room, "{text}: {}", filter.room_by_splits());
        }
    }

    #[test]
    fn a_filter_with_few_bits_is_full_before_one_command_would_move_all_items() {
        let mut native = NativeCuckoo::of(of("1000 HASHBITS 20").unwrap()).unwrap();
        let keys: Vec<[u8; 4]> = (0..200_000u32).map(u32::to_le_bytes).collect();
        let mut inserted = 0;
        for some in keys.chunks(1_000) {
            let outcomes = native.insert(some, IfPresent::AddCopy, None);
            let refused = Outcome::Refused(CommandError::HashBits);
            assert!(outcomes.iter().all(|it| it.is_in() || *it == refused));
            inserted += outcomes.iter().filter(|it| it.is_in()).count();
        }
        assert!((70_000..130_000).contains(&inserted), "2^(20 - 4) to 2^(20 - 3): {inserted}");
        // A present item is no news.
        assert_eq!(native.insert(&keys[..1], IfPresent::Skip, None)[0], Outcome::Present);
        // With room again, it takes more.
        assert!(native.remove_one(&keys[5]));
        assert_eq!(native.insert(&keys[199_999..], IfPresent::AddCopy, None)[0], Outcome::Inserted);
    }

    #[test]
    fn expansion_zero_never_grows() {
        let mut native = NativeCuckoo::of(of("1000 EXPANSION 0").unwrap()).unwrap();
        let before = native.memory_bytes();
        let keys: Vec<[u8; 4]> = (0..5_000u32).map(u32::to_le_bytes).collect();
        let items: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        let outcomes = native.insert(&items, IfPresent::AddCopy, None);
        let accepted = outcomes.iter().filter(|&outcome| *outcome == Outcome::Inserted).count();
        assert!((1_000..1_100).contains(&accepted), "{accepted}");
        assert!(native.memory_bytes() < before + 4_096);
    }

    #[test]
    fn lengths_have_a_unit() {
        for (word, millis) in [
            ("7d", 604_800_000),
            ("36H", 129_600_000),
            ("90s", 90_000),
            ("250ms", 250),
            ("2m", 120_000),
        ] {
            assert_eq!(milliseconds(word.as_bytes()), Some(millis), "{word}");
        }
        for word in ["", "7", "d", "-7d", "1.5h", "7 d", "7days", "99999999999999999w"] {
            assert_eq!(milliseconds(word.as_bytes()), None, "{word}");
        }
    }
}
