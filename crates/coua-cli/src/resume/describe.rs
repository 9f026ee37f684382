//! What there is to say about the runs that a filter remembers.

use super::remembered::{Remembered, words};
use crate::terminal::report::Report;
use crate::terminal::text::{counted, grouped, size};
use coua_store::{Place, Role, Runs};
use serde::Serialize;

/// Files of a run that a table names.
const MOST_FILES: usize = 10;

/// A run that was interrupted, is still at work, or has ended. The names of the fields are part of the
/// interface.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunInfo {
    /// None if it is one of a later version of the program.
    command: Option<String>,
    has_ended: bool,
    records: u64,
    inputs: Vec<Position>,
    outputs: Vec<Position>,
    /// Why it cannot be resumed.
    obstacle: Option<String>,
    #[serde(skip)]
    name: String,
}

/// How far a run is in a file.
#[derive(Clone, Debug, Serialize)]
struct Position {
    file: String,
    offset: u64,
    /// Bytes of an input now.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl RunInfo {
    /// Those that have not ended first, and the youngest first.
    pub(crate) fn all(runs: &Runs) -> Vec<Self> {
        let mut all: Vec<_> = Remembered::all(runs).map(|run| Self::of(&run)).collect();
        all.sort_by_key(|run| run.has_ended);
        all
    }

    fn of(run: &Remembered<'_>) -> Self {
        Self {
            command: run.job.command().map(str::to_owned),
            has_ended: run.has_ended(),
            records: run.run.records,
            inputs: run.places(Role::Input).map(Position::of).collect(),
            outputs: run.places(Role::Output).map(Position::of).collect(),
            obstacle: obstacle(run),
            name: run.name(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Rows for runs that have not ended, and one for all that have.
    pub(crate) fn rows(runs: &[Self], report: &mut Report) {
        let (ended, unended): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.has_ended);
        for run in unended {
            run.unended_rows(report);
        }
        if ended.is_empty() {
            return;
        }
        report
            .row("ended runs", format!("{}, remembered for --resume", grouped(ended.len() as u64)));
        for run in ended.iter().take(MOST_FILES) {
            let records = counted(run.records, "record");
            report.row("", format!("{}, {records} done", run.name));
        }
        if ended.len() > MOST_FILES {
            report.row("", "and others (--json lists all)");
        }
    }

    fn unended_rows(&self, report: &mut Report) {
        let name = self.command.as_ref();
        let name =
            name.map_or_else(|| "of a later version".to_owned(), |name| format!("coua {name}"));
        report.row("unfinished run", format!("{name}, {} done", counted(self.records, "record")));
        for Position { file, offset, size: whole } in self.inputs.iter().take(MOST_FILES) {
            let of = whole.map_or_else(String::new, |whole| format!(" of {}", size(whole)));
            report.row("its input", format!("{file}, {}{of}", size(*offset)));
        }
        if self.inputs.len() > MOST_FILES {
            report
                .row("", format!("and {} more", grouped((self.inputs.len() - MOST_FILES) as u64)));
        }
        for Position { file, offset, .. } in &self.outputs {
            report.row("its output", format!("{file}, {}", size(*offset)));
        }
        let remedy = match &self.obstacle {
            Some(obstacle) => format!("not possible: {obstacle}"),
            None => "the same command with --resume".to_owned(),
        };
        report.row("to resume it", remedy);
    }
}

impl Position {
    fn of(place: &Place) -> Self {
        let size = place.path.metadata().ok().map(|found| found.len());
        let size = size.filter(|_| place.role == Role::Input);
        Self { file: place.path.display().to_string(), offset: place.offset, size }
    }
}

fn obstacle(run: &Remembered<'_>) -> Option<String> {
    if let Some(failure) = run.of_another_version() {
        return Some(failure.reason().to_owned());
    }
    let moved = |place: &Place| {
        let moved = place.check().err()?;
        Some(format!("{}: {}", place.path.display(), words(&moved)))
    };
    run.run.places.iter().find_map(moved)
}

/// The runs of a filter in words, for whoever loses them; none if there are none.
pub(crate) fn in_words(runs: &Runs) -> Option<String> {
    let mut words = Vec::new();
    words.extend(Remembered::all(runs).take(MOST_FILES).map(|run| run.name()));
    if runs.len() > MOST_FILES {
        words.push(format!("{} more", runs.len() - MOST_FILES));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua_store::Run;

    fn rows(run: Run) -> (RunInfo, String) {
        let mut runs = Runs::default();
        runs.add(run);
        let all = RunInfo::all(&runs);
        let mut report = Report::default();
        RunInfo::rows(&all, &mut report);
        (all[0].clone(), report.table())
    }

    #[test]
    fn runs_of_other_versions_are_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let places = vec![Place::start(Role::Input, file.path())];
        let run = Run { records: 7, places, ..Run::default() };
        let (info, text) = rows(Run { job: b"what is to come".to_vec(), ..run.clone() });
        assert_eq!((&info.command, info.records), (&None, 7));
        assert!(text.contains("of a later version, 7 records done"), "{text}");
        assert!(text.contains("not possible: a later version of coua began the run"), "{text}");
        let earlier = br#"{"job":{"command":"add","again":"Counts"},"has_ended":false}"#;
        let (info, text) = rows(Run { job: earlier.to_vec(), ..run });
        assert_eq!(info.command.as_deref(), Some("add"));
        assert!(
            text.contains("not possible: an earlier version of coua began the `coua add`"),
            "{text}"
        );
    }
}
