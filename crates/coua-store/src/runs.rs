//! The runs that a filter remembers: the progress of a program with each job.

use crate::log::{Fields, MOST_PAYLOAD, put_u32, put_u64};
use crate::place::Place;

// What an entry of a frame of runs does (docs/format.md, section 9).
const SET: u32 = 1;
const ADVANCE: u32 = 2;
const FORGET: u32 = 3;
/// What it does, and the number of the run.
const ENTRY_BYTES: u64 = 4 + 8;

/// The progress of a program with one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// What the program does, in its own words; does not change.
    pub job: Vec<u8>,
    /// It has ended.
    pub has_ended: bool,
    /// Records done.
    pub records: u64,
    /// What else the program needs to continue.
    pub state: Vec<u8>,
    /// Positions in inputs and outputs, in the program's own order.
    pub places: Vec<Place>,
}

impl Run {
    /// [`bytes`](Self::bytes) at most of a run that can be committed.
    pub const MOST_BYTES: u64 = MOST_PAYLOAD - ENTRY_BYTES;

    /// Bytes that it takes in the file.
    ///
    /// ```
    /// use coua_store::Run;
    /// assert_eq!(Run { job: b"job".to_vec(), ..Run::default() }.bytes(), 27);
    /// ```
    pub fn bytes(&self) -> u64 {
        let path_bytes = |place: &Place| place.path.as_os_str().len() as u64;
        let places = self.places.iter().map(|place| Place::BYTES + path_bytes(place));
        24 + (self.job.len() + self.state.len()) as u64 + places.sum::<u64>()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.job.len() as u32);
        out.extend_from_slice(&self.job);
        self.encode_state(out);
        put_u32(out, self.places.len() as u32);
        for place in &self.places {
            place.encode(out);
        }
    }

    fn encode_state(&self, out: &mut Vec<u8>) {
        put_u32(out, u32::from(self.has_ended));
        put_u64(out, self.records);
        put_u32(out, self.state.len() as u32);
        out.extend_from_slice(&self.state);
    }

    fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let length = fields.u32()?;
        let mut run = Self { job: fields.bytes(length as usize)?.to_vec(), ..Self::default() };
        run.decode_state(fields)?;
        for _ in 0..fields.u32()? {
            run.places.push(Place::decode(fields)?);
        }
        Some(run)
    }

    fn decode_state(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        self.has_ended = match fields.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        self.records = fields.u64()?;
        let length = fields.u32()?;
        self.state = fields.bytes(length as usize)?.to_vec();
        Some(())
    }

    /// Whether only positions and state differ.
    fn has_places_of(&self, old: &Self) -> bool {
        let same = |(new, old): (&Place, &Place)| new.role == old.role && new.path == old.path;
        self.job == old.job
            && self.places.len() == old.places.len()
            && self.places.iter().zip(&old.places).all(same)
    }

    /// The changes since `old`, which has the same places.
    fn encode_advance(&self, old: &Self, out: &mut Vec<u8>) {
        self.encode_state(out);
        let moved =
            || (0u32..).zip(&self.places).filter(|(at, new)| old.places[*at as usize] != **new);
        put_u32(out, moved().count() as u32);
        for (at, place) in moved() {
            put_u32(out, at);
            place.encode_position(out);
        }
    }

    fn decode_advance(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        self.decode_state(fields)?;
        for _ in 0..fields.u32()? {
            let at = fields.u32()?;
            self.places.get_mut(at as usize)?.decode_position(fields)?;
        }
        Some(())
    }
}

/// The runs of a filter, in the order in which they began. Each has a number that no other run of the
/// filter has at the same time.
///
/// ```
/// use coua_store::{Run, Runs};
/// let mut runs = Runs::default();
/// let number = runs.add(Run { records: 7, ..Run::default() });
/// assert_eq!(runs.get(number).map(|run| run.records), Some(7));
/// assert!(runs.remove(number).is_some() && runs.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    runs: Vec<(u64, Run)>,
}

impl Runs {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Each run with its number, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Run)> {
        self.runs.iter().map(|(number, run)| (*number, run))
    }

    /// The run of this number.
    pub fn get(&self, number: u64) -> Option<&Run> {
        self.place(number).map(|at| &self.runs[at].1)
    }

    /// The run of this number, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Run> {
        self.place(number).map(|at| &mut self.runs[at].1)
    }

    /// Adds a run. Returns its number.
    pub fn add(&mut self, run: Run) -> u64 {
        let number = self.runs.last().map_or(1, |(last, _)| last + 1);
        self.runs.push((number, run));
        number
    }

    /// Forgets a run.
    pub fn remove(&mut self, number: u64) -> Option<Run> {
        self.place(number).map(|at| self.runs.remove(at).1)
    }

    /// Bytes that they take in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.bytes()).sum()
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.runs.binary_search_by_key(&number, |(number, _)| *number).ok()
    }

    /// The changes from `old` to these runs, as payloads of frames.
    pub(crate) fn changes_since(&self, old: &Self) -> Vec<Vec<u8>> {
        let mut payloads = vec![Vec::new()];
        let mut put = |kind, number, write: &dyn Fn(&mut Vec<u8>)| {
            let mut entry = Vec::new();
            put_u32(&mut entry, kind);
            put_u64(&mut entry, number);
            write(&mut entry);
            match payloads.last_mut() {
                Some(last) if (last.len() + entry.len()) as u64 <= MOST_PAYLOAD => {
                    last.append(&mut entry);
                }
                _ => payloads.push(entry),
            }
        };
        for (number, _) in old.iter().filter(|(number, _)| self.get(*number).is_none()) {
            put(FORGET, number, &|_| {});
        }
        for (number, run) in self.iter() {
            match old.get(number) {
                Some(before) if before == run => {}
                Some(before) if run.has_places_of(before) => {
                    put(ADVANCE, number, &|out| run.encode_advance(before, out));
                }
                _ => put(SET, number, &|out| run.encode(out)),
            }
        }
        payloads.retain(|payload| !payload.is_empty());
        payloads
    }

    /// Repeats the changes of one frame. None if the bytes are not what
    /// [`changes_since`](Self::changes_since) gives.
    pub(crate) fn repeat(&mut self, payload: &[u8]) -> Option<()> {
        let mut fields = Fields::new(payload);
        while !fields.is_at_end() {
            let (kind, number) = (fields.u32()?, fields.u64()?);
            match kind {
                SET => {
                    let run = Run::decode(&mut fields)?;
                    match self.runs.binary_search_by_key(&number, |(number, _)| *number) {
                        Ok(at) => self.runs[at].1 = run,
                        Err(at) => self.runs.insert(at, (number, run)),
                    }
                }
                ADVANCE => self.get_mut(number)?.decode_advance(&mut fields)?,
                FORGET => drop(self.remove(number)?),
                _ => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::place::Role;

    fn run(records: u64) -> Run {
        let mut place = Place::start(Role::Output, Path::new("out"));
        (place.offset, place.records, place.note) = (records, 2, 3);
        let state = b"state".to_vec();
        let places = vec![Place::start(Role::Input, Path::new("in")), place];
        Run { job: b"job".to_vec(), has_ended: records > 5, records, state, places }
    }

    fn sample() -> Runs {
        let mut runs = Runs::default();
        for records in 1..9 {
            runs.add(run(records));
        }
        runs
    }

    #[test]
    fn changes_give_the_same_runs_again() {
        let old = sample();
        let mut new = old.clone();
        new.remove(3);
        new.remove(8);
        new.get_mut(2).unwrap().places[1].offset = 77;
        new.get_mut(4).unwrap().places.pop();
        new.get_mut(5).unwrap().job.push(0);
        new.add(run(99));
        for (from, to) in [(&old, &new), (&new, &old), (&Runs::default(), &old), (&old, &old)] {
            let mut runs = from.clone();
            for payload in to.changes_since(from) {
                runs.repeat(&payload).unwrap();
            }
            assert_eq!(&runs, to);
        }
        assert!(old.changes_since(&old).is_empty());
    }

    /// A checkpoint of a run with many inputs costs what has moved.
    #[test]
    fn an_advance_names_no_file() {
        let mut many = Runs::default();
        let places = (0..20_000).map(|n| Place::start(Role::Input, Path::new(&n.to_string())));
        let number = many.add(Run { places: places.collect(), ..Run::default() });
        let mut later = many.clone();
        later.get_mut(number).unwrap().places[9].offset = 1;
        let changes = later.changes_since(&many).concat();
        assert!(changes.len() < 100, "{}", changes.len());
    }

    #[test]
    fn every_cut_of_the_bytes_is_refused() {
        let runs = sample();
        let bytes = runs.changes_since(&Runs::default()).concat();
        assert_eq!(run(9).bytes() + ENTRY_BYTES, {
            let mut one = Runs::default();
            one.add(run(9));
            one.changes_since(&Runs::default()).concat().len() as u64
        });
        for length in 1..bytes.len() {
            let mut read = Runs::default();
            let is_whole = read.repeat(&bytes[..length]).is_some();
            assert!(!is_whole || read.len() < runs.len());
        }
        assert!(Runs::default().repeat(&[0; 12]).is_none());
    }
}
