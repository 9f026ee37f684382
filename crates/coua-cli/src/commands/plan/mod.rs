//! `coua plan`.

mod compare;
mod growing;
mod plot;
mod shape;

use crate::cli::filter::{LayoutName, layout_name};
use crate::cli::value;
use crate::cli::window::window_of;
use crate::clock;
use crate::commands::print;
use crate::target::collisions;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Table;
use crate::terminal::message::Failure;
use crate::terminal::text::{grouped, significant, size};
use compare::Peer;
use coua::window::Clock;
use growing::Growing;
use serde::Serialize;
use shape::{Generations, Planned, Shape};
use std::path::PathBuf;

/// Tell how much memory a filter needs, and how others would compare
///
/// Give two of items, rate and memory, and the third follows. With the items alone, the plan is for
/// all 64 bits of every hash: what `dedup` needs without options.
///
/// With a rate the filter has a fixed size; with whole hash bits it can grow, and the memory is what
/// it takes at first for so many items. One that has grown to so many takes up to 2.1 times that, and 2 MiB, which
/// --growing tells: all of its segments fill, and split in two, around the same number of items.
/// `coua compact` gives back what is more.
///
/// With a window, the items are those of all generations together: of the window, and of the generation
/// that is being filled. The plan is for a filter made with as many as its --capacity.
///
/// Fields of the JSON object: `items`; `rate`: false-positive rate with that many items;
/// `expected_wrongly_dropped`: records wrongly taken for repeats when a stream with that many unique
/// records is de-duplicated; `bytes`, `side_bytes`: the part of them that items are expected to take
/// which cannot be told apart and are more than a bucket has slots; `bits_per_item`, `hash_bits`,
/// `layout`, `slots_per_bucket`, `slot_bits`, `slots`, `segments`; `compared`: a list of objects with
/// `name`, `bytes` (null: it cannot reach the rate), `bits_per_item`, `removes`, `grows`, `exact`, all
/// for filters that never forget.
///
/// With --growing also `growing`: `least_bytes` and `most_bytes`.
///
/// With a window also `window`: `generations` that it is long, `alive`: the most there are at a time,
/// `generation_items` that each is planned for and `generation_bytes` that it takes; `bytes` are those of the
/// generations alive and of an empty one, of which new ones are copies.
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

    /// Slots per bucket: 1, 2, 4 or 8 [default: 4, overlapping 2]
    #[arg(long, value_name = "N")]
    slots_per_bucket: Option<u32>,

    /// Disjoint or overlapping buckets
    #[arg(long, value_name = "LAYOUT", default_value = "buckets")]
    layout: LayoutName,

    /// Plan a filter that forgets what is older than LENGTH, such as 7d
    #[arg(long, value_name = "LENGTH", value_parser = clock::duration,
          conflicts_with = "window_items")]
    window: Option<u64>,

    /// Plan a filter that remembers the last N items
    #[arg(long, value_name = "N", value_parser = value::count, conflicts_with = "items")]
    window_items: Option<u64>,

    /// Generations of the window [default: 8]
    #[arg(long, value_name = "N")]
    generations: Option<u32>,

    /// Also tell what a filter takes that was made for fewer items and has grown to so many
    #[arg(long, conflicts_with_all = ["rate", "window", "window_items"])]
    growing: bool,

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
    let timed = args.window.map(|millis| (Clock::Arrival, millis));
    let window = window_of(timed, args.window_items, args.generations)?;
    let shape = Shape {
        layout: args.layout.into(),
        slots: args.slots_per_bucket.unwrap_or(match args.layout {
            LayoutName::Buckets => 4,
            LayoutName::Overlapping => 2,
        }),
        window,
    };
    if args.growing && args.items.is_some() && args.memory.is_some() {
        let reason = "with --items and --memory the filter has a rate, and with that a fixed size";
        return Err(Failure::at("--growing", reason));
    }
    let mut plan = shape.plan(args)?;
    plan.growing = args.growing.then(|| Growing::to(&plan.whole));
    let peers = compare::peers(plan.whole.items, plan.whole.rate, args.record_bytes);
    let text = if args.json {
        serde_json::to_string_pretty(&Report::of(&plan, shape, &peers)).unwrap_or_default() + "\n"
    } else {
        table(&plan, shape, &peers)
    };
    if let Some(path) = &args.plot {
        plot::write(path, &plan.whole)?;
    }
    print(&text)?;
    Ok(Exit::Success)
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
    #[serde(skip_serializing_if = "Option::is_none")]
    growing: Option<Growing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowReport>,
    compared: &'a [Peer],
}

#[derive(Debug, Serialize)]
struct WindowReport {
    generations: u32,
    alive: u64,
    generation_items: u64,
    generation_bytes: u64,
}

impl<'a> Report<'a> {
    fn of(planned: &Planned, shape: Shape, compared: &'a [Peer]) -> Self {
        let plan = &planned.whole;
        Self {
            items: plan.items,
            rate: plan.rate,
            expected_wrongly_dropped: collisions::in_stream(plan.items, plan.hash_bits),
            bytes: plan.bytes,
            side_bytes: plan.overflow_bytes,
            bits_per_item: plan.bits_per_item(),
            hash_bits: plan.hash_bits,
            layout: layout_name(shape.layout),
            slots_per_bucket: shape.slots,
            slot_bits: plan.slot_bits,
            slots: plan.slots,
            segments: plan.segments,
            growing: planned.growing,
            window: planned.generations.map(|generations| WindowReport {
                generations: generations.window.generations(),
                alive: generations.alive,
                generation_items: generations.each.items,
                generation_bytes: generations.each.bytes,
            }),
            compared,
        }
    }
}

fn table(planned: &Planned, shape: Shape, peers: &[Peer]) -> String {
    let plan = &planned.whole;
    let mut table = Table::default();
    table.row("items", grouped(plan.items));
    table.row("false-positive rate", significant(plan.rate));
    let dropped = collisions::in_stream(plan.items, plan.hash_bits);
    table.row("wrongly dropped by a dedup of so many", significant(dropped));
    table.row("memory", size(plan.bytes));
    if plan.overflow_bytes > plan.bytes / 100 {
        table.row("of it for crowded items, expected", size(plan.overflow_bytes));
    }
    if let Some(Growing { least_bytes, most_bytes }) = planned.growing {
        table.row("memory after growth", format!("{} to {}", size(least_bytes), size(most_bytes)));
    }
    if let Some(Generations { alive, each, .. }) = planned.generations {
        let (items, bytes) = (grouped(each.items), size(each.bytes));
        table.row(
            "generations",
            format!("{alive}, each {bytes} for {items} items, and an empty one"),
        );
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
