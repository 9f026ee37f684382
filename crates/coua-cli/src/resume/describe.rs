//! What there is to say about the runs that a filter remembers.

use super::remembered::Remembered;
use crate::runs::{Place, Role, Runs};
use crate::terminal::{Report, counted, grouped, size};
use serde_json::{Value, json};

/// Files of a run that a table names.
const MOST_FILES: usize = 10;

/// Adds the runs: those that have not ended first, and the youngest first. The names of the fields are part of the
/// interface.
pub(crate) fn write_report(runs: &Runs, report: &mut Report) {
    let (ended, unended): (Vec<_>, Vec<_>) = Remembered::all(runs).partition(Remembered::has_ended);
    let objects: Vec<_> = unended.iter().chain(&ended).map(object).collect();
    for (run, object) in unended.iter().zip(&objects) {
        unended_rows(run, object["obstacle"].as_str(), report);
    }
    report.field("unfinished_run", objects.first().filter(|_| !unended.is_empty()).cloned());
    report.field("runs", objects);
    if ended.is_empty() {
        return;
    }
    report.row("ended runs", format!("{}, remembered for --resume", grouped(ended.len() as u64)));
    for run in ended.iter().take(MOST_FILES) {
        report.row("", format!("{}, {} done", run.name(), counted(run.run.records, "record")));
    }
    if ended.len() > MOST_FILES {
        report.row("", "and others (--json lists all)");
    }
}

/// For programs.
fn object(run: &Remembered<'_>) -> Value {
    let positions = |role| run.places(role).map(position).collect::<Vec<_>>();
    json!({
        // None if it is one of a later version of the program.
        "command": run.job.command(),
        "has_ended": run.has_ended(),
        "records": run.run.records,
        "inputs": positions(Role::Input),
        "outputs": positions(Role::Output),
        // Why it cannot be resumed.
        "obstacle": obstacle(run),
    })
}

/// How far a run is in a file.
fn position(place: &Place) -> Value {
    let mut position = json!({"file": place.path.display().to_string(), "offset": place.offset});
    if let Some(size) = size_now(place) {
        position["size"] = size.into();
    }
    position
}

/// Bytes of an input now.
fn size_now(place: &Place) -> Option<u64> {
    let found = place.path.metadata().ok().filter(|_| place.role == Role::Input);
    found.map(|found| found.len())
}

fn unended_rows(run: &Remembered<'_>, obstacle: Option<&str>, report: &mut Report) {
    let command = run.job.command();
    let name = command.map_or_else(|| "of a later version".to_owned(), |it| format!("coua {it}"));
    let records = counted(run.run.records, "record");
    report.row("unfinished run", format!("{name}, {records} done"));
    for place in run.places(Role::Input).take(MOST_FILES) {
        let of = size_now(place).map_or_else(String::new, |all| format!(" of {}", size(all)));
        let file = place.path.display();
        report.row("its input", format!("{file}, {}{of}", size(place.offset)));
    }
    let more = run.places(Role::Input).skip(MOST_FILES).count();
    if more > 0 {
        report.row("", format!("and {} more", grouped(more as u64)));
    }
    for place in run.places(Role::Output) {
        let file = place.path.display();
        report.row("its output", format!("{file}, {}", size(place.offset)));
    }
    let remedy = match obstacle {
        Some(obstacle) => format!("not possible: {obstacle}"),
        None => "the same command with --resume".to_owned(),
    };
    report.row("to resume it", remedy);
}

fn obstacle(run: &Remembered<'_>) -> Option<String> {
    if let Some(failure) = run.of_a_later_version() {
        return Some(failure.reason().to_owned());
    }
    let moved = |place: &Place| {
        let moved = place.check().err()?;
        Some(format!("{}: {moved}", place.path.display()))
    };
    run.run.places.iter().find_map(moved)
}

/// The names of a filter's runs, for a message. `None` without runs.
pub(crate) fn list(runs: &Runs) -> Option<String> {
    let mut words: Vec<_> = Remembered::all(runs).take(MOST_FILES).map(|run| run.name()).collect();
    if runs.len() > MOST_FILES {
        words.push(format!("{} more", runs.len() - MOST_FILES));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Run;

    /// The fields and the table of a run.
    fn told(run: Run) -> (Value, String) {
        let mut runs = Runs::default();
        runs.add(run);
        let mut report = Report::default();
        write_report(&runs, &mut report);
        (serde_json::to_value(&report).unwrap()["runs"][0].take(), report.table())
    }

    #[test]
    fn runs_of_later_versions_are_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let places = vec![Place::start(Role::Input, file.path())];
        let run = Run { records: 7, places, ..Run::default() };
        let (fields, text) = told(Run { job: b"what is to come".to_vec(), ..run });
        assert_eq!((&fields["command"], &fields["records"]), (&Value::Null, &json!(7)));
        assert!(text.contains("of a later version, 7 records done"), "{text}");
        assert!(text.contains("not possible: a later version of coua began the run"), "{text}");
    }
}
