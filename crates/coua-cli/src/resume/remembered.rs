//! The report of the runs that a filter remembers.

use crate::runs::{Place, Role, Run, Runs};
use crate::terminal::{Report, counted, grouped};
use serde_json::{Value, json};

/// The most runs that a table or a message lists.
const MOST_LISTED: usize = 10;

/// Adds the runs: unfinished ones first, and the newest first. The field names are part of the interface.
pub(crate) fn write_report(runs: &Runs, report: &mut Report) {
    let (ended, unended): (Vec<_>, Vec<_>) = runs.newest().partition(|run| run.has_ended);
    let objects: Vec<_> = unended.iter().chain(&ended).map(|run| object(run)).collect();
    for (run, object) in unended.iter().zip(&objects) {
        report.row("unfinished run", done(run));
        let obstacle = object["obstacle"].as_str().map(|it| format!("not possible: {it}"));
        let remedy = obstacle.unwrap_or_else(|| "the same command with --resume".to_owned());
        report.row("to resume it", remedy);
    }
    report.field("unfinished_run", objects.first().filter(|_| !unended.is_empty()).cloned());
    report.field("runs", objects);
    if ended.is_empty() {
        return;
    }
    report.row("ended runs", format!("{}, remembered for --resume", grouped(ended.len() as u64)));
    for run in ended.iter().take(MOST_LISTED) {
        report.row("", done(run));
    }
    if ended.len() > MOST_LISTED {
        report.row("", "and others (--json lists all)");
    }
}

fn done(run: &Run) -> String {
    format!("{}, {} done", run.name(), counted(run.records, "record"))
}

/// The JSON of a run.
fn object(run: &Run) -> Value {
    json!({
        "command": run.job.command,
        "has_ended": run.has_ended,
        "records": run.records,
        "inputs": run.inputs().map(position).collect::<Vec<_>>(),
        "outputs": run.outputs().map(position).collect::<Vec<_>>(),
        // The reason why it cannot be resumed.
        "obstacle": run.places.iter().find_map(obstacle),
    })
}

/// The position of a run in a file.
fn position(place: &Place) -> Value {
    let mut position = json!({"file": place.path.display().to_string(), "offset": place.offset});
    let found = place.path.metadata().ok().filter(|_| place.role == Role::Input);
    if let Some(found) = found {
        position["size"] = found.len().into();
    }
    position
}

fn obstacle(place: &Place) -> Option<String> {
    let moved = place.check_length().err()?;
    Some(format!("{}: {moved}", place.path.display()))
}

/// The names of a filter's runs, for a message. `None` without runs.
pub(crate) fn list(runs: &Runs) -> Option<String> {
    let mut words: Vec<_> = runs.newest().take(MOST_LISTED).map(Run::name).collect();
    if runs.len() > MOST_LISTED {
        words.push(format!("{} more", runs.len() - MOST_LISTED));
    }
    (!words.is_empty()).then(|| words.join(", "))
}
