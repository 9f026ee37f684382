//! A plan from two of items, rate and memory.

use crate::terminal::{Failure, Result, counted, size};
use coua::sizing::CuckooPlan;
use coua::window::{Clock, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, WhenFull};

/// What is wanted of a filter, besides its items and memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planner {
    /// None: every hash is remembered whole.
    pub(super) rate: Option<f64>,
    pub(super) window: Option<Window>,
}

impl Planner {
    pub(super) fn plan(self, items: Option<u64>, memory: Option<u64>) -> Result<Planned> {
        let counted = self.window.filter(|window| window.clock() == Clock::Count);
        let items = items.or(counted.map(|window| window.length() + window.step()));
        match (items, self.rate, memory) {
            (Some(items), _, None) => self.of(items).map_err(|error| Failure::at("plan", error)),
            (Some(items), None, Some(memory)) => self.best_rate(items, memory),
            (None, _, Some(memory)) => self.most_items(memory),
            (Some(_), Some(_), Some(_)) => {
                let reason = "--items, --rate and --memory cannot all be given; drop one";
                Err(Failure::at("plan", reason))
            }
            (None, _, None) => Err(Failure::at("plan", "needs --items or --memory")),
        }
    }

    fn of(self, items: u64) -> Result<Planned, BuildError> {
        let builder = CuckooFilter::builder();
        let builder = match self.rate {
            Some(rate) => builder.rate(rate).when_full(WhenFull::ExceedRate),
            None => builder,
        };
        match self.window {
            Some(window) => of_generations(builder, items, window),
            None => Ok(Planned { whole: builder.capacity(items).plan()?, generations: None }),
        }
    }

    /// The lowest rate that `items` items can have in `memory` bytes.
    fn best_rate(self, items: u64, memory: u64) -> Result<Planned> {
        // Halves the range of exponents: rate = 2^-bits. The finest rate is slightly below what a 64-bit hash allows.
        let finest = items.max(1) as f64 / 64_f64.exp2();
        let (mut fits, mut low, mut high) = (None, 0.0, -finest.log2());
        for _ in 0..50 {
            let bits = f64::midpoint(low, high);
            match (Self { rate: Some((-bits).exp2()), ..self }).of(items) {
                Ok(plan) if plan.whole.bytes <= memory => {
                    fits = Some(plan);
                    low = bits;
                }
                Ok(_) | Err(BuildError::RateTooSmall { .. }) => high = bits,
                Err(error) => return Err(Failure::at("plan", error)),
            }
        }
        fits.ok_or_else(|| {
            let (items, memory) = (counted(items, "item"), size(memory));
            Failure::at("plan", format_args!("no filter of {memory} holds {items}"))
        })
    }

    /// The most items that fit in `memory` bytes.
    fn most_items(self, memory: u64) -> Result<Planned> {
        let (mut fits, mut low, mut high) = (None, 0, memory.saturating_mul(8));
        while low < high {
            let items = low + (high - low).div_ceil(2);
            match self.of(items) {
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
        fits.ok_or_else(|| Failure::at("plan", format_args!("no filter fits in {}", size(memory))))
    }
}

/// A planned filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) whole: CuckooPlan,
    /// Its generations, if it has a window.
    pub(super) generations: Option<Generations>,
}

/// The generations of a planned filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generations {
    pub(super) window: Window,
    /// The most that exist at a time: those of the window, and the one that is being filled.
    pub(super) alive: u64,
    pub(super) each: CuckooPlan,
}

/// The plan for a window: every generation has room for its share, and
/// remembers as many bits as the rate needs for the items of all.
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
