//! `coua plan`.

use crate::args::value;
use crate::filter::{WindowLength, WindowSpec, collisions};
use crate::terminal::{
    Failure, Report, ReportFormat, Result, Verbosity, counted, print, significant, size,
};
use coua::sizing::CuckooPlan;
use coua::sizing::peers::{binary_fuse, blocked_bloom, bloom, hash_set, quotient};
use coua::window::{Clock, Window};
use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, WhenFull};
use serde::Serialize;
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
        let window = WindowSpec { length: self.window, ..WindowSpec::default() }.window()?;
        let planner = Planner { rate: self.rate, window };
        let plan = planner.plan(self.items, self.memory)?;
        let peers = peers(plan.whole.items, plan.whole.rate, self.record_bytes);
        let report = report(&plan, &peers);
        let text = if self.json {
            report.print_as(ReportFormat::Json)
        } else {
            report.table() + "\n" + &table(&peers)
        };
        print(&text)?;
        warn_of_bits(plan.whole.items, plan.whole.hash_bits);
        Ok(())
    }
}

/// Warns if 64 bits are too few to distinguish `items` items.
fn warn_of_bits(items: u64, hash_bits: f64) {
    let dropped = collisions::in_stream(items, hash_bits);
    if hash_bits >= 64.0 && dropped >= 1.0 {
        let (items, dropped) = (counted(items, "item"), significant(dropped));
        Verbosity::Normal.say(format_args!(
            "plan: 64 hash bits are too few to distinguish {items}: expect {dropped} of them to be wrongly dropped"
        ));
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

fn write_generations(generations: PlannedGenerations, report: &mut Report) {
    let PlannedGenerations { window, alive, each } = generations;
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

/// What is wanted of a filter, besides its items and memory.
#[derive(Clone, Copy, Debug)]
struct Planner {
    /// None: every hash is remembered whole.
    rate: Option<f64>,
    window: Option<Window>,
}

impl Planner {
    fn plan(self, items: Option<u64>, memory: Option<u64>) -> Result<Planned> {
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
        // The rate is 2^-bits, with the bits in small steps. The finest rate is slightly below what a 64-bit hash allows.
        const STEPS: f64 = (1_u64 << 32) as f64;
        let most = 64.0 - (items.max(1) as f64).log2();
        let with_bits = |steps: u64| {
            let rate = (-(steps as f64) / STEPS).exp2();
            Self { rate: Some(rate), ..self }.of(items)
        };
        let fits = largest(memory, (most * STEPS) as u64, with_bits)?;
        fits.ok_or_else(|| {
            let (items, memory) = (counted(items, "item"), size(memory));
            Failure::at("plan", format_args!("no filter of {memory} holds {items}"))
        })
    }

    /// The most items that fit in `memory` bytes.
    fn most_items(self, memory: u64) -> Result<Planned> {
        let fits = largest(memory, memory.saturating_mul(8), |items| self.of(items))?;
        fits.ok_or_else(|| Failure::at("plan", format_args!("no filter fits in {}", size(memory))))
    }
}

/// The plan for the largest number, at most this one, that fits in `memory` bytes. Larger numbers take more memory.
fn largest(
    memory: u64,
    most: u64,
    plan: impl Fn(u64) -> Result<Planned, BuildError>,
) -> Result<Option<Planned>> {
    let (mut fits, mut low, mut high) = (None, 0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match plan(middle) {
            Ok(plan) if plan.whole.bytes <= memory => (fits, low) = (Some(plan), middle),
            Ok(_) | Err(BuildError::RateTooSmall { .. } | BuildError::OutOfMemory(_)) => {
                high = middle - 1;
            }
            Err(error) => return Err(Failure::at("plan", error)),
        }
    }
    Ok(fits)
}

/// A planned filter.
#[derive(Clone, Copy, Debug)]
struct Planned {
    whole: CuckooPlan,
    /// Its generations, if it has a window.
    generations: Option<PlannedGenerations>,
}

/// The generations of a planned filter.
#[derive(Clone, Copy, Debug)]
struct PlannedGenerations {
    window: Window,
    /// The most that exist at a time: those of the window, and the one that is being filled.
    alive: u64,
    each: CuckooPlan,
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
    Ok(Planned { whole, generations: Some(PlannedGenerations { window, alive, each }) })
}

/// Another structure. The field names are part of the interface.
#[derive(Debug, Serialize)]
struct Peer {
    name: &'static str,
    /// None if it cannot reach the rate.
    bytes: Option<u64>,
    bits_per_item: Option<f64>,
    removes: bool,
    grows: bool,
    /// It has no false positives, except equal 64-bit hashes where only hashes are stored.
    exact: bool,
}

// Whether items can be taken away, and whether more can be added than planned.
const REMOVES_AND_GROWS: [bool; 2] = [true, true];
const REMOVES: [bool; 2] = [true, false];
const NEITHER: [bool; 2] = [false, false];

/// The structures to compare with.
fn peers(items: u64, rate: f64, record_bytes: u64) -> Vec<Peer> {
    let builder = CuckooFilter::builder().capacity(items).rate(rate);
    let cuckoo = builder.when_full(WhenFull::ExceedRate).plan();
    // A block of 256 bits reaches low rates only by being almost empty.
    let sane = |bytes: &u64| *bytes < items.saturating_mul(125).max(1 << 20);
    let filter = |name, bytes: Option<u64>, [removes, grows]: [bool; 2]| {
        let bits_per_item = bytes.map(|bytes| 8.0 * bytes as f64 / items.max(1) as f64);
        Peer { name, bytes, bits_per_item, removes, grows, exact: false }
    };
    let set = |name, bytes| Peer { exact: true, ..filter(name, Some(bytes), REMOVES_AND_GROWS) };
    let of_records = items.saturating_mul(record_bytes.saturating_add(16));
    vec![
        filter("coua", cuckoo.ok().map(|plan| plan.bytes), REMOVES_AND_GROWS),
        filter("Bloom", bloom(items, rate), NEITHER),
        filter("blocked Bloom", blocked_bloom(items, rate).filter(sane), NEITHER),
        // Four bits for each of a Bloom filter.
        filter("counting Bloom", bloom(items, rate).map(|bytes| bytes.saturating_mul(4)), REMOVES),
        filter("quotient", quotient(items, rate), REMOVES_AND_GROWS),
        filter("binary fuse", binary_fuse(items, rate), NEITHER),
        set("set of 64-bit hashes", hash_set(items, 8)),
        // Three words of a vector, and the record in its own heap block.
        set("set of records", hash_set(items, 24).saturating_add(of_records)),
    ]
}

/// One line for each.
fn table(peers: &[Peer]) -> String {
    let mut text = format!(
        "{:22} {:>9} {:>9}  {:7} {:5}\n",
        "compared with", "memory", "bits/item", "removes", "grows"
    );
    let yes = |answer| if answer { "yes" } else { "no" };
    for peer in peers {
        let memory = peer.bytes.map_or_else(|| "-".to_owned(), size);
        let bits = peer.bits_per_item.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.2}"));
        let (removes, grows) = (yes(peer.removes), yes(peer.grows));
        let line = format!("{:22} {memory:>9} {bits:>9}  {removes:7} {grows:5}", peer.name);
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_reach_the_rate_is_told() {
        let lines = table(&peers(1000, 1e-16, 60));
        assert!(lines.contains("blocked Bloom                  -"), "{lines}");
    }
}
