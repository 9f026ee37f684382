//! Requirements on a filter: parameters of a new one, which an existing one must agree with.

use std::fmt::Debug;
use std::time::Duration;

use coua::window::{AgeFrom, Clock, Generations, Window};
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
        let (wanted_window, window) = (self.window.map(Some), filter.window());
        let filter = filter.template();
        let (bits, max_items) = (filter.hash_bits(), filter.max_items());
        let rate = max_items as f64 / bits.exp2();
        // The hash bits of a filter that was built for a rate are not a whole number.
        let wanted_bits =
            self.hash_bits.map(f64::from).filter(|wanted| (wanted - bits).abs() >= 1.0);
        let wanted_rate = self.rate.filter(|wanted| rate > wanted * 1.001);
        differs("window", wanted_window, window, window_text)
            .or_else(|| differs("seed", self.hasher, filter.hasher(), seed_text))
            .or_else(|| differs("when_full", self.when_full, filter.when_full(), text))
            .or_else(|| differs("max_items", self.max_items, max_items, text))
            .or_else(|| differs("hash_bits", wanted_bits, bits, text))
            .or_else(|| differs("rate", wanted_rate, rate, text))
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

fn differs<T: PartialEq>(
    option: &str,
    wanted: Option<T>,
    found: T,
    text: impl Fn(T) -> String,
) -> Option<String> {
    let wanted = wanted.filter(|wanted| *wanted != found)?;
    let (found, wanted) = (text(found), text(wanted));
    Some(format!(
        "the existing filter has {option} {found}, not {wanted}; drop {option}, or use another filter"
    ))
}

fn text(value: impl Debug) -> String {
    format!("{value:?}").to_lowercase()
}

fn seed_text(hasher: KeyHasher) -> String {
    match hasher {
        KeyHasher::Xxh3 { seed } => seed.to_string(),
        _ => "of a secret key".to_owned(),
    }
}

fn window_text(window: Option<Window>) -> String {
    let Some(window) = window else { return "none".to_owned() };
    let time = Duration::from_millis(window.length());
    let length = match window.clock() {
        Clock::Count => format!("{} items", window.length()),
        Clock::Arrival => format!("{time:?}"),
        Clock::Given => format!("{time:?} of given times"),
    };
    let since = if window.age_from() == AgeFrom::LastSeen { " since last seen" } else { "" };
    format!("{length}{since} in {} generations", window.generations())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wanted: &Requirements, filter: impl Into<Generations>) -> String {
        let text = wanted.difference(&filter.into()).expect("a difference");
        let text = text.strip_prefix("the existing filter has ").unwrap_or(&text);
        text.split(';').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_difference_names_both_values() {
        let week = Window::new(Clock::Arrival, 7 * 86_400_000, 8).unwrap();
        let day = Window::new(Clock::Count, 6, 2).unwrap();
        let wanted = Requirements { window: Some(day), ..Requirements::default() };
        assert_eq!(
            found(&wanted, Generations::new(week)),
            "window 604800s in 8 generations, not 6 items in 2 generations"
        );
        let wanted = Requirements { when_full: Some(WhenFull::Refuse), ..Requirements::default() };
        let plain = CuckooFilter::new;
        assert_eq!(found(&wanted, plain()), "when_full grow, not refuse");
        let wanted = Requirements { max_items: Some(9), ..Requirements::default() };
        assert_eq!(found(&wanted, plain()), format!("max_items {}, not 9", u64::MAX));
        let wanted = Requirements { rate: Some(0.1), ..Requirements::default() };
        let coarse = CuckooFilter::builder().capacity(100).rate(0.5).build().unwrap();
        assert!(found(&wanted, coarse).ends_with(", not 0.1"));
        assert_eq!(Requirements::default().difference(&plain().into()), None);
    }

    #[test]
    fn a_secret_key_is_not_shown() {
        let hasher = Some(KeyHasher::SipHash13 { key: [77; 16] });
        let text = found(&Requirements { hasher, ..Requirements::default() }, CuckooFilter::new());
        assert_eq!(text, "seed 0, not of a secret key");
    }
}
