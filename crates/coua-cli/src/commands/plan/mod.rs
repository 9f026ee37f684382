//! `coua plan`.

mod compare;
mod nodes;
mod planner;

use crate::args::value;
use crate::filter::{WindowLength, WindowSpec, collisions};
use crate::terminal::{
    Failure, Report, ReportFormat, Result, Verbosity, counted, print, significant, size,
};
use compare::Peer;
use nodes::{Machine, MachinesPlan};
use planner::{Generations, Planned, Planner};
use serde_json::json;

/// Show how much memory a filter needs, and how other methods compare
///
/// Give two of items, rate and memory; the third is computed. With the items or the memory alone, the plan is for all
/// 64 bits of every hash, the default of `dedup`.
///
/// The memory is that of a filter created for this number of items. A filter that grows past its plan takes between 1
/// and 2.1 times the memory that is planned for its items, because all its segments fill, and split in two, at about
/// the same number of items. `coua compact` frees the excess.
///
/// With a window, the items are those of all generations together: of the window, and of the generation that is
/// being filled. The plan is for a filter created with this --capacity. With --window-by last, repeats may move
/// all items into one generation: it grows, and the memory may be up to 2.1 times as much until the next one begins.
///
/// With --memory-per-node, the keys are divided by their hashes among the fewest machines with enough memory. Each
/// takes a shard (--shard of `dedup`). The plan shows time and traffic if all nodes read all records, and if each record
/// is sent to the node of its key. docs/scale.md has more.
///
/// docs/json.md describes the fields of the JSON object.
#[derive(clap::Args, Debug)]
pub(crate) struct PlanArgs {
    /// Number of items, such as 14M or 1e9
    #[arg(long, value_name = "N", value_parser = value::count)]
    items: Option<u64>,

    /// False-positive rate with these items, such as 0.001 or 0.1%
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// Memory of the filter at most, such as 512MiB
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    memory: Option<u64>,

    /// Plan a filter with a window, such as 7d or 1M-items
    #[arg(long, value_name = "LENGTH", value_parser = value::window)]
    window: Option<WindowLength>,

    /// Plan several machines, each with BYTES of memory for its filter
    #[arg(long, value_name = "BYTES", value_parser = value::bytes, requires = "items",
          conflicts_with_all = ["memory", "window"])]
    memory_per_node: Option<u64>,

    /// Records that each machine de-duplicates per second
    #[arg(long, value_name = "N", value_parser = value::count, default_value = "20M")]
    records_per_second: u64,

    /// Average length of the records that are stored or sent
    #[arg(long, value_name = "BYTES", value_parser = value::bytes, default_value = "60")]
    record_bytes: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PlanArgs {
    /// Prints how much memory the filter needs, and how much others would need.
    pub(crate) fn run(&self) -> Result<()> {
        if self.items.is_some() && matches!(self.window, Some(WindowLength::Items(_))) {
            let reason = "cannot be used with a --window of items, which sets their number";
            return Err(Failure::at("--items", reason));
        }
        if let (Some(items), Some(memory)) = (self.items, self.memory_per_node) {
            return self.print_nodes(items, memory);
        }
        let window = WindowSpec { length: self.window, ..WindowSpec::default() }.window()?;
        let planner = Planner { rate: self.rate, window };
        let plan = planner.plan(self.items, self.memory)?;
        let peers = compare::peers(plan.whole.items, plan.whole.rate, self.record_bytes);
        let report = report(&plan, &peers);
        let text = if self.json {
            report.print_as(ReportFormat::Json)
        } else {
            report.table() + "\n" + &compare::table(&peers)
        };
        print(&text)?;
        warn_of_bits(plan.whole.items, plan.whole.hash_bits);
        Ok(())
    }

    fn print_nodes(&self, items: u64, memory: u64) -> Result<()> {
        if self.records_per_second == 0 {
            return Err(Failure::at("--records-per-second", "is 0; expected at least 1"));
        }
        let node = Machine { memory, records_per_second: self.records_per_second };
        let cluster = MachinesPlan::plan(items, self.rate, node)?;
        let format = if self.json { ReportFormat::Json } else { ReportFormat::Text };
        print(&cluster.report(self.record_bytes).print_as(format))?;
        warn_of_bits(items, cluster.filter_bits());
        Ok(())
    }
}

/// Warns if a hash has too few bits for `items` items.
fn warn_of_bits(items: u64, hash_bits: f64) {
    if let Some(text) = nodes::too_few_bits(items, hash_bits) {
        Verbosity::Normal.say(format_args!("plan: {text}"));
    }
}

fn report(planned: &Planned, peers: &[Peer]) -> Report {
    let (plan, mut report) = (&planned.whole, Report::default());
    report.number("items", "items", plan.items);
    report.measure("rate", "false-positive rate", plan.rate, significant);
    let dropped = collisions::in_stream(plan.items, plan.hash_bits);
    let name = "records dedup would wrongly drop";
    report.measure("expected_wrongly_dropped", name, dropped, significant);
    report.bytes("bytes", "memory", plan.bytes);
    report.field("overflow_bytes", plan.overflow_bytes);
    if let Some(generations) = planned.generations {
        write_generations(generations, &mut report);
    }
    let hundredths = |number: f64| format!("{number:.2}");
    report.measure("bits_per_item", "bits per item", plan.bits_per_item(), hundredths);
    report.measure("hash_bits", "hash bits", plan.hash_bits, hundredths);
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
