//! A run that the filter remembers: its comparison with the current job, and its report.

use super::job_spec::{JobSpec, StoredJob};
use crate::input::is_compressed;
use crate::runs::{Moved, Place, Role, Run, Runs};
use crate::terminal::{Failure, Report, Result, counted, grouped, printable, size};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a job, by its absolute name. A run's places have the same order: first the inputs, then the outputs.
pub(super) type JobFile = (Role, PathBuf);

#[derive(Debug)]
pub(super) struct Remembered<'a> {
    pub(super) number: u64,
    pub(super) run: &'a Run,
    pub(super) job: StoredJob,
}

impl<'a> Remembered<'a> {
    /// All remembered runs, the newest first.
    pub(super) fn all(runs: &'a Runs) -> impl Iterator<Item = Self> {
        runs.iter().rev().map(|(number, run)| Self { number, run, job: StoredJob::of(&run.job) })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.run.has_ended
    }

    /// Whether the run has done some of its work, but not all.
    pub(super) fn is_interrupted(&self) -> bool {
        !self.has_ended() && self.run.records > 0
    }

    pub(super) fn places(&self, role: Role) -> impl Iterator<Item = &'a Place> {
        self.run.places.iter().filter(move |place| place.role == role)
    }

    pub(super) fn has_job(&self, spec: &JobSpec) -> bool {
        matches!(&self.job, StoredJob::Known(known) if known == spec)
    }

    /// Whether these are the run's files, in its order.
    pub(super) fn has_files(&self, files: &[JobFile]) -> bool {
        let known = self.run.places.iter().map(|place| (place.role, &place.path));
        !files.is_empty() && known.eq(files.iter().map(|(role, path)| (*role, path)))
    }

    /// Whether the given files are the run's, some of them under new names.
    pub(super) fn was_renamed_to(&self, files: &[JobFile]) -> bool {
        self.run.records > 0
            && self.run.places.len() == files.len()
            && self.run.places.iter().zip(files).all(|(place, (role, path))| {
                let is_there =
                    place.path == *path || is_gone(place) && place.check_at(path).is_ok();
                // Bytes that others have appended to an output of an ended run must not be truncated.
                let is_whole =
                    *role == Role::Input || !self.has_ended() || bytes_after(path, place) == 0;
                place.role == *role && is_there && is_whole
            })
    }

    /// The first of the run's files that no longer begins with what was processed. Reads compressed files completely.
    pub(super) fn moved_place(&self) -> Option<(&PathBuf, Moved)> {
        let check = |place: &Place| {
            place.check_whole()?;
            // The text was too short to be recognized as the beginning of compressed data.
            let was_text = place.role == Role::Input && place.offset > 0 && place.whole == 0;
            if was_text && is_compressed(&place.path)? {
                return Err(Moved::Start);
            }
            Ok(())
        };
        let mut places = self.run.places.iter();
        places.find_map(|place| Some((&place.path, check(place).err()?)))
    }

    /// Returns an error if an output is longer than an ended run left it.
    pub(super) fn check_outputs(&self) -> Result<()> {
        // An interrupted run may have written more, which is written again. An ended run has not.
        let added = |place: &&Place| self.has_ended() && bytes_after(&place.path, place) > 0;
        self.places(Role::Output).find(added).map_or(Ok(()), |place| {
            let reason = format!(
                "--resume: has {} more than the finished run wrote, which would be lost; choose another output",
                counted(bytes_after(&place.path, place), "byte")
            );
            Err(Failure::at(place.path.display(), reason))
        })
    }

    /// Whether an input has more than was processed.
    pub(super) fn has_more_input(&self) -> bool {
        self.places(Role::Input).any(|place| bytes_after(&place.path, place) > 0)
    }

    /// The first of these files that is an output of the run, by name or by content. With many files, each is compared
    /// only with the one at the same index: comparing all pairs would open a million files for a thousand.
    pub(super) fn written_of<'p>(&self, paths: &'p [PathBuf]) -> Option<&'p PathBuf> {
        let outputs = || self.places(Role::Output).enumerate().filter(|(_, it)| it.offset > 0);
        let names: HashSet<_> = outputs().map(|(_, place)| place.path.as_path()).collect();
        let by_name = paths.iter().find(|path| names.contains(path.as_path()) && has_content(path));
        let holds = |(nth, path): &(usize, &PathBuf)| {
            let is_near = |other| paths.len() <= MOST_FILES || other == *nth;
            let mut others = outputs().filter(|(other, _)| is_near(*other));
            has_content(path) && others.any(|(_, place)| place.check_at(path).is_ok())
        };
        by_name.or_else(|| paths.iter().enumerate().find(holds).map(|(_, path)| path))
    }

    /// The error if the run was recorded by a later version, which this one cannot resume.
    pub(super) fn of_a_later_version(&self) -> Option<Failure> {
        if let StoredJob::Known(_) = self.job {
            return None;
        }
        let reason = format!(
            "a later version of coua began the {} with these files; resume it with that version, or start over \
             with --overwrite",
            self.name()
        );
        Some(Failure::at("--resume", reason))
    }

    /// The run's name in messages.
    pub(super) fn name(&self) -> String {
        let command = self.job.command();
        let run = command.map_or_else(|| "run".to_owned(), |name| format!("`coua {name}`"));
        let mut inputs = self.places(Role::Input);
        match (inputs.next(), inputs.count()) {
            (None, _) => run,
            (Some(input), more) => {
                let input = input.path.display().to_string();
                let others = format!(" and {} more", grouped(more as u64));
                let others = if more == 0 { "" } else { &others };
                format!("{run} of {}{others}", printable(&input))
            }
        }
    }
}

/// Whether the name now leads to another file, or to none.
fn is_gone(place: &Place) -> bool {
    match place.check() {
        Err(Moved::Io(error)) => is_missing(&error),
        checked => checked.is_err(),
    }
}

/// Whether no file has the name.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// The number of bytes in the file after the position.
pub(super) fn bytes_after(path: &Path, place: &Place) -> u64 {
    let length = path.metadata().map_or(0, |metadata| metadata.len());
    length.saturating_sub(place.offset)
}

/// The most files of a run that a table lists, or that are compared with all others.
const MOST_FILES: usize = 10;

/// Adds the runs: unfinished ones first, and the newest first. The field names are part of the interface.
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

/// The JSON of a run.
fn object(run: &Remembered<'_>) -> Value {
    let positions = |role| run.places(role).map(position).collect::<Vec<_>>();
    json!({
        // `null` if the run was recorded by a later version.
        "command": run.job.command(),
        "has_ended": run.has_ended(),
        "records": run.run.records,
        "inputs": positions(Role::Input),
        "outputs": positions(Role::Output),
        // The reason why it cannot be resumed.
        "obstacle": obstacle(run),
    })
}

/// The position of a run in a file.
fn position(place: &Place) -> Value {
    let mut position = json!({"file": place.path.display().to_string(), "offset": place.offset});
    if let Some(size) = size_now(place) {
        position["size"] = size.into();
    }
    position
}

/// The current size of an input.
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
    for place in run.places(Role::Output).take(MOST_FILES) {
        let file = place.path.display();
        report.row("its output", format!("{file}, {}", size(place.offset)));
    }
    let more = run.places(Role::Output).skip(MOST_FILES).count();
    if more > 0 {
        report.row("", format!("and {} more", grouped(more as u64)));
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
