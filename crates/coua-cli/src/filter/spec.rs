//! How a filter is to be.

use crate::clock::Now;
use crate::filter::secret::Secret;
use crate::filter::window::WindowSpec;
use crate::terminal::{Failure, Report, Result};
use coua::window::Generations;
use coua::{BuildError, CuckooFilter, KeyHasher, Layout, WhenFull};
use coua_store::Requirements;

/// How a new filter is to be. With a window, what is said of items is meant for all generations together.
/// Whatever is said here must agree with a filter that exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilterSpec {
    /// All but the hasher, of which the others tell.
    pub(crate) wanted: Requirements,
    pub(crate) seed: Option<u64>,
    pub(crate) secret: Secret,
    pub(crate) window: WindowSpec,
    /// What time it is for the filter, whether that is new or not.
    pub(crate) now: Now,
}

impl FilterSpec {
    /// Whether how much room to make at first is left to the program.
    pub(crate) fn leaves_capacity_open(&self) -> bool {
        self.wanted.capacity.is_none() && self.wanted.when_full != Some(WhenFull::Refuse)
    }

    /// Whether nothing is said about items, rates and windows: then a filter may be any number of filters.
    pub(crate) fn leaves_all_open(&self) -> bool {
        let Requirements { max_items, rate, hash_bits, .. } = self.wanted;
        let limits = max_items.is_some() || rate.is_some() || hash_bits.is_some();
        self.leaves_capacity_open() && !limits && matches!(self.window.window(), Ok(None))
    }

    /// A filter that remembers `bits` bits of every key's hash, and otherwise is as described.
    pub(super) fn build_with_hash_bits(&self, bits: u32) -> Result<CuckooFilter> {
        let filter = self.all_wanted()?.builder().hash_bits(bits).build();
        filter.map_err(|error| Failure::at("new filter", error))
    }

    /// A new filter as described.
    pub(crate) fn build(&self) -> Result<Generations> {
        let builder = self.all_wanted()?.builder();
        let filter = match self.window.window()? {
            Some(window) => builder.build_window(window),
            None => builder.build().map(Generations::from),
        };
        filter.map_err(|error| match error {
            BuildError::RateWithoutItems { .. } => rate_without_items(),
            error => Failure::at("new filter", error),
        })
    }

    /// Returns an error if `filter`, which exists already, is not as described.
    pub(crate) fn agree_with(&self, filter: &Generations, name: &str) -> Result<()> {
        self.window.agree_with(filter, name)?;
        let difference = self.all_wanted()?.difference(filter.template());
        difference.map_or(Ok(()), |difference| {
            let option = format!("--{}", difference.option.replace('_', "-"));
            Err(Failure::at(name, difference.explain(option)))
        })
    }

    fn all_wanted(&self) -> Result<Requirements> {
        let by_key = self.secret.key()?.map(KeyHasher::siphash13);
        let hasher = by_key.or_else(|| self.seed.map(KeyHasher::xxh3));
        Ok(Requirements { hasher, ..self.wanted.clone() })
    }
}

/// The failure to say about a rate without the number of items up to which it holds.
pub(super) fn rate_without_items() -> Failure {
    let reason = "needs the number of items up to which it must hold: give --max-items (or --capacity) as well";
    Failure::at("--rate", reason)
}

/// Adds the layout: JSON has the name of earlier versions.
pub(crate) fn write_layout(layout: Layout, report: &mut Report) {
    let (field, words) = match layout {
        Layout::Buckets => ("buckets", "buckets"),
        Layout::Overlapping => ("windows", "overlapping"),
        _ => ("unknown", "unknown"),
    };
    report.field("layout", field);
    report.row("layout", words);
}

/// The name of a policy on the command line and in JSON.
pub(crate) fn when_full_name(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Refuse => "error",
        WhenFull::ExceedRate => "exceed",
        _ => "grow",
    }
}
