//! Requirements on a filter: parameters of a new one, which an existing one must agree with.

use std::fmt::Debug;
use std::time::Duration;

use coua::window::{Clock, Generations, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, KeyHasher, WhenFull};

/// Requirements on a filter. `None` means any value.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Requirements;
/// let wanted = Requirements { hash_bits: Some(40), ..Requirements::default() };
/// assert!(wanted.difference(&wanted.build()?).is_none());
/// let difference = wanted.difference(&CuckooFilter::new().into()).unwrap();
/// assert!(difference.starts_with("the existing filter has hash_bits 64.0, not 40.0"));
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

    /// The first difference of an existing filter: what is wrong, and what to do. Options are named as the fields here;
    /// the hasher is `seed`. A secret key is not shown.
    pub fn difference(&self, filter: &Generations) -> Option<String> {
        let window = filter.window().map_or_else(|| "none".to_owned(), window_text);
        let filter = filter.template();
        let (bits, max_items) = (filter.hash_bits(), filter.max_items());
        let rate = max_items as f64 / bits.exp2();
        // The hash bits of a filter that was built for a rate are not a whole number.
        let wanted_bits =
            self.hash_bits.map(f64::from).filter(|wanted| (wanted - bits).abs() >= 1.0);
        differs("window", self.window.map(window_text), &window)
            .or_else(|| differs("seed", self.hasher, &filter.hasher()))
            .or_else(|| differs("when_full", self.when_full, &filter.when_full()))
            .or_else(|| differs("max_items", self.max_items, &max_items))
            .or_else(|| differs("hash_bits", wanted_bits, &bits))
            .or_else(|| differs("rate", self.rate.filter(|wanted| rate > wanted * 1.001), &rate))
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

fn differs<T: PartialEq + Debug>(option: &str, wanted: Option<T>, found: &T) -> Option<String> {
    let wanted = wanted.filter(|wanted| wanted != found)?;
    Some(format!(
        "the existing filter has {option} {found:?}, not {wanted:?}; drop {option}, or use another filter"
    ))
}

fn window_text(window: Window) -> String {
    let (clock, length) = (window.clock(), window.length());
    let length = match clock {
        Clock::Count => format!("{length} items"),
        _ => format!("{:?}", Duration::from_millis(length)),
    };
    format!("{length} in {} generations ({clock:?}, {:?})", window.generations(), window.age_from())
}
