//! The runs that a filter remembers in its notes: the program's progress with each job.
//!
//! A run has a note that does not change, one for its state, and one for each file that was processed at least in part.
//! So a checkpoint of a run with many inputs writes only the positions that have moved. The notes are JSON.
//!
//! | note | its content |
//! |---|---|
//! | `coua/run/N` | the job; the paths of inputs, and of outputs, a character for each byte |
//! | `coua/run/N/state` | whether it has ended, whether others have printed, records done, the counters of the command |
//! | `coua/run/N/file/M` | the position in file M, as [`Place`] has it; without it nothing was done |

use crate::platform;
use crate::terminal::{Failure, Result, grouped, message, printable};
use coua::KeyHasher;
use coua_store::{Notes, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const PREFIX: &str = "coua/run/";

/// A command and the options that affect its result and differ from their defaults: what makes a run recognized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobSpec {
    pub(crate) command: String,
    /// The options that differ from their defaults.
    options: Map<String, Value>,
}

impl JobSpec {
    /// The job of a command with all options at their defaults.
    pub(crate) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), options: Map::new() }
    }

    /// Adds an option that affects the result, if it is given.
    pub(crate) fn with(self, option: &str, value: impl Serialize) -> Self {
        self.with_all(Map::from_iter([(option.to_owned(), json!(value))]))
    }

    /// Adds several options by name, if they are given.
    pub(crate) fn with_all(mut self, options: impl Serialize) -> Self {
        let options = json!(options);
        let all = options.as_object().into_iter().flatten();
        let given =
            all.filter(|(_, value)| ![json!(null), json!(false), json!([])].contains(value));
        self.options.extend(given.map(|(option, value)| (option.clone(), value.clone())));
        self
    }

    /// Whether an option is given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// Whether the command prints records that the filter then remembers.
    pub(crate) fn is_dedup(&self) -> bool {
        self.command == "dedup"
    }

    /// Whether processing a record again counts it twice.
    pub(crate) fn counts(&self) -> bool {
        !self.is_dedup() && !self.has("unique")
    }
}

/// The program's progress with one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// The command and its options; do not change.
    pub(crate) job: JobSpec,
    /// The run has ended, or reads inputs that cannot be read again, so it is never resumed.
    pub(crate) has_ended: bool,
    /// Since its last checkpoint, another run has printed records to where the filter does not know: perhaps to the outputs
    /// of this one.
    pub(crate) others_print: bool,
    /// Records done.
    pub(crate) records: u64,
    /// The counters of the command.
    pub(crate) counts: Value,
    /// Positions in inputs. There are none if the run reads its inputs only once, so that it cannot be resumed.
    pub(crate) inputs: Vec<Place>,
    /// Positions in outputs.
    pub(crate) outputs: Vec<Place>,
}

/// Whether these are positions in the same files, in the same order.
pub(crate) fn have_same_paths(one: &[Place], other: &[Place]) -> bool {
    one.iter().map(|place| &place.path).eq(other.iter().map(|place| &place.path))
}

impl Run {
    /// Whether the run reads its inputs only once, so that it cannot be resumed.
    pub(crate) fn is_stream(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        let run = format!("`coua {}`", self.job.command);
        let Some((first, others)) = self.inputs.split_first() else { return run };
        let (first, more) = (first.path.display().to_string(), others.len() as u64);
        let others = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        format!("{run} of {}{others}", printable(&first))
    }

    /// Whether the run has these files, in this order.
    pub(crate) fn has_files_of(&self, other: &Self) -> bool {
        have_same_paths(&self.inputs, &other.inputs)
            && have_same_paths(&self.outputs, &other.outputs)
    }

    /// The note that does not change.
    pub(crate) fn fixed_note(&self) -> Vec<u8> {
        let path = |place: &Place| -> String {
            place.path.as_os_str().as_encoded_bytes().iter().copied().map(char::from).collect()
        };
        let paths = |places: &[Place]| places.iter().map(path).collect::<Vec<_>>();
        to_note(&(&self.job, paths(&self.inputs), paths(&self.outputs)))
    }

    /// Adds its notes by their names.
    fn encode(&self, number: u64, notes: &mut BTreeMap<String, Vec<u8>>) {
        let name = format!("{PREFIX}{number}");
        for (at, place) in self.inputs.iter().chain(&self.outputs).enumerate() {
            if *place != Place::start(&place.path) {
                notes.insert(format!("{name}/file/{at}"), to_note(place));
            }
        }
        let state = (self.has_ended, self.others_print, self.records, &self.counts);
        notes.insert(format!("{name}/state"), to_note(&state));
        notes.insert(name, self.fixed_note());
    }

    fn decode(note: &[u8]) -> Option<Self> {
        let (job, inputs, outputs): (_, Vec<String>, Vec<String>) =
            serde_json::from_slice(note).ok()?;
        let place = |path: &String| {
            let path: Result<Vec<_>, _> = path.chars().map(u8::try_from).collect();
            Some(Place::start(&platform::path_of(&path.ok()?)))
        };
        let places = |paths: Vec<String>| paths.iter().map(place).collect::<Option<_>>();
        let (inputs, outputs) = (places(inputs)?, places(outputs)?);
        Some(Self { job, inputs, outputs, ..Self::default() })
    }

    /// Reads the note of a part.
    fn decode_part(&mut self, part: &str, note: &[u8]) -> Option<()> {
        if let Some(at) = part.strip_prefix("file/") {
            let mut places = self.inputs.iter_mut().chain(&mut self.outputs);
            let place = places.nth(at.parse().ok()?)?;
            let path = mem::take(&mut place.path);
            *place = Place { path, ..serde_json::from_slice(note).ok()? };
            return Some(());
        }
        let state = serde_json::from_slice(note).ok().filter(|_| part == "state");
        (self.has_ended, self.others_print, self.records, self.counts) = state?;
        Some(())
    }
}

fn to_note(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// The runs of a filter, in the order in which they began. Each has a number that no other run of the
/// filter has at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) by_number: BTreeMap<u64, Run>,
}

impl Runs {
    /// Reads them from the notes of a filter. Returns an error if [`write`](Self::write) did not write them.
    pub(crate) fn of(notes: &Notes, filter: impl Display) -> Result<Self> {
        let reason =
            "its remembered runs are unreadable: another program or version of coua wrote them";
        Self::decode(notes).ok_or_else(|| Failure::at(filter, reason))
    }

    fn decode(notes: &Notes) -> Option<Self> {
        let mut runs = BTreeMap::new();
        // Sorted by name, a run comes before its parts.
        let of_runs = |(name, note)| Some((str::strip_prefix(name, PREFIX)?, note));
        for (name, note) in notes.iter().filter_map(of_runs) {
            let (number, part) =
                name.split_once('/').map_or((name, None), |(n, part)| (n, Some(part)));
            let number: u64 = number.parse().ok()?;
            match part {
                None => drop(runs.insert(number, Run::decode(note)?)),
                Some(part) => runs.get_mut(&number)?.decode_part(part, note)?,
            }
        }
        Some(Self { by_number: runs })
    }

    /// Writes them to the notes of a filter.
    pub(crate) fn write(&self, store: &mut Store) -> Result<()> {
        let mut notes = BTreeMap::new();
        for (number, run) in &self.by_number {
            run.encode(*number, &mut notes);
        }
        let names = store.notes().iter().map(|(name, _)| name);
        let is_old = |name: &&str| name.starts_with(PREFIX) && !notes.contains_key(*name);
        let old: Vec<String> = names.filter(is_old).map(str::to_owned).collect();
        for name in old {
            store.remove_note(&name);
        }
        for (name, note) in notes {
            store.set_note(&name, &note)?;
        }
        Ok(())
    }

    /// The runs, the newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Run> {
        self.by_number.values().rev()
    }

    /// Adds a run as the newest, or with this number. Returns its number.
    pub(crate) fn add(&mut self, number: Option<u64>, run: Run) -> u64 {
        let next = || self.by_number.last_key_value().map_or(1, |(last, _)| last + 1);
        let number = number.unwrap_or_else(next);
        self.by_number.insert(number, run);
        number
    }
}

// Positions in files, with checksums of what comes before.

/// Bytes of a file's first block, and of the block before a position.
const BLOCK: u64 = 4096;

/// A position in a file. The file is recognized by its content: device and inode change when it is
/// copied, restored or rewritten by an editor, and a remount may change them for all files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The absolute path.
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// Bytes done.
    pub(crate) offset: u64,
    /// Records done.
    pub(crate) records: u64,
    /// Whatever else the program notes about the file.
    pub(crate) note: u64,
    /// The checksum of the bytes before the offset.
    pub(crate) sum: Checksum,
}

/// A checksum (XXH3-64) of the bytes before a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Checksum {
    /// The checksum of the first and the last 4096 bytes, which overlap if there are fewer.
    Ends(u64),
    /// The checksum of all bytes of a compressed input. A decoder returns wrong bytes before it detects that its input is
    /// damaged, so they may have been processed.
    Whole(u64),
}

impl Default for Checksum {
    /// The checksum of no bytes.
    fn default() -> Self {
        Self::of_ends(b"", b"")
    }
}

impl Checksum {
    fn of_ends(first: &[u8], last: &[u8]) -> Self {
        Self::Ends(KeyHasher::default().hash([first, last].concat()).to_u64())
    }
}

/// The first and the last bytes of what was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Ends {
    /// Adds bytes that were read.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let few = bytes.len().min(BLOCK as usize - self.first.len());
        self.first.extend_from_slice(&bytes[..few]);
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(BLOCK as usize)..]);
        self.last.drain(..self.last.len().saturating_sub(BLOCK as usize));
    }

    pub(crate) fn checksum(&self) -> Checksum {
        Checksum::of_ends(&self.first, &self.last)
    }
}

/// The reason why a run cannot continue with a file whose bytes before the position differ.
pub(crate) const CHANGED: &str = "no longer begins with what was processed";

impl Place {
    /// The beginning of an unread file.
    pub(crate) fn start(path: &Path) -> Self {
        let (path, sum) = (path.to_owned(), Checksum::default());
        Self { path, offset: 0, records: 0, note: 0, sum }
    }

    /// Moves to another position, and computes the checksum there.
    pub(crate) fn move_to(&mut self, offset: u64) -> io::Result<()> {
        self.sum = ends(&File::open(&self.path)?, offset)?;
        self.offset = offset;
        Ok(())
    }

    /// The number of bytes in the file after the position.
    pub(crate) fn bytes_after(&self) -> u64 {
        let length = self.path.metadata().map_or(0, |metadata| metadata.len());
        length.saturating_sub(self.offset)
    }

    /// Returns the reason if the file does not begin with what was processed, whatever its device and inode. Reads all
    /// of that if it is compressed.
    pub(crate) fn check(&self) -> Result<(), String> {
        let failed = |error: io::Error| message::reason(&error);
        let file = File::open(&self.path).map_err(failed)?;
        let (found, expected) = (file.metadata().map_err(failed)?.len(), self.offset);
        if found < expected {
            return Err(format!(
                "is {found} bytes long, but {expected} bytes were already processed"
            ));
        }
        let found = match self.sum {
            Checksum::Ends(_) => ends(&file, expected),
            Checksum::Whole(_) => whole(&file, expected),
        };
        let is_same = found.map_err(failed)? == self.sum;
        if is_same { Ok(()) } else { Err(CHANGED.to_owned()) }
    }
}

/// The bytes from `begin` to `end`, at most a block.
fn block(mut file: &File, begin: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take((end - begin).min(BLOCK)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The checksum of the ends of the first bytes of a file.
fn ends(file: &File, bytes: u64) -> io::Result<Checksum> {
    let (first, last) = (block(file, 0, bytes)?, block(file, bytes.saturating_sub(BLOCK), bytes)?);
    Ok(Checksum::of_ends(&first, &last))
}

/// The checksum of the first bytes of a file.
fn whole(mut file: &File, bytes: u64) -> io::Result<Checksum> {
    file.rewind()?;
    let mut digest = Xxh3::new();
    io::copy(&mut file.take(bytes), &mut digest)?;
    Ok(Checksum::Whole(digest.digest()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::CuckooFilter;
    use coua_store::Options;
    use std::fs;
    use std::path::Path;

    fn run(records: u64) -> Run {
        let mut place = Place::start(Path::new("out"));
        (place.offset, place.records, place.note) = (records, 2, 3);
        let counts = Value::from("counts");
        let (inputs, outputs) = (vec![Place::start(Path::new("in \u{e4}\u{20ac}"))], vec![place]);
        let (job, has_ended, others_print) = (JobSpec::new("job"), records > 5, records == 4);
        Run { job, has_ended, others_print, records, counts, inputs, outputs }
    }

    fn sample() -> Runs {
        let mut runs = Runs::default();
        for records in 1..13 {
            runs.add(None, run(records));
        }
        runs
    }

    fn store(folder: &tempfile::TempDir) -> Store {
        Options::new().create(folder.path().join("seen.coua"), CuckooFilter::new).unwrap()
    }

    #[test]
    fn notes_give_the_same_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, old) = (store(&folder), sample());
        store.set_note("somebody's", b"note").unwrap();
        let mut new = old.clone();
        new.by_number.remove(&3);
        new.by_number.remove(&12);
        new.by_number.get_mut(&2).unwrap().outputs[0].offset = 77;
        new.by_number.get_mut(&4).unwrap().outputs.pop();
        new.by_number.get_mut(&5).unwrap().job.command.push('s');
        new.by_number.get_mut(&6).unwrap().outputs[0] = Place::start(Path::new("out"));
        new.add(None, run(99));
        for runs in [&old, &new, &old, &Runs::default()] {
            runs.write(&mut store).unwrap();
            assert_eq!(Runs::decode(store.notes()).as_ref(), Some(runs));
        }
        assert_eq!(store.notes().iter().count(), 1, "others' notes stay");
    }

    /// A checkpoint of a run with many inputs costs what has moved.
    #[test]
    fn a_checkpoint_names_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, mut many) = (store(&folder), Runs::default());
        let inputs = (0..20_000).map(|n| Place::start(Path::new(&n.to_string())));
        let number = many.add(None, Run { inputs: inputs.collect(), ..Run::default() });
        many.write(&mut store).unwrap();
        store.commit().unwrap();
        let bytes = || store_bytes(&folder);
        let before = bytes();
        many.by_number.get_mut(&number).unwrap().inputs[9].offset = 1;
        many.write(&mut store).unwrap();
        store.commit().unwrap();
        assert!(bytes() - before < 300, "{}", bytes() - before);
    }

    fn store_bytes(folder: &tempfile::TempDir) -> u64 {
        folder.path().join("seen.coua").metadata().unwrap().len()
    }

    #[test]
    fn what_it_does_not_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = [
            ("coua/run/x", "[{}, [], []]"),
            ("coua/run/7", "[1, [], []]"),
            ("coua/run/7", r#"[{"command": "add", "options": {}}, ["\u20ac"], []]"#),
            ("coua/run/7/state", "[false, false, 1, null]"),
            ("coua/run/1/state", "[false, 2, 1, null]"),
            ("coua/run/1/state", "[false, false, 1]"),
            ("coua/run/1/file/2", r#"{"offset":1,"records":1,"note":0,"sum":{"Ends":1}}"#),
            ("coua/run/1/file/1", r#"{"offset":1,"records":1,"note":0,"sum":{"Other":1}}"#),
            ("coua/run/1/file/1", r#"{"offset":1,"records":1,"note":0}"#),
        ];
        for (name, note) in wrong {
            let mut store = store(&folder);
            sample().write(&mut store).unwrap();
            store.set_note(name, note.as_bytes()).unwrap();
            // Of a run that is not there.
            if name.contains("/7") {
                Runs::default().write(&mut store).unwrap();
                store.set_note(name, note.as_bytes()).unwrap();
            }
            assert_eq!(Runs::decode(store.notes()), None, "{name}");
        }
    }

    fn spec() -> JobSpec {
        let spec = JobSpec::new("add").with("trim", true).with("url", false);
        spec.with("csv", vec!["id"]).with("missing", Some("drop")).with("shard", None::<u8>)
    }

    #[test]
    fn only_options_that_are_given_are_stored() {
        let stored = r#"{"command":"add","options":{"csv":["id"],"missing":"drop","trim":true}}"#;
        assert_eq!(serde_json::to_string(&spec()).unwrap(), stored);
        assert_eq!(serde_json::from_str::<JobSpec>(stored).unwrap(), spec());
    }

    /// However it is cut into pieces.
    #[test]
    fn the_ends_of_what_was_read_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text: Vec<u8> = (0..20_000u32).map(|n| (n * n % 251) as u8).collect();
        for length in [0, 1, 4_095, 4_096, 4_097, 8_191, 8_192, 20_000] {
            fs::write(&path, &text).unwrap();
            let mut place = Place::start(&path);
            place.move_to(length as u64).unwrap();
            for piece in [1, 7, 4_095, 4_096, 5_000, 20_000] {
                let mut ends = Ends::default();
                text[..length].chunks(piece).for_each(|piece| ends.add(piece));
                assert_eq!(ends.checksum(), place.sum, "{length} {piece}");
            }
        }
    }

    #[test]
    fn files_are_known_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
        fs::write(&path, &text).unwrap();
        let mut place = Place::start(&path);
        place.check().unwrap();
        place.move_to(6_000).unwrap();
        let with = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            place.check()
        };
        // Grown, cut to the position, and replaced by an equal file.
        with(&[&text[..], b"more"].concat()).unwrap();
        with(&text[..6_000]).unwrap();
        let copy = folder.path().join("copy");
        fs::write(&copy, &text).unwrap();
        fs::rename(&copy, &path).unwrap();
        place.check().unwrap();
        // Truncated, and changed at either end.
        let shorter = "is 5999 bytes long, but 6000 bytes were already processed";
        assert_eq!(with(&text[..5_999]), Err(shorter.to_owned()));
        let changed = |at: usize| {
            let mut other = text.clone();
            other[at] ^= 1;
            with(&other)
        };
        assert_eq!(changed(0), Err(CHANGED.to_owned()));
        assert_eq!(changed(5_999), Err(CHANGED.to_owned()));
        changed(6_000).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(place.check(), Err("No such file or directory".to_owned()));
    }
}
