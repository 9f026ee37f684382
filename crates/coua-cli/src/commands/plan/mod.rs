//! `coua plan`.

mod compare;
mod growing;
#[cfg(feature = "plot")]
mod plot;
#[cfg(not(feature = "plot"))]
mod plot {
    use crate::terminal::{Failure, Result};

    pub(super) fn write(_: &std::path::Path, _: &coua::sizing::CuckooPlan) -> Result<()> {
        Err(Failure::at("--plot", "this program was built without the feature `plot`"))
    }
}
mod shape;

use crate::filter::collisions;
use crate::filter::spec::write_layout;
use crate::output::refuse_filter;
use crate::terminal::{Report, ReportFormat, Result, counted, print, significant, size};
use compare::Peer;
use serde_json::json;
pub(crate) use shape::{Exactness, Shape};
use shape::{Generations, Planned};
use std::path::PathBuf;

/// What is to be planned: two of items, exactness and memory, or the items alone.
#[derive(Debug)]
pub(crate) struct PlanJob {
    pub(crate) items: Option<u64>,
    pub(crate) exactness: Option<Exactness>,
    pub(crate) memory: Option<u64>,
    pub(crate) shape: Shape,
    /// Whether to tell what a filter takes that has grown to so many items.
    pub(crate) growing: bool,
    /// Of sets that keep the records.
    pub(crate) record_bytes: u64,
    pub(crate) format: ReportFormat,
    /// Where a picture is to go.
    pub(crate) plot: Option<PathBuf>,
}

/// Tells how much memory a filter needs, and what others would need.
pub(crate) fn run(job: &PlanJob) -> Result<()> {
    if let Some(path) = &job.plot {
        refuse_filter(path)?;
    }
    let shape = job.shape;
    let plan = shape.plan(job.items, job.exactness, job.memory)?;
    let growing = job.growing.then(|| growing::bytes(&plan.whole));
    let peers = compare::peers(plan.whole.items, plan.whole.rate, job.record_bytes);
    let mut text = report(&plan, growing, shape, &peers).print_as(job.format);
    if job.format == ReportFormat::Text {
        text = text + "\n" + &compare::table(&peers);
    }
    if let Some(path) = &job.plot {
        plot::write(path, &plan.whole)?;
    }
    print(&text)
}

fn report(planned: &Planned, growing: Option<[u64; 2]>, shape: Shape, peers: &[Peer]) -> Report {
    let (plan, mut report) = (&planned.whole, Report::default());
    report.number("items", "items", plan.items);
    report.measure("rate", "false-positive rate", plan.rate, significant);
    let dropped = collisions::in_stream(plan.items, plan.hash_bits);
    let name = "wrongly dropped by a dedup of so many";
    report.measure("expected_wrongly_dropped", name, dropped, significant);
    report.bytes("bytes", "memory", plan.bytes);
    report.field("side_bytes", plan.overflow_bytes);
    let is_notable = plan.overflow_bytes > plan.bytes / 100;
    let overflow = is_notable.then(|| size(plan.overflow_bytes));
    report.row_if_any("of it for crowded items, expected", overflow);
    if let Some([least, most]) = growing {
        report.field("growing", json!({"least_bytes": least, "most_bytes": most}));
        report.row("memory after growth", format!("{} to {}", size(least), size(most)));
    }
    if let Some(generations) = planned.generations {
        write_generations(generations, &mut report);
    }
    let hundredths = |number: f64| format!("{number:.2}");
    report.measure("bits_per_item", "bits per item", plan.bits_per_item(), hundredths);
    report.measure("hash_bits", "hash bits", plan.hash_bits, hundredths);
    write_layout(shape.layout, &mut report);
    report.number("slots_per_bucket", "slots per bucket", shape.slots.into());
    report.number("slot_bits", "bits per slot", plan.slot_bits.into());
    report.number("slots", "slots", plan.slots);
    report.number("segments", "segments", plan.segments);
    report.field("compared", json!(peers));
    report
}

fn write_generations(generations: Generations, report: &mut Report) {
    let Generations { window, alive, each } = generations;
    let object = json!({
        "generations": window.generations(),
        "alive": alive,
        "generation_items": each.items,
        "generation_bytes": each.bytes,
    });
    report.field("window", object);
    let (items, bytes) = (counted(each.items, "item"), size(each.bytes));
    report.row("generations", format!("{alive}, each {bytes} for {items}, and an empty one"));
}
