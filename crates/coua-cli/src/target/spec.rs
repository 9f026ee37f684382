//! How a filter is to be.

use crate::target::secret::Secret;
use crate::target::window::WindowSpec;
use crate::terminal::message::Failure;
use crate::terminal::text::significant;
use coua::window::{Clock, Generations, Window};
use coua::{
    BuildError, CuckooFilter, CuckooFilterBuilder, HashAlgorithm, KeyHasher, Layout, WhenFull,
};

/// How a new filter is to be. With a window, what is said of items is meant for all generations together.
/// Whatever is said here must agree with a filter that exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilterSpec {
    pub(crate) rate: Option<f64>,
    pub(crate) capacity: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) hash_bits: Option<u32>,
    pub(crate) slots_per_bucket: Option<u32>,
    pub(crate) layout: Option<Layout>,
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) seed: Option<u64>,
    pub(crate) secret: Secret,
    pub(crate) window: WindowSpec,
}

impl FilterSpec {
    /// Whether how much room to make at first is left to the program.
    pub(crate) fn leaves_capacity_open(&self) -> bool {
        self.capacity.is_none() && self.when_full != Some(WhenFull::Refuse)
    }

    /// Whether nothing is said about items, rates and windows: then a filter may be any number of filters.
    pub(crate) fn leaves_all_open(&self) -> bool {
        let limits = self.max_items.is_some() || self.rate.is_some() || self.hash_bits.is_some();
        self.leaves_capacity_open() && !limits && matches!(self.window.window(), Ok(None))
    }

    /// A filter that remembers `bits` bits of every key's hash, and otherwise is as described.
    pub(super) fn build_with_hash_bits(&self, bits: u32) -> Result<CuckooFilter, Failure> {
        let filter = self.described(self.hasher()?).hash_bits(bits).build();
        filter.map_err(|error| Failure::at("new filter", error))
    }

    /// A new filter as described.
    pub(crate) fn build(&self) -> Result<Generations, Failure> {
        let window = self.window.window()?;
        let mut builder = self.described(self.hasher()?);
        if let Some(capacity) = self.capacity {
            builder = builder.capacity(capacity);
        }
        if let Some(window) = window {
            builder = self.for_generations(builder, window);
        }
        let filter = builder.build().map_err(|error| match error {
            BuildError::RateWithoutItems { .. } => Failure::at(
                "--rate",
                "needs the number of items up to which it must hold: give --max-items (or \
                 --capacity) as well",
            ),
            error => Failure::at("new filter", error),
        })?;
        Ok(match window {
            Some(window) => Generations::new(window, filter),
            None => filter.into(),
        })
    }

    /// What each generation is like: it has room for its share, and remembers as much of every key as
    /// the rate needs for the items of all of them.
    fn for_generations(
        &self,
        mut builder: CuckooFilterBuilder,
        window: Window,
    ) -> CuckooFilterBuilder {
        let counted = (window.clock() == Clock::Count).then(|| window.length() + window.step());
        // As without a window: a rate holds up to the capacity if nothing else is said.
        let most = counted.or(self.rate.and(self.capacity));
        if let (None, Some(items)) = (self.max_items, most) {
            builder = builder.max_items(items);
        }
        if let Some(capacity) = self.capacity {
            builder = builder.capacity(capacity.div_ceil(u64::from(window.generations())));
        }
        builder
    }

    /// Complains if `filter`, which exists already, is not as described.
    pub(crate) fn agree_with(&self, filter: &Generations, name: &str) -> Result<(), Failure> {
        self.window.agree_with(filter, name)?;
        self.agree_with_template(filter.template(), name)
    }

    fn agree_with_template(&self, filter: &CuckooFilter, name: &str) -> Result<(), Failure> {
        let differs = |option: &str, found: &str| {
            Err(Failure::at(
                name,
                format_args!(
                    "the filter exists, and its {option} is {found}, not what {option} says: \
                     leave {option} out, or name another file"
                ),
            ))
        };
        if self.seed.is_some() && self.hasher()? != filter.hasher() {
            return differs("--seed", &hasher_name(filter.hasher()));
        }
        if self.slots_per_bucket.is_some_and(|slots| slots != filter.slots_per_bucket()) {
            return differs("--slots-per-bucket", &filter.slots_per_bucket().to_string());
        }
        if self.layout.is_some_and(|layout| layout != filter.layout()) {
            return differs("--layout", layout_name(filter.layout()));
        }
        if self.when_full.is_some_and(|when| when != filter.when_full()) {
            return differs("--when-full", when_full_name(filter.when_full()));
        }
        if self.max_items.is_some_and(|items| items != filter.max_items()) {
            let items = filter.max_items();
            let found = if items == u64::MAX { "unlimited" } else { &items.to_string() };
            return differs("--max-items", found);
        }
        if self.hash_bits.is_some_and(|bits| (f64::from(bits) - filter.hash_bits()).abs() >= 1.0) {
            return differs("--hash-bits", &format!("{:.2}", filter.hash_bits()));
        }
        let holds = filter.max_items() as f64 / filter.hash_bits().exp2();
        if self.rate.is_some_and(|rate| holds > rate * 1.001) {
            let unlimited = filter.max_items() == u64::MAX;
            let found = if unlimited { "unknown (no --max-items)" } else { &significant(holds) };
            return differs("--rate", found);
        }
        Ok(())
    }

    /// Everything but the capacity.
    fn described(&self, hasher: KeyHasher) -> CuckooFilterBuilder {
        let mut builder = CuckooFilter::builder().hasher(hasher);
        if let Some(rate) = self.rate {
            builder = builder.rate(rate);
        }
        if let Some(items) = self.max_items {
            builder = builder.max_items(items);
        }
        if let Some(bits) = self.hash_bits {
            builder = builder.hash_bits(bits);
        }
        if let Some(slots) = self.slots_per_bucket {
            builder = builder.slots_per_bucket(slots);
        }
        if let Some(layout) = self.layout {
            builder = builder.layout(layout);
        }
        if let Some(when_full) = self.when_full {
            builder = builder.when_full(when_full);
        }
        builder
    }

    fn hasher(&self) -> Result<KeyHasher, Failure> {
        Ok(match self.secret.key()? {
            Some(key) => KeyHasher::siphash13(key),
            None => KeyHasher::xxh3(self.seed.unwrap_or(0)),
        })
    }
}

/// The name of a layout on the command line and in JSON.
pub(crate) fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Buckets => "buckets",
        Layout::Overlapping => "windows",
        _ => "unknown",
    }
}

/// The name of a policy on the command line and in JSON.
pub(crate) fn when_full_name(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Refuse => "error",
        WhenFull::ExceedRate => "exceed",
        _ => "grow",
    }
}

/// The hash algorithm, with its seed, never with its key.
pub(crate) fn hasher_name(hasher: KeyHasher) -> String {
    match hasher.algorithm() {
        HashAlgorithm::Xxh3 { seed } => format!("xxh3 with seed {seed}"),
        HashAlgorithm::SipHash13 { .. } => "siphash13 with a key".to_owned(),
        _ => "unknown".to_owned(),
    }
}
