//! `coua info`.

use crate::cli::filter::{hasher_name, layout_name, when_full_name};
use crate::cli::secret::SecretArgs;
use crate::cli::window::{NowArgs, window_text};
use crate::clock::moment_text;
use crate::commands::print;
use crate::remote::{self, Address};
use crate::resume::RunInfo;
use crate::run::preflight::{Report, check_filters};
use crate::target::file;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Table;
use crate::terminal::message::Failure;
use crate::terminal::text::{counted, grouped, significant, size};
use coua::HashAlgorithm;
use coua::window::{Clock, Generations};
use coua_store::View;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Describe a filter file
///
/// Takes the time of a moment whatever the size: of a large file little more than the header is read. `coua verify`
/// reads and checks all of it.
///
/// Fields of the JSON object: `file`, `file_bytes`, `snapshot_bytes` of it, and `log_bytes` of the changes
/// after the snapshot (also called `journal_bytes`), in so many `transactions`; `uncommitted_bytes` at its
/// end that do not count, because their commit was interrupted, or is being written; `items` in it (every copy counted), `capacity`: items that its memory is planned for,
/// `max_items` up to which its rate is stated to hold (null: no limit), `rate_at_max_items`,
/// `false_positive_rate` now, `hash_bits` remembered of every key (the rate is `items` / 2 to that
/// power), `load` (slots in use, 0 to 1), `memory_bytes`, `bits_per_item`, `layout` (buckets, windows),
/// `slots`, `slots_per_bucket`, `slot_bits`, `segments`, `when_full` (grow, error, exceed), `hash`
/// (xxh3, siphash13), `seed` (null for siphash13).
///
/// A filter with --window has also `window`: `clock` (arrival, time-field, items), `length` and
/// `generation_length` (milliseconds, or items: the first is how long a record is remembered at least,
/// both together how long at most), `generations` that the window is long, `present` (milliseconds
/// since 1970, when the youngest generation begins; or items so far); and `generations`, the oldest
/// first, each with its `number`, `from` and `until` (in the same units), `items`, `load`,
/// `memory_bytes`. All other figures are those of all generations together.
///
/// `runs` that the filter remembers for --resume, those that have not ended first, and the youngest first: the
/// `command` (null: one of a later version), whether it `has_ended`, the `records` done, its `inputs` and
/// `outputs`, each with its `file` and the `offset` (bytes) up to which it was done, inputs also with their
/// `size` now; and the `obstacle`, if it cannot be resumed (null: nothing is in the way). `unfinished_run`
/// is the first of them, if that was interrupted, or is still at work (null: there is none).
///
/// A filter on a server has `server` (its address), `shards`, `items` and `items_deleted`,
/// `fewest_items_in_a_shard`, `most_items_in_a_shard`, `false_positive_rate`, `hash_bits`, `load`,
/// `memory_bytes`, `bits_per_item`, `slots`, `when_full` (exceed, error), `window` of each shard
/// (`clock`: arrival or items, `length`, `generations`; null: it never forgets). The rate, `hash_bits` and `load` are
/// null where the filter has RedisBloom's layout.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The filter file, or the address of a filter on a server: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(address) = Address::of(&args.file)? {
        remote::refuse_options_of_files(&args.secret, args.now, None)?;
        let form = if args.json { remote::info::Form::Json } else { remote::info::Form::Table };
        print(&remote::info::describe(&address, form)?)?;
        return Ok(Exit::Success);
    }
    check_filters(Report::Printed, &args.secret, [&*args.file], None)?;
    let mut state = file::glance(&args.file, &args.secret)?;
    let now = args.now.for_window(state.filter.window())?;
    file::tell(now, &mut state.filter);
    let info = Info::of(&state, &args.file)?;
    let text = if args.json {
        serde_json::to_string_pretty(&info).unwrap_or_default() + "\n"
    } else {
        info.table(&state.filter)
    };
    print(&text)?;
    Ok(Exit::Success)
}

/// What there is to say about a filter; the names of the fields are part of the interface.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    snapshot_bytes: u64,
    log_bytes: u64,
    /// By its earlier name.
    journal_bytes: u64,
    transactions: u64,
    uncommitted_bytes: u64,
    items: u64,
    capacity: u64,
    max_items: Option<u64>,
    rate_at_max_items: Option<f64>,
    false_positive_rate: f64,
    hash_bits: f64,
    load: f64,
    memory_bytes: u64,
    bits_per_item: f64,
    layout: &'static str,
    slots: u64,
    slots_per_bucket: u32,
    slot_bits: u32,
    segments: u64,
    when_full: &'static str,
    hash: &'static str,
    seed: Option<u64>,
    unfinished_run: Option<RunInfo>,
    runs: Vec<RunInfo>,
    #[serde(flatten)]
    aging: Option<Aging>,
}

/// What there is to say about a window.
#[derive(Debug, Serialize)]
struct Aging {
    window: WindowInfo,
    generations: Vec<GenerationInfo>,
}

#[derive(Debug, Serialize)]
struct WindowInfo {
    clock: &'static str,
    length: u64,
    generation_length: u64,
    generations: u32,
    present: u64,
}

#[derive(Debug, Serialize)]
struct GenerationInfo {
    number: u64,
    from: u64,
    until: u64,
    items: u64,
    load: f64,
    memory_bytes: u64,
}

impl Aging {
    fn of(filter: &Generations) -> Option<Self> {
        let window = filter.window()?;
        let info = |generation: coua::window::Generation<'_>| GenerationInfo {
            number: generation.number,
            from: generation.from,
            until: generation.until,
            items: generation.filter.len(),
            load: generation.filter.load(),
            memory_bytes: generation.filter.memory_bytes() as u64,
        };
        Some(Self {
            window: WindowInfo {
                clock: clock_name(window.clock()),
                length: window.length(),
                generation_length: window.step(),
                generations: window.generations(),
                present: filter.clock(),
            },
            generations: filter.generations().map(info).collect(),
        })
    }

    fn rows(&self, table: &mut Table) {
        let counts = self.window.clock == clock_name(Clock::Count);
        let place = |at: u64| if counts { grouped(at) } else { moment_text(at) };
        table.row(if counts { "present" } else { "present since" }, place(self.window.present));
        for generation in &self.generations {
            let GenerationInfo { from, until, items, memory_bytes, .. } = generation;
            let name = format!("{} to {}", place(*from), place(*until));
            table.row(name, format!("{}, {}", counted(*items, "item"), size(*memory_bytes)));
        }
    }
}

fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Arrival => "arrival",
        Clock::Given => "time-field",
        Clock::Count => "items",
    }
}

impl Info {
    fn of(state: &View, path: &Path) -> Result<Self, Failure> {
        let filter = &state.filter;
        let file = path.display().to_string();
        let metadata = fs::metadata(path).map_err(|error| Failure::io(&file, &error))?;
        let max_items = Some(filter.max_items()).filter(|items| *items != u64::MAX);
        let memory_bytes = filter.memory_bytes() as u64;
        let runs = RunInfo::all(&state.runs);
        let (hash, seed) = match filter.hasher().algorithm() {
            HashAlgorithm::Xxh3 { seed } => ("xxh3", Some(seed)),
            HashAlgorithm::SipHash13 { .. } => ("siphash13", None),
            _ => ("unknown", None),
        };
        Ok(Self {
            file,
            file_bytes: metadata.len(),
            snapshot_bytes: state.snapshot_bytes,
            log_bytes: state.log_bytes,
            journal_bytes: state.log_bytes,
            transactions: state.transactions,
            uncommitted_bytes: state.uncommitted,
            items: filter.len(),
            capacity: filter.capacity(),
            max_items,
            rate_at_max_items: max_items.map(|items| items as f64 / filter.hash_bits().exp2()),
            false_positive_rate: filter.false_positive_rate(),
            hash_bits: filter.hash_bits(),
            load: filter.load(),
            memory_bytes,
            bits_per_item: 8.0 * memory_bytes as f64 / filter.len().max(1) as f64,
            layout: layout_name(filter.template().layout()),
            slots: filter.slots(),
            slots_per_bucket: filter.template().slots_per_bucket(),
            slot_bits: filter.slot_bits(),
            segments: filter.segments(),
            when_full: when_full_name(filter.template().when_full()),
            hash,
            seed,
            unfinished_run: runs.first().filter(|run| !run.has_ended()).cloned(),
            runs,
            aging: Aging::of(filter),
        })
    }

    fn table(&self, filter: &Generations) -> String {
        let mut table = Table::default();
        table.row("file", &self.file);
        table.row("file size", size(self.file_bytes));
        table.row("snapshot size", size(self.snapshot_bytes));
        if self.log_bytes > 0 {
            let transactions = counted(self.transactions, "transaction");
            table.row("log size", format!("{}, {transactions}", size(self.log_bytes)));
        }
        if self.uncommitted_bytes > 0 {
            table.row("not committed", size(self.uncommitted_bytes));
        }
        table.row("items", grouped(self.items));
        table.row("capacity", grouped(self.capacity));
        table.row("max items", self.max_items.map_or_else(|| "no limit".into(), grouped));
        if let Some(rate) = self.rate_at_max_items {
            table.row("false-positive rate at max items", significant(rate));
        }
        table.row("false-positive rate now", significant(self.false_positive_rate));
        table.row("hash bits", significant(self.hash_bits));
        table.row("load", format!("{:.1} %", self.load * 100.0));
        table.row("memory", size(self.memory_bytes));
        table.row("bits per item", format!("{:.1}", self.bits_per_item));
        table.row("layout", self.layout);
        table.row("slots", grouped(self.slots));
        table.row("slots per bucket", self.slots_per_bucket.to_string());
        table.row("bits per slot", self.slot_bits.to_string());
        table.row("segments", grouped(self.segments));
        table.row("when full", self.when_full);
        table.row("hash", hasher_name(filter.hasher()));
        if let (Some(window), Some(aging)) = (filter.window(), &self.aging) {
            table.row("window", window_text(window));
            table.row("time", aging.window.clock);
            aging.rows(&mut table);
        }
        RunInfo::rows(&self.runs, &mut table);
        table.text()
    }
}
