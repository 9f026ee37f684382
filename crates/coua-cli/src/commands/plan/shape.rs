//! From items, rate and memory, of which two are given, to a plan.

use crate::terminal::{Failure, Result, counted, grouped, size};
use coua::sizing::CuckooPlan;
use coua::window::{Clock, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, Layout};

/// How a filter lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) layout: Layout,
    pub(crate) slots: u32,
    pub(crate) window: Option<Window>,
}

/// How much of every key a filter remembers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exactness {
    Rate(f64),
    HashBits(u32),
}

/// What a filter remembers unless told otherwise.
const ALL_BITS: Exactness = Exactness::HashBits(64);

impl Shape {
    pub(super) fn plan(
        self,
        items: Option<u64>,
        exactness: Option<Exactness>,
        memory: Option<u64>,
    ) -> Result<Planned> {
        let counted = self.window.filter(|window| window.clock() == Clock::Count);
        let items = items.or(counted.map(|window| window.length() + window.step()));
        match (items, exactness, memory) {
            (Some(items), _, None) => self
                .of(items, exactness.unwrap_or(ALL_BITS))
                .map_err(|error| unplanned(items, error)),
            (Some(items), None, Some(memory)) => self.best_rate(items, memory),
            (None, Some(exactness), Some(memory)) => self.most_items(exactness, memory),
            (Some(_), Some(_), Some(_)) => Err(Failure::at(
                "plan",
                "--items, --rate (or --hash-bits) and --memory: give two of them, the third follows",
            )),
            (None, ..) => Err(Failure::at(
                "plan",
                "needs --items, or --memory together with --rate or --hash-bits",
            )),
        }
    }

    fn of(self, items: u64, exactness: Exactness) -> Result<Planned, BuildError> {
        let builder = CuckooFilter::builder().layout(self.layout).slots_per_bucket(self.slots);
        let builder = match exactness {
            Exactness::Rate(rate) => builder.rate(rate),
            Exactness::HashBits(bits) => builder.hash_bits(bits),
        };
        match self.window {
            Some(window) => of_generations(builder, items, window),
            None => Ok(Planned { whole: builder.capacity(items).plan()?, generations: None }),
        }
    }

    /// The lowest rate that `items` items can have in so much memory.
    fn best_rate(self, items: u64, memory: u64) -> Result<Planned> {
        // Halves the range of exponents: rate = 2^-bits. The finest is a rate that no 64-bit hash allows quite.
        let finest = items.max(1) as f64 / 64_f64.exp2();
        let (mut fits, mut low, mut high) = (None, 0.0, -finest.log2());
        for _ in 0..50 {
            let bits = f64::midpoint(low, high);
            match self.of(items, Exactness::Rate((-bits).exp2())) {
                Ok(plan) if plan.whole.bytes <= memory => {
                    fits = Some(plan);
                    low = bits;
                }
                Ok(_) | Err(BuildError::RateTooSmall { .. }) => high = bits,
                Err(error) => return Err(unplanned(items, error)),
            }
        }
        fits.ok_or_else(|| {
            let (items, memory) = (counted(items, "item"), size(memory));
            Failure::at("plan", format_args!("no filter of {memory} holds {items}"))
        })
    }

    /// The most items that can be remembered so exactly in so much memory.
    fn most_items(self, exactness: Exactness, memory: u64) -> Result<Planned> {
        let (mut fits, mut low, mut high) = (None, 0, memory.saturating_mul(8));
        while low < high {
            let items = low + (high - low).div_ceil(2);
            match self.of(items, exactness) {
                Ok(plan) if plan.whole.bytes <= memory => {
                    fits = Some(plan);
                    low = items;
                }
                Ok(_) | Err(BuildError::RateTooSmall { .. } | BuildError::OutOfMemory(_)) => {
                    high = items - 1;
                }
                Err(error) => return Err(Failure::at("plan", error)),
            }
        }
        fits.ok_or_else(|| {
            Failure::at("plan", format_args!("no filter fits into {}", size(memory)))
        })
    }
}

/// The failure to say about a filter that cannot be.
fn unplanned(items: u64, error: BuildError) -> Failure {
    match error {
        // A plan takes no memory.
        BuildError::OutOfMemory(_) => {
            let items = grouped(items);
            Failure::at("plan", format_args!("{items} items are more than any filter can hold"))
        }
        error => Failure::at("plan", error),
    }
}

/// What a filter comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) whole: CuckooPlan,
    /// If it forgets.
    pub(super) generations: Option<Generations>,
}

/// What its generations come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generations {
    pub(super) window: Window,
    /// The most there are at a time: those of the window, and the one that is being filled.
    pub(super) alive: u64,
    pub(super) each: CuckooPlan,
}

/// What `--capacity` and `--rate` come to with a window: every generation has room for its share, and
/// remembers as much as the rate needs for the items of all.
fn of_generations(
    builder: CuckooFilterBuilder,
    items: u64,
    window: Window,
) -> Result<Planned, BuildError> {
    let alive = u64::from(window.generations()) + 1;
    let share = match window.clock() {
        Clock::Count => window.step(),
        Clock::Arrival | Clock::Given => items.div_ceil(alive - 1),
    };
    let each = builder.capacity(share).max_items(items).plan()?;
    let table = each.bytes - each.overflow_bytes;
    let mut whole = each;
    whole.items = items;
    whole.rate = (items as f64 / each.hash_bits.exp2()).min(1.0);
    whole.slots = each.slots.saturating_mul(alive);
    whole.segments = each.segments.saturating_mul(alive);
    whole.overflow_bytes = each.overflow_bytes.saturating_mul(alive);
    // New generations are copies of an empty one.
    whole.bytes = each.bytes.saturating_mul(alive).saturating_add(table);
    Ok(Planned { whole, generations: Some(Generations { window, alive, each }) })
}
