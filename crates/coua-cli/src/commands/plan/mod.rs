//! `coua plan`.

mod compare;
mod growing;
mod plot;
mod shape;

use crate::output::own_files;
use crate::target::collisions;
use crate::target::spec::layout_name;
use crate::terminal::exit::Exit;
use crate::terminal::figures::{Format, Table};
use crate::terminal::message::Failure;
use crate::terminal::stream::print;
use crate::terminal::text::{counted, grouped, significant, size};
use compare::Peer;
use growing::Growing;
use serde::Serialize;
pub(crate) use shape::{Exactness, Shape};
use shape::{Generations, Planned};
use std::path::PathBuf;

/// What is to be planned: two of items, exactness and memory, or the items alone.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) items: Option<u64>,
    pub(crate) exactness: Option<Exactness>,
    pub(crate) memory: Option<u64>,
    pub(crate) shape: Shape,
    pub(crate) growth: Growth,
    /// Of sets that keep the records.
    pub(crate) record_bytes: u64,
    pub(crate) format: Format,
    /// Where a picture is to go.
    pub(crate) plot: Option<PathBuf>,
}

/// Whether to tell what a filter takes that has grown to so many items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    Told,
    Untold,
}

/// Tells how much memory a filter needs, and what others would need.
pub(crate) fn run(job: &Job) -> Result<Exit, Failure> {
    if let Some(path) = &job.plot {
        own_files::refuse_filter(path)?;
    }
    let shape = job.shape;
    let mut plan = shape.plan(job)?;
    plan.growing = (job.growth == Growth::Told).then(|| Growing::to(&plan.whole));
    let peers = compare::peers(plan.whole.items, plan.whole.rate, job.record_bytes);
    let text = match job.format {
        Format::Json => {
            let report = Report::of(&plan, shape, &peers);
            serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
        }
        Format::Text => table(&plan, shape, &peers),
    };
    if let Some(path) = &job.plot {
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
        let (items, bytes) = (counted(each.items, "item"), size(each.bytes));
        table.row("generations", format!("{alive}, each {bytes} for {items}, and an empty one"));
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
