//! `coua info`.

use crate::args::SecretArgs;
use crate::clock::{self, moment_text, window_text};
use crate::filter::server;
use crate::filter::spec::{clock_name, window_object};
use crate::filter::{
    FilterFigures, Location, OnFull, Secret, check_files, filter_file, write_limit,
};
use crate::key::KeySpec;
use crate::runs::{Place, Run, Runs};
use crate::terminal::{
    Failure, Report, ReportFormat, Result, Stream, counted, grouped, print, size,
};
use coua::KeyHasher;
use coua::window::{Clock, Generation, Generations, Window};
use coua_store::{Options, View};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Describe a filter file
///
/// Fast for any size: of a large file, little more than the header is read. `coua verify` reads and checks all of it.
///
/// docs/json.md describes the fields of the JSON object.
#[derive(clap::Args, Debug)]
pub(crate) struct InfoArgs {
    /// The filter: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    filter_file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    filter: SecretArgs,
}

impl InfoArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let format = if self.json { ReportFormat::Json } else { ReportFormat::Text };
        let (location, secret) = (Location::of(&self.filter_file)?, self.filter.secret());
        location.refuse_on_server(secret.option())?;
        let report = match location {
            Location::Server(address) => server::report(&address)?,
            Location::File(path) => of_file(&path, &secret)?,
        };
        print(&report.print_as(format))
    }
}

fn of_file(path: &Path, secret: &Secret) -> Result<Report> {
    Stream::Output.check_open()?;
    check_files(secret, [path], None)?;
    // Of a large file, little more than the header is read.
    let mut state = filter_file::view(path, Options::new().expecting(0), secret)?;
    clock::advance(&mut state.filter);
    let mut report = Report::default();
    write_file(&state, path, &mut report)?;
    write_filter(&state.filter, &mut report);
    if let Some(window) = state.filter.window() {
        write_window(window, &state.filter, &mut report);
    }
    if let Some(keys) = KeySpec::of(&state.notes, path.display())? {
        keys.write_report(&mut report);
    }
    write_runs(&Runs::of(&state.notes, path.display())?, &mut report);
    Ok(report)
}

fn write_file(state: &View, path: &Path, report: &mut Report) -> Result<()> {
    let name = path.display().to_string();
    let metadata = fs::metadata(path).map_err(|error| Failure::io(&name, &error))?;
    report.text("file", "file", &name);
    report.bytes("file_bytes", "file size", metadata.len());
    report.bytes("snapshot_bytes", "snapshot size", state.snapshot_bytes);
    report.field("log_bytes", state.log_bytes);
    report.field("transactions", state.transactions);
    let log =
        || format!("{}, {}", size(state.log_bytes), counted(state.transactions, "transaction"));
    report.row_if_any("log size", (state.log_bytes > 0).then(log));
    report.field("uncommitted_bytes", state.uncommitted);
    let uncommitted = (state.uncommitted > 0).then(|| size(state.uncommitted));
    report.row_if_any("not committed", uncommitted);
    Ok(())
}

fn write_filter(filter: &Generations, report: &mut Report) {
    let template = filter.template();
    report.number("items", "items", filter.len());
    report.number("room", "room for items", filter.capacity());
    write_limit(filter, Some("no limit"), report);
    FilterFigures::from(filter).write_measures(report);
    report.number("slots", "slots", filter.slots());
    report.number("slot_bits", "bits per slot", filter.slot_bits().into());
    report.number("segments", "segments", filter.segments());
    report.text("when_full", "when full", OnFull::of(template).name());
    // Prints the algorithm and its seed, never its key.
    let (hash, seed, with) = match filter.hasher() {
        KeyHasher::Xxh3 { seed } => ("xxh3", Some(seed), format!(" with seed {seed}")),
        KeyHasher::SipHash13 { .. } => ("siphash13", None, " with a key".to_owned()),
        _ => ("unknown", None, String::new()),
    };
    report.field("hash", hash);
    report.field("seed", seed);
    report.row("hash", format!("{hash}{with}"));
}

/// Adds the figures of a window.
fn write_window(window: Window, filter: &Generations, report: &mut Report) {
    let mut object = window_object(window);
    object["present"] = json!(filter.clock());
    report.field("window", object);
    let generations: Vec<_> = filter.generations().map(|it| generation_object(&it)).collect();
    report.field("generations", generations);
    report.row("window", window_text(window));
    report.row("time", clock_name(window.clock()));
    let counts = window.clock() == Clock::Count;
    let place = |at: u64| if counts { grouped(at) } else { moment_text(at) };
    report.row(if counts { "present" } else { "present since" }, place(filter.clock()));
    for Generation { from, until, filter, .. } in filter.generations() {
        let (items, bytes) = (counted(filter.len(), "item"), size(filter.memory_bytes() as u64));
        report.row(format!("{} to {}", place(from), place(until)), format!("{items}, {bytes}"));
    }
}

fn generation_object(generation: &Generation<'_>) -> Value {
    let Generation { number, from, until, filter, .. } = *generation;
    json!({
        "number": number,
        "from": from,
        "until": until,
        "items": filter.len(),
        "load": filter.load_factor(),
        "memory_bytes": filter.memory_bytes() as u64,
    })
}

/// Adds the runs: unfinished ones first, and the newest first. The field names are part of the interface.
fn write_runs(runs: &Runs, report: &mut Report) {
    let (ended, unended): (Vec<_>, Vec<_>) = runs.newest().partition(|run| run.has_ended);
    let objects: Vec<_> = unended.iter().chain(&ended).map(|run| object(run)).collect();
    for run in &unended {
        let records = counted(run.records, "record");
        report.row("unfinished run", format!("{}, {records} done", run.name()));
        let resume = (!run.is_stream()).then(|| "the same command with --resume".to_owned());
        report.row_if_any("to resume it", resume);
    }
    report.field("unfinished_run", objects.first().filter(|_| !unended.is_empty()).cloned());
    report.field("runs", objects);
    let ended = (!ended.is_empty()).then(|| {
        format!("{}, remembered for --resume (--json lists them)", grouped(ended.len() as u64))
    });
    report.row_if_any("ended runs", ended);
}

/// The JSON of a run.
fn object(run: &Run) -> Value {
    json!({
        "command": run.job.command,
        "has_ended": run.has_ended,
        "records": run.records,
        "inputs": run.inputs.iter().map(position).collect::<Vec<_>>(),
        "outputs": run.outputs.iter().map(position).collect::<Vec<_>>(),
    })
}

/// The position of a run in a file.
fn position(place: &Place) -> Value {
    json!({"file": place.path.display().to_string(), "offset": place.offset})
}
