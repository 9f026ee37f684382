//! Generations as bytes: the parts of one snapshot, the template first. A filter without a window is written as its
//! plain snapshot. `docs/format.md`, section 7, is the normative text.

use std::fs::File;
use std::io::{self, Seek, Write};

use crate::filter::CuckooFilter;
use crate::snapshot::{
    LoadError, Loaded, OfSnapshot, SnapshotWriter, StoredWindow, bad_field, named, number_of,
    read_header,
};
use crate::window::generations::Live;
use crate::window::{AgeFrom, Clock, Generations, Window};

const AGES: [(u32, AgeFrom); 2] = [(0, AgeFrom::FirstSeen), (1, AgeFrom::LastSeen)];
const CLOCKS: [(u32, Clock); 3] = [(1, Clock::Arrival), (2, Clock::Given), (3, Clock::Count)];
/// The number of the template.
pub(crate) const TEMPLATE: u64 = u64::MAX;

impl Generations {
    /// Writes the snapshot; without a window, as [`CuckooFilter::write_to`] does. The bytes depend
    /// only on the history of operations. O(bytes).
    ///
    /// # Errors
    ///
    /// Errors of `out`; `InvalidInput` if a generation was replaced by a filter unlike the template.
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        self.writer()?.write_from(0, out)
    }

    /// A writer of parts of the snapshot.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a generation was replaced by a filter unlike the template.
    pub fn writer(&self) -> io::Result<SnapshotWriter<'_>> {
        if !self.filters().all(|filter| self.is_like_template(filter)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let template = self.state.iter().map(|state| (TEMPLATE, &state.template));
        let live = self.live.iter().map(|live| (live.number, &live.filter));
        let window = self.window().map(|window| StoredWindow {
            clock: number_of(window.clock(), &CLOCKS),
            generations: window.generations(),
            length: window.length(),
            time: self.clock(),
            age_from: number_of(window.age_from(), &AGES),
        });
        Ok(SnapshotWriter::new(window, template.chain(live)))
    }

    /// Bytes of the snapshot at the beginning of a regular file; a log may follow it (docs/format.md,
    /// section 9). Reads only the header.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the file does not begin with a snapshot. What follows the header is not read.
    pub fn snapshot_bytes(mut file: &File) -> Result<u64, LoadError> {
        file.rewind()?;
        read_header(&mut file).map(|(header, _)| header.length())
    }

    /// Whether a filter remembers the same bits as the template.
    fn is_like_template(&self, filter: &CuckooFilter) -> bool {
        let template = self.template();
        let resolves = |finer: &CuckooFilter, coarser: &CuckooFilter| {
            finer.as_segments().geometry().resolves(coarser.as_segments().geometry())
        };
        filter.hasher() == template.hasher()
            && filter.policy() == template.policy()
            && resolves(filter, template)
            && resolves(template, filter)
    }

    /// Adds the next generation.
    fn push(&mut self, number: u64, filter: CuckooFilter) -> Result<(), LoadError> {
        let follows = self.live.last().is_none_or(|last| last.number < number);
        if !(follows && self.remembers(number) && self.is_like_template(&filter)) {
            return bad_field("generation", number);
        }
        self.live.push(Live { number, filter });
        Ok(())
    }
}

/// The window of a snapshot.
pub(crate) fn window_of(stored: StoredWindow) -> Result<Window, LoadError> {
    let StoredWindow { clock, generations, length, time, age_from } = stored;
    let clock = named("clock", clock, &CLOCKS)?;
    let age_from = named("age from", age_from, &AGES)?;
    let window = Window::new(clock, length, generations).map(|it| it.counted_from(age_from));
    let Some(window) = window.ok().filter(|window| window.length() == length) else {
        return bad_field("window length", length);
    };
    if clock != Clock::Count && !time.is_multiple_of(window.step()) {
        return bad_field("time", time);
    }
    Ok(window)
}

impl OfSnapshot for Generations {
    fn check(window: Option<StoredWindow>) -> Result<(), LoadError> {
        window.map_or(Ok(()), |stored| window_of(stored).map(drop))
    }

    fn of(loaded: Loaded) -> Result<Self, LoadError> {
        let Some(stored) = loaded.window else {
            return CuckooFilter::of(loaded).map(From::from);
        };
        let mut filters = loaded.filters.into_iter();
        let first = filters.next();
        let (number, template) = first.ok_or(LoadError::Field { name: "parts", found: 0 })?;
        if number != TEMPLATE || !template.is_empty() {
            return bad_field("generation", number);
        }
        let mut made = Self::from_template(window_of(stored)?, template);
        made.set_clock(stored.time);
        filters.try_for_each(|(number, filter)| made.push(number, filter))?;
        Ok(made)
    }
}
