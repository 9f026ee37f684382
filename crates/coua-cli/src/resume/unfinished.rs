//! What there is to say about a run that has not come to its end.

use super::known::Note;
use crate::message;
use crate::stats::Table;
use crate::stats::text::{grouped, size};
use coua_store::{Moved, Place, Progress, Role};
use serde::Serialize;

/// A run that was interrupted, or is still at work: the filter does not know which. The names of the fields
/// are part of the interface.
#[derive(Debug, Serialize)]
pub(crate) struct Unfinished {
    /// None if it is one of another version of the program.
    command: Option<String>,
    records: u64,
    inputs: Vec<Position>,
    outputs: Vec<Position>,
    /// Why it cannot be gone on with.
    obstacle: Option<String>,
}

/// How far a run is in a file.
#[derive(Debug, Serialize)]
struct Position {
    file: String,
    offset: u64,
    /// Bytes of an input when the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl Unfinished {
    /// None if all was dealt with, or it was a run that cannot be gone on with anyway.
    pub(crate) fn of(progress: Option<&Progress>) -> Option<Self> {
        let progress = progress.filter(|progress| !progress.places.is_empty())?;
        let note: Option<Note> = serde_json::from_slice(&progress.note).ok();
        if note.as_ref().is_some_and(|note| note.has_ended) {
            return None;
        }
        let positions = |role| {
            let places = progress.places.iter().filter(|place| place.role == role);
            places.map(Position::of).collect()
        };
        Some(Self {
            command: note.map(|note| note.job.command().to_owned()),
            records: progress.records,
            inputs: positions(Role::Input),
            outputs: positions(Role::Output),
            obstacle: progress.places.iter().find_map(obstacle),
        })
    }

    pub(crate) fn rows(&self, table: &mut Table) {
        let run = self.command.as_ref().map_or_else(
            || "of another version of coua".to_owned(),
            |command| format!("coua {command}"),
        );
        let records = grouped(self.records);
        table.row("unfinished run", format!("{run}, {records} records dealt with"));
        for Position { file, offset, size: whole } in &self.inputs {
            let of = whole.map_or_else(String::new, |whole| format!(" of {}", size(whole)));
            table.row("its input", format!("{file}, {}{of}", size(*offset)));
        }
        for Position { file, offset, .. } in &self.outputs {
            table.row("its output", format!("{file}, {}", size(*offset)));
        }
        let remedy = match (&self.obstacle, &self.command) {
            (Some(obstacle), _) => format!("not possible: {obstacle}"),
            (None, None) => "by that version, with --resume".to_owned(),
            (None, Some(_)) => "the same command with --resume".to_owned(),
        };
        table.row("to go on with it", remedy);
    }
}

impl Position {
    fn of(place: &Place) -> Self {
        let size = (place.role == Role::Input).then_some(place.size);
        Self { file: place.path.display().to_string(), offset: place.offset, size }
    }
}

fn obstacle(place: &Place) -> Option<String> {
    let reason = match place.check().err()? {
        Moved::Io(error) => message::reason(&error),
        moved => moved.to_string(),
    };
    Some(format!("{}: {reason}", place.path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_other_versions_are_told_without_their_command() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let places = vec![Place::of(Role::Input, file.path(), 0).unwrap()];
        let progress = Progress { records: 7, note: b"what is to come".to_vec(), places };
        let run = Unfinished::of(Some(&progress)).unwrap();
        assert_eq!((&run.command, run.records, &run.obstacle), (&None, 7, &None));
        let mut table = Table::default();
        run.rows(&mut table);
        let text = table.text();
        assert!(text.contains("of another version of coua, 7 records dealt with"), "{text}");
        assert!(text.contains("by that version, with --resume"), "{text}");
    }

    #[test]
    fn without_files_there_is_nothing_to_go_on_with() {
        let progress = Progress { records: 7, ..Progress::default() };
        assert!(Unfinished::of(Some(&progress)).is_none() && Unfinished::of(None).is_none());
    }
}
