//! Requirements on a filter: parameters of a new one, which an existing one must agree with.

use std::fmt::Display;

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, HashAlgorithm, KeyHasher, WhenFull};

/// Requirements on a filter. `None` means any value.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Requirements;
/// let wanted = Requirements { hash_bits: Some(40), ..Requirements::default() };
/// assert!(wanted.difference(&wanted.build()?).is_none());
/// let difference = wanted.difference(&CuckooFilter::new().into()).unwrap();
/// assert_eq!(difference.option, "hash_bits");
/// assert_eq!((difference.found.as_str(), difference.wanted.as_str()), ("64.00", "40"));
/// # Ok::<(), coua::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// Items to make room for at once. An existing filter agrees with any number.
    pub capacity: Option<u64>,
    /// The highest false-positive rate at `max_items`. An existing filter may have a lower one.
    pub rate: Option<f64>,
    /// Items up to which the rate must hold.
    pub max_items: Option<u64>,
    /// Bits of every key's hash to remember.
    pub hash_bits: Option<u32>,
    /// What to do when no slot is free for an item.
    pub when_full: Option<WhenFull>,
    /// How keys are hashed.
    pub hasher: Option<KeyHasher>,
    /// The window.
    pub window: Option<Window>,
}

/// A difference between an existing filter and the requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field of [`Requirements`]; for the hasher, `seed`.
    pub option: &'static str,
    /// The value of the filter.
    pub found: String,
    /// The required value.
    pub wanted: String,
}

impl Difference {
    /// The message for the user, to whom the option has this name.
    pub fn explain(&self, option: impl Display) -> String {
        let Self { found, wanted, .. } = self;
        format!(
            "the existing filter has {option} {found}, not {wanted}; drop {option}, or use another filter"
        )
    }
}

impl Requirements {
    /// A new filter.
    ///
    /// # Errors
    ///
    /// As [`CuckooFilterBuilder::build`].
    pub fn build(&self) -> Result<Generations, BuildError> {
        match self.window {
            Some(window) => self.builder().build_window(window),
            None => self.builder().build().map(Generations::from),
        }
    }

    /// The builder of a new filter, without the window.
    pub fn builder(&self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().hasher(self.hasher.unwrap_or_default());
        let builder = with(builder, self.capacity, CuckooFilterBuilder::capacity);
        let builder = with(builder, self.rate, CuckooFilterBuilder::rate);
        let builder = with(builder, self.max_items, CuckooFilterBuilder::max_items);
        let builder = with(builder, self.hash_bits, CuckooFilterBuilder::hash_bits);
        with(builder, self.when_full, CuckooFilterBuilder::when_full)
    }

    /// The first difference of an existing filter.
    pub fn difference(&self, filter: &Generations) -> Option<Difference> {
        let (wanted, found) = (self.window.map(Some), filter.window());
        let filter = filter.template();
        let all = [
            differs("window", wanted, found, window_name),
            differs("seed", self.hasher, filter.hasher(), hasher_name),
            differs("when_full", self.when_full, filter.when_full(), when_full_name),
            differs("max_items", self.max_items, filter.max_items(), items_name),
            self.hash_bits.and_then(|bits| bits_differ(bits, filter.hash_bits())),
            self.rate.and_then(|rate| rate_differs(rate, filter)),
        ];
        all.into_iter().flatten().next()
    }
}

/// Applies an option to a builder, if it is given.
fn with<T>(
    builder: CuckooFilterBuilder,
    wanted: Option<T>,
    set: impl FnOnce(CuckooFilterBuilder, T) -> CuckooFilterBuilder,
) -> CuckooFilterBuilder {
    if let Some(wanted) = wanted { set(builder, wanted) } else { builder }
}

fn bits_differ(wanted: u32, found: f64) -> Option<Difference> {
    // The hash bits of a filter that was built for a rate are not a whole number.
    let is_near = (f64::from(wanted) - found).abs() < 1.0;
    (!is_near).then(|| difference("hash_bits", format!("{found:.2}"), wanted))
}

fn rate_differs(wanted: f64, filter: &CuckooFilter) -> Option<Difference> {
    let holds = filter.max_items() as f64 / filter.hash_bits().exp2();
    let found = match filter.max_items() {
        u64::MAX => "unbounded (no limit of items)".to_owned(),
        _ => format!("{holds:.2e}"),
    };
    (holds > wanted * 1.001).then(|| difference("rate", found, wanted))
}

fn differs<T: PartialEq>(
    option: &'static str,
    wanted: Option<T>,
    found: T,
    name: impl Fn(T) -> String,
) -> Option<Difference> {
    let wanted = wanted.filter(|wanted| *wanted != found)?;
    Some(difference(option, name(found), name(wanted)))
}

fn difference(option: &'static str, found: String, wanted: impl Display) -> Difference {
    Difference { option, found, wanted: wanted.to_string() }
}

fn items_name(items: u64) -> String {
    if items == u64::MAX { "unlimited".to_owned() } else { items.to_string() }
}

fn window_name(window: Option<Window>) -> String {
    let Some(window) = window else { return "none".to_owned() };
    let length = match window.clock() {
        Clock::Count => format!("{} items", window.length()),
        Clock::Arrival => duration(window.length()),
        Clock::Given => duration(window.length()) + " of given times",
    };
    let since = if window.age_from() == AgeFrom::LastSeen { " since last seen" } else { "" };
    format!("{length}{since} in {} generations", window.generations())
}

/// In the largest unit of which it is a multiple.
fn duration(milliseconds: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    let is_multiple = |(_, of): &(&str, u64)| milliseconds.is_multiple_of(*of);
    let (unit, of) = units.into_iter().find(is_multiple).unwrap_or(("ms", 1));
    format!("{}{unit}", milliseconds / of)
}

fn when_full_name(when_full: WhenFull) -> String {
    match when_full {
        WhenFull::Grow => "grow",
        WhenFull::Refuse => "error",
        WhenFull::ExceedRate => "exceed",
        _ => "unknown",
    }
    .to_owned()
}

/// The name of a hasher, with its seed, but never with its key.
fn hasher_name(hasher: KeyHasher) -> String {
    match hasher.algorithm() {
        HashAlgorithm::Xxh3 { seed } => seed.to_string(),
        HashAlgorithm::SipHash13 { .. } => "a secret key".to_owned(),
        _ => "unknown".to_owned(),
    }
}
