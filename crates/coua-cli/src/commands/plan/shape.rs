//! A plan from two of items, rate and memory.

use crate::terminal::{Failure, Result, counted, grouped, size};
use coua::sizing::CuckooPlan;
use coua::window::{Clock, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder};

/// The kind of filter to plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) window: Option<Window>,
}

/// How much of every key a filter remembers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exactness {
    Rate(f64),
    HashBits(u32),
}

/// What a filter remembers by default.
pub(super) const ALL_BITS: Exactness = Exactness::HashBits(64);

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
                "--items, --rate (or --hash-bits) and --memory cannot all be given; drop one",
            )),
            (None, ..) => Err(Failure::at(
                "plan",
                "needs --items, or --memory together with --rate or --hash-bits",
            )),
        }
    }

    fn of(self, items: u64, exactness: Exactness) -> Result<Planned, BuildError> {
        let builder = match exactness {
            Exactness::Rate(rate) => CuckooFilter::builder().rate(rate),
            Exactness::HashBits(bits) => CuckooFilter::builder().hash_bits(bits),
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

    /// The most items that fit in `memory` bytes at this exactness.
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
        fits.ok_or_else(|| Failure::at("plan", format_args!("no filter fits in {}", size(memory))))
    }
}

/// The failure for a filter that is impossible.
fn unplanned(items: u64, error: BuildError) -> Failure {
    match error {
        // A plan allocates no memory, so the filter itself is too large.
        BuildError::OutOfMemory(_) => {
            let items = grouped(items);
            Failure::at("plan", format_args!("{items} items are more than any filter can hold"))
        }
        error => Failure::at("plan", error),
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

/// The plan of `--capacity` and `--rate` with a window: every generation has room for its share, and
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

/// The most memory that a grown filter takes, relative to one planned for its items. All segments fill, and split in
/// two, at about the same number of items: just after that they are half as full as planned. The tenth is for
/// chance, and for lists of segments that double.
const MOST: f64 = 2.1;
/// Memory is allocated in pieces of this size, the last of which is not full.
const PIECE: u64 = 2 << 20;

/// The least and the most bytes of a filter that has grown to the items of a plan.
pub(super) fn after_growth(plan: &CuckooPlan) -> [u64; 2] {
    [plan.bytes, ((plan.bytes as f64 * MOST) as u64).saturating_add(PIECE)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::{CuckooFilter, KeyHash};

    /// The finalizer of `MurmurHash3`.
    fn mix(number: u64) -> KeyHash {
        let first = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let second = (first ^ (first >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        KeyHash::from_u64(second ^ (second >> 33))
    }

    /// Only for a hundred thousand items or more: small filters are as large as their first table.
    #[test]
    fn a_growing_filter_stays_within_the_range() {
        for hash_bits in [30, 40, 64] {
            let builder = CuckooFilter::builder().hash_bits(hash_bits);
            let mut filter = builder.clone().build().unwrap();
            let (mut least, mut most) = (f64::MAX, 0.0_f64);
            for items in 1..=2_400_000 {
                filter.insert(mix(items)).unwrap();
                if items < 100_000 || items % 20_000 > 0 {
                    continue;
                }
                let plan = builder.clone().capacity(items).plan().unwrap();
                let [least_bytes, most_bytes] = after_growth(&plan);
                let (range, bytes) = (least_bytes..=most_bytes, filter.memory_bytes() as u64);
                assert!(range.contains(&bytes), "{items}: {bytes} is not in {range:?} {filter:?}");
                let ratio = bytes as f64 / plan.bytes as f64;
                (least, most) = (least.min(ratio), most.max(ratio));
            }
            // The range is no wider than it must be.
            assert!(least < 1.1 && most > 1.8, "{least} to {most} {filter:?}");
        }
    }
}
