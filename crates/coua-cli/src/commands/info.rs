//! `coua info`.

use super::{Stdout, check_files};
use crate::clock::window_text;
use crate::clock::{Present, moment_text};
use crate::resume::RunInfo;
use crate::target::secret::Secret;
use crate::target::spec::{hasher_name, layout_name, when_full_name};
use crate::target::{Location, file, server_description};
use crate::terminal::exit::Exit;
use crate::terminal::figures::{Format, Table};
use crate::terminal::message::Failure;
use crate::terminal::stream::print;
use crate::terminal::text::{counted, grouped, significant, size};
use coua::HashAlgorithm;
use coua::window::{Clock, Generations};
use coua_store::View;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Describes a filter.
pub(crate) fn run(
    location: &Location,
    secret: &Secret,
    present: Present,
    format: Format,
) -> Result<Exit, Failure> {
    let text = match location {
        Location::Server(address) => server_description(address, format)?,
        Location::File(path) => of_file(path, secret, present, format)?,
        // No command line asks for it.
        Location::Memory => return Ok(Exit::Error),
    };
    print(&text)?;
    Ok(Exit::Success)
}

fn of_file(
    path: &Path,
    secret: &Secret,
    present: Present,
    format: Format,
) -> Result<String, Failure> {
    check_files(Stdout::Used, secret, [path], None)?;
    let mut state = file::glance(path, secret)?;
    let now = present.for_window(state.filter.window())?;
    file::tell(now, &mut state.filter);
    let info = Info::of(&state, path)?;
    Ok(match format {
        Format::Json => serde_json::to_string_pretty(&info).unwrap_or_default() + "\n",
        Format::Text => info.table(&state.filter),
    })
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
