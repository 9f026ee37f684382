//! The runs that a filter remembers in its notes: the program's progress with each job.
//!
//! A run has a note that does not change, one for its state, and one for each file that was processed at least in part.
//! So a checkpoint of a run with many inputs writes only the positions that have moved. All numbers are little endian.
//!
//! | note | its bytes |
//! |---|---|
//! | `coua/run/N` | length of the job (4), the job as JSON; for each file its role (4; see [`Role`]), length of its path (4), the path |
//! | `coua/run/N/state` | ended (4; 0 or 1), records done (8), and the program's own state |
//! | `coua/run/N/file/M` | five numbers (8 each): the position in file M, as [`Place`] has it; without it nothing was done |

mod job_spec;
mod place;

pub(crate) use job_spec::JobSpec;
pub(crate) use place::{Checksum, Ends, Moved, Place, Role, path_of};

use crate::terminal::{Failure, Result, grouped, printable};
use coua_store::{Notes, Store};
use std::collections::BTreeMap;
use std::fmt::Display;

const PREFIX: &str = "coua/run/";

/// The names of notes that do not belong to the program.
pub(crate) fn others(notes: &Notes) -> impl Iterator<Item = &str> {
    notes.iter().map(|(name, _)| name).filter(|name| !name.starts_with("coua/"))
}

/// The program's progress with one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// The command and its options; do not change.
    pub(crate) job: JobSpec,
    /// It has ended, or reads inputs that cannot be read again: it is never resumed.
    pub(crate) has_ended: bool,
    /// Records done.
    pub(crate) records: u64,
    /// Further state that the program needs to continue.
    pub(crate) state: Vec<u8>,
    /// Positions in inputs, then in outputs.
    pub(crate) places: Vec<Place>,
}

impl Run {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.role == Role::Input)
    }

    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.role != Role::Input)
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        let run = format!("`coua {}`", self.job.command);
        let mut inputs = self.inputs();
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

    /// Whether the run has these files, in this order.
    pub(crate) fn has_files_of(&self, other: &Self) -> bool {
        self.places.iter().map(Place::file).eq(other.places.iter().map(Place::file))
    }

    /// Bytes of the note that does not change.
    pub(crate) fn bytes(&self) -> u64 {
        let paths = self.places.iter().map(|place| 8 + place.path.as_os_str().len() as u64);
        4 + self.job_bytes().len() as u64 + paths.sum::<u64>()
    }

    fn job_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.job).unwrap_or_default()
    }

    /// Adds its notes by their names.
    fn encode(&self, number: u64, notes: &mut BTreeMap<String, Vec<u8>>) {
        let name = format!("{PREFIX}{number}");
        let mut fixed = Vec::new();
        put_sized(&mut fixed, &self.job_bytes());
        for (at, place) in self.places.iter().enumerate() {
            fixed.extend_from_slice(&(place.role as u32).to_le_bytes());
            put_sized(&mut fixed, place.path.as_os_str().as_encoded_bytes());
            if *place != Place::start(place.role, &place.path) {
                notes.insert(format!("{name}/file/{at}"), place.position().to_vec());
            }
        }
        let mut state = u32::from(self.has_ended).to_le_bytes().to_vec();
        state.extend_from_slice(&self.records.to_le_bytes());
        state.extend_from_slice(&self.state);
        notes.insert(format!("{name}/state"), state);
        notes.insert(name, fixed);
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let job = serde_json::from_slice(take_sized(&mut bytes)?).ok()?;
        let mut run = Self { job, ..Self::default() };
        while !bytes.is_empty() {
            let number = take_u32(&mut bytes)?;
            let role = Role::ALL.into_iter().find(|role| *role as u32 == number)?;
            run.places.push(Place::start(role, &path_of(take_sized(&mut bytes)?)?));
        }
        Some(run)
    }

    /// Reads the note of a part.
    fn decode_part(&mut self, part: &str, mut bytes: &[u8]) -> Option<()> {
        if let Some(at) = part.strip_prefix("file/") {
            return self.places.get_mut(at.parse::<usize>().ok()?)?.set_position(bytes);
        }
        self.has_ended = match (part, take_u32(&mut bytes)?) {
            ("state", 0) => false,
            ("state", 1) => true,
            _ => return None,
        };
        let (records, state) = bytes.split_first_chunk()?;
        (self.records, self.state) = (u64::from_le_bytes(*records), state.to_vec());
        Some(())
    }

    /// Whether it has done some of its work, but not all.
    pub(crate) fn is_interrupted(&self) -> bool {
        !self.has_ended && self.records > 0
    }

    /// Whether it has begun to write its outputs, but committed nothing.
    pub(crate) fn has_only_begun(&self) -> bool {
        !self.has_ended && self.records == 0
    }
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_u32(bytes)?;
    let (taken, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(taken)
}

/// The runs of a filter, in the order in which they began. Each has a number that no other run of the
/// filter has at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    runs: BTreeMap<u64, Run>,
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
        Some(Self { runs })
    }

    /// Writes them to the notes of a filter.
    pub(crate) fn write(&self, store: &mut Store) -> Result<()> {
        let mut notes = BTreeMap::new();
        for (number, run) in self.iter() {
            run.encode(number, &mut notes);
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

    /// The number of runs.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Each run with its number, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Run)> {
        self.runs.iter().map(|(number, run)| (*number, run))
    }

    /// The runs, the newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Run> {
        self.runs.values().rev()
    }

    /// The run with this number.
    pub(crate) fn get(&self, number: u64) -> Option<&Run> {
        self.runs.get(&number)
    }

    /// The run with this number, mutable.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Run> {
        self.runs.get_mut(&number)
    }

    /// Adds a run. Returns its number.
    pub(crate) fn add(&mut self, run: Run) -> u64 {
        let number = self.runs.last_key_value().map_or(1, |(last, _)| last + 1);
        self.runs.insert(number, run);
        number
    }

    /// Forgets a run.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Run> {
        self.runs.remove(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::CuckooFilter;
    use std::path::Path;

    fn run(records: u64) -> Run {
        let mut place = Place::start(Role::Output, Path::new("out"));
        (place.offset, place.records, place.note) = (records, 2, 3);
        let state = b"state".to_vec();
        let places = vec![Place::start(Role::Input, Path::new("in")), place];
        Run { job: JobSpec::new("job"), has_ended: records > 5, records, state, places }
    }

    fn sample() -> Runs {
        let mut runs = Runs::default();
        for records in 1..13 {
            runs.add(run(records));
        }
        runs
    }

    fn store(folder: &tempfile::TempDir) -> Store {
        Store::create(folder.path().join("seen.coua"), CuckooFilter::new).unwrap()
    }

    #[test]
    fn notes_give_the_same_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, old) = (store(&folder), sample());
        store.set_note("somebody's", b"note").unwrap();
        let mut new = old.clone();
        new.remove(3);
        new.remove(12);
        new.get_mut(2).unwrap().places[1].offset = 77;
        new.get_mut(4).unwrap().places.pop();
        new.get_mut(5).unwrap().job.command.push('s');
        new.get_mut(6).unwrap().places[1] = Place::start(Role::Output, Path::new("out"));
        new.add(run(99));
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
        let places = (0..20_000).map(|n| Place::start(Role::Input, Path::new(&n.to_string())));
        let number = many.add(Run { places: places.collect(), ..Run::default() });
        many.write(&mut store).unwrap();
        store.commit().unwrap();
        let bytes = || store_bytes(&folder);
        let before = bytes();
        many.get_mut(number).unwrap().places[9].offset = 1;
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
        let wrong: [(&str, &[u8]); 7] = [
            ("coua/run/x", &[0; 4]),
            ("coua/run/7", &[1, 0, 0, 0]),
            ("coua/run/7/state", &[0; 12]),
            ("coua/run/1/state", &[2; 12]),
            ("coua/run/1/file/2", &[0; 40]),
            ("coua/run/1/file/1", &[0; 41]),
            ("coua/run/1/file/1", &[2; 40]),
        ];
        for (name, note) in wrong {
            let mut store = store(&folder);
            sample().write(&mut store).unwrap();
            store.set_note(name, note).unwrap();
            // Of a run that is not there.
            if name.contains("/7") {
                Runs::default().write(&mut store).unwrap();
                store.set_note(name, note).unwrap();
            }
            assert_eq!(Runs::decode(store.notes()), None, "{name}");
        }
    }
}
