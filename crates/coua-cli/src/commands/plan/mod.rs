//! `coua plan`.

mod compare;
mod plot;

use crate::args::filter::{LayoutName, layout_name};
use crate::args::value;
use crate::commands::print;
use crate::exit::Exit;
use crate::message::Failure;
use crate::stats::Table;
use crate::stats::text::{grouped, significant, size};
use compare::Peer;
use coua::sizing::CuckooPlan;
use coua::{BuildError, Layout};
use serde::Serialize;
use std::path::PathBuf;

/// Tell how much memory a filter needs, and how others would compare
///
/// Give two of items, rate and memory, and the third follows. With the items alone, the plan is for
/// all 64 bits of every hash: what `dedup` needs without options.
///
/// With a rate the filter has a fixed size; with whole hash bits it can grow, and the memory is what
/// it takes at first for so many items.
///
/// Fields of the JSON object: `items`; `rate`: false-positive rate with that many items;
/// `expected_wrongly_dropped`: records wrongly taken for repeats when a stream with that many unique
/// records is de-duplicated; `bytes`, `side_bytes`: the part of them that items are expected to take
/// which cannot be told apart and are more than a bucket has slots; `bits_per_item`, `hash_bits`, `layout`, `slots_per_bucket`,
/// `slot_bits`, `slots`, `segments`; `compared`: a list of objects with `name`, `bytes` (null: it
/// cannot reach the rate), `bits_per_item`, `removes`, `grows`, `exact`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Number of items, such as 14M or 1e9
    #[arg(long, value_name = "N", value_parser = value::count)]
    items: Option<u64>,

    /// False-positive rate with that many items, such as 0.001 or 0.1%
    #[arg(long, value_name = "RATE", value_parser = value::rate, conflicts_with = "hash_bits")]
    rate: Option<f64>,

    /// Bits of every key's 64-bit hash to remember, 8 to 64: the rate is items / 2^BITS
    #[arg(long, value_name = "BITS")]
    hash_bits: Option<u32>,

    /// Memory that the filter may take, such as 512MiB
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    memory: Option<u64>,

    /// Slots per bucket: 1, 2, 4 or 8 [default: 4, in windows 2]
    #[arg(long, value_name = "N")]
    slots_per_bucket: Option<u32>,

    /// Disjoint buckets or overlapping windows
    #[arg(long, value_name = "LAYOUT", default_value = "buckets")]
    layout: LayoutName,

    /// Average length of a record, for the comparison with sets that keep them
    #[arg(long, value_name = "BYTES", value_parser = value::bytes, default_value = "60")]
    record_bytes: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Also write a picture of the comparison over all rates to FILE (SVG)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let shape = Shape {
        layout: args.layout.into(),
        slots: args.slots_per_bucket.unwrap_or(match args.layout {
            LayoutName::Buckets => 4,
            LayoutName::Windows => 2,
        }),
    };
    let plan = shape.plan(args)?;
    let peers = compare::peers(plan.items, plan.rate, args.record_bytes);
    let text = if args.json {
        serde_json::to_string_pretty(&Report::of(&plan, shape, &peers)).unwrap_or_default() + "\n"
    } else {
        table(&plan, shape, &peers)
    };
    if let Some(path) = &args.plot {
        plot::write(path, &plan)?;
    }
    print(&text)?;
    Ok(Exit::Success)
}

/// How a filter lies in memory.
#[derive(Clone, Copy, Debug)]
struct Shape {
    layout: Layout,
    slots: u32,
}

/// How much of every key a filter remembers.
#[derive(Clone, Copy, Debug)]
enum Exactness {
    Rate(f64),
    HashBits(u32),
}

/// What a filter remembers unless told otherwise.
const ALL_BITS: Exactness = Exactness::HashBits(64);

impl Shape {
    fn plan(self, args: &Args) -> Result<CuckooPlan, Failure> {
        let by_bits = args.hash_bits.map(Exactness::HashBits);
        let exactness = args.rate.map(Exactness::Rate).or(by_bits);
        match (args.items, exactness, args.memory) {
            (Some(items), _, None) => self
                .of(items, exactness.unwrap_or(ALL_BITS))
                .map_err(|error| Failure::at("plan", error)),
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

    fn of(self, items: u64, exactness: Exactness) -> Result<CuckooPlan, BuildError> {
        match exactness {
            Exactness::Rate(rate) => CuckooPlan::for_rate(items, rate, self.layout, self.slots),
            Exactness::HashBits(bits) => {
                CuckooPlan::for_hash_bits(items, bits, self.layout, self.slots)
            }
        }
    }

    /// The lowest rate that `items` items can have in so much memory.
    fn best_rate(self, items: u64, memory: u64) -> Result<CuckooPlan, Failure> {
        // Halves the range of exponents: rate = 2^-bits.
        let (mut fits, mut low, mut high) = (None, 0.0, -too_fine(items).log2());
        for _ in 0..50 {
            let bits = f64::midpoint(low, high);
            match self.of(items, Exactness::Rate((-bits).exp2())) {
                Ok(plan) if plan.bytes <= memory => {
                    fits = Some(plan);
                    low = bits;
                }
                Ok(_) | Err(BuildError::RateTooSmall { .. }) => high = bits,
                Err(error) => return Err(Failure::at("plan", error)),
            }
        }
        fits.ok_or_else(|| {
            let (items, memory) = (grouped(items), size(memory));
            Failure::at("plan", format_args!("{items} items do not fit into {memory}"))
        })
    }

    /// The most items that can be remembered so exactly in so much memory.
    fn most_items(self, exactness: Exactness, memory: u64) -> Result<CuckooPlan, Failure> {
        let (mut fits, mut low, mut high) = (None, 0, memory.saturating_mul(8));
        while low < high {
            let items = low + (high - low).div_ceil(2);
            match self.of(items, exactness) {
                Ok(plan) if plan.bytes <= memory => {
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

/// A rate that no 64-bit hash allows quite.
fn too_fine(items: u64) -> f64 {
    items.max(1) as f64 / 64_f64.exp2()
}

/// In a stream of n unique records the filter holds n / 2 of them on average.
fn wrongly_dropped(plan: &CuckooPlan) -> f64 {
    plan.items as f64 * plan.rate / 2.0
}

/// The names of the fields are part of the interface.
#[derive(Debug, Serialize)]
struct Report<'a> {
    items: u64,
    rate: f64,
    expected_wrongly_dropped: f64,
    bytes: u64,
    side_bytes: u64,
    bits_per_item: f64,
    hash_bits: f64,
    layout: &'static str,
    slots_per_bucket: u32,
    slot_bits: u32,
    slots: u64,
    segments: u64,
    compared: &'a [Peer],
}

impl<'a> Report<'a> {
    fn of(plan: &CuckooPlan, shape: Shape, compared: &'a [Peer]) -> Self {
        Self {
            items: plan.items,
            rate: plan.rate,
            expected_wrongly_dropped: wrongly_dropped(plan),
            bytes: plan.bytes,
            side_bytes: plan.side_bytes,
            bits_per_item: plan.bits_per_item(),
            hash_bits: plan.hash_bits,
            layout: layout_name(shape.layout),
            slots_per_bucket: shape.slots,
            slot_bits: plan.slot_bits,
            slots: plan.slots,
            segments: plan.segments,
            compared,
        }
    }
}

fn table(plan: &CuckooPlan, shape: Shape, peers: &[Peer]) -> String {
    let mut table = Table::default();
    table.row("items", grouped(plan.items));
    table.row("false-positive rate", significant(plan.rate));
    table.row("wrongly dropped by a dedup of so many", significant(wrongly_dropped(plan)));
    table.row("memory", size(plan.bytes));
    if plan.side_bytes > plan.bytes / 100 {
        table.row("of it for crowded items, expected", size(plan.side_bytes));
    }
    table.row("bits per item", format!("{:.2}", plan.bits_per_item()));
    table.row("hash bits", format!("{:.2}", plan.hash_bits));
    table.row("layout", layout_name(shape.layout));
    table.row("slots per bucket", shape.slots.to_string());
    table.row("bits per slot", plan.slot_bits.to_string());
    table.row("slots", grouped(plan.slots));
    table.row("segments", grouped(plan.segments));
    table.text() + "\n" + &compare::table(peers)
}
