//! Changes of a filter, as the log stores them.

use std::path::Path;

use coua::KeyHash;
use coua::window::{Change, ChangeLog, Clock, Generations, Window};

use super::{Frame, Kind};
use super::{put_u32, put_u64, take_u32};
use crate::error::{Damage, Reason, StoreError};

// Kinds of runs (docs/format.md, section 9).
const INSERT: u32 = 1;
const REMOVE: u32 = 2;
/// A run with one number, the new time.
const CLOCK: u32 = 3;
/// A run with one number, the generation of the following runs.
const GENERATION: u32 = 4;

/// The most hashes in one run of changes.
const MOST_IN_RUN: usize = 1 << 16;

/// Changes that are not in the log yet.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    bytes: Vec<u8>,
    /// The kind of the last run, the position of its count, and the count.
    run: Option<(Change, usize, usize)>,
    /// The generation of the last runs.
    generation: Option<u64>,
}

impl Changes {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.run, self.generation) = (None, None);
    }

    pub(crate) fn push(&mut self, change: Change, hash: KeyHash) {
        let (count_at, count) = match self.run {
            Some((same, at, count)) if same == change && count < MOST_IN_RUN => (at, count + 1),
            _ => {
                put_u32(&mut self.bytes, if change == Change::Insert { INSERT } else { REMOVE });
                put_u32(&mut self.bytes, 0);
                (self.bytes.len() - 4, 1)
            }
        };
        self.bytes[count_at..count_at + 4].copy_from_slice(&(count as u32).to_le_bytes());
        put_u64(&mut self.bytes, hash.to_u64());
        self.run = Some((change, count_at, count));
    }

    fn push_number(&mut self, kind: u32, number: u64) {
        put_u32(&mut self.bytes, kind);
        put_u32(&mut self.bytes, 1);
        put_u64(&mut self.bytes, number);
        self.run = None;
    }
}

/// Encodes a filter's changes for the next commit.
pub(crate) struct ChangeEncoder<'a> {
    /// None if nothing is logged.
    pub(crate) changes: Option<&'a mut Changes>,
    /// Without a window, generations are not logged.
    pub(crate) window: Option<Window>,
}

impl ChangeLog for ChangeEncoder<'_> {
    fn clock_set(&mut self, clock: u64) {
        if let Some(changes) = &mut self.changes {
            changes.push_number(CLOCK, clock);
        }
    }

    fn changed(&mut self, change: Change, generation: u64, hash: KeyHash) {
        let Some(log) = &mut self.changes else { return };
        if self.window.is_some() && log.generation != Some(generation) {
            log.push_number(GENERATION, generation);
            log.generation = Some(generation);
        }
        log.push(change, hash);
    }
}

/// Replays the changes in a frame. Applied to the same filter, they give the same bytes.
pub(crate) fn replay(
    filter: &mut Generations,
    path: &Path,
    frame: &Frame,
) -> Result<(), StoreError> {
    if frame.kind != Kind::Changes {
        return Ok(());
    }
    let offset = frame.begin.at;
    let damaged = || {
        let what = Damage::Field { name: "change", found: offset };
        Reason::Damaged { offset, what }.at(path)
    };
    let (mut fields, mut hashes) = (&frame.payload[..], Vec::new());
    let has_window = filter.window().is_some();
    // Without a window there is only one generation.
    let mut generation = if has_window { None } else { Some(0) };
    while !fields.is_empty() {
        let (kind, numbers) = run_of(&mut fields).ok_or_else(damaged)?;
        hashes.clear();
        hashes.extend(numbers.map(KeyHash::from_u64));
        match (kind, &hashes[..], generation) {
            (INSERT | REMOVE, _, Some(generation)) => {
                let change = if kind == INSERT { Change::Insert } else { Change::Remove };
                let replayed = filter.replay(change, generation, &hashes);
                replayed.map_err(|source| Reason::Replay { offset, source }.at(path))?;
            }
            (CLOCK, [clock], _) if can_set_clock(filter, clock.to_u64()) => {
                filter.set_clock(clock.to_u64());
            }
            (GENERATION, [number], _) if has_window && filter.remembers(number.to_u64()) => {
                generation = Some(number.to_u64());
            }
            _ => return Err(damaged()),
        }
    }
    Ok(())
}

/// Whether a filter's clock may be set to this: it never goes back, and a time is the beginning of a generation.
fn can_set_clock(filter: &Generations, time: u64) -> bool {
    let is_place =
        |window: Window| window.clock() == Clock::Count || time.is_multiple_of(window.step());
    time >= filter.clock() && filter.window().is_some_and(is_place)
}

/// A change in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedChange {
    Inserted,
    Removed,
    /// The clock of a filter with a window was set.
    Time(u64),
    /// The next changes belong to this generation.
    Generation(u64),
}

/// Calls `each` with the changes of a frame, or returns `None` if no log writes such bytes.
pub(crate) fn decode_changes(mut log: &[u8], mut each: impl FnMut(LoggedChange)) -> Option<()> {
    while !log.is_empty() {
        let (kind, numbers) = run_of(&mut log)?;
        for number in numbers {
            each(match kind {
                INSERT => LoggedChange::Inserted,
                REMOVE => LoggedChange::Removed,
                CLOCK => LoggedChange::Time(number),
                GENERATION => LoggedChange::Generation(number),
                _ => return None,
            });
        }
    }
    Some(())
}

/// Takes a run from the beginning of a log: its kind and its numbers.
fn run_of<'a>(log: &mut &'a [u8]) -> Option<(u32, impl Iterator<Item = u64> + use<'a>)> {
    let kind = take_u32(log)?;
    let count = take_u32(log).filter(|&count| count as usize <= MOST_IN_RUN)?;
    let (numbers, _) = log.split_off(..size_of::<KeyHash>() * count as usize)?.as_chunks();
    Some((kind, numbers.iter().map(|&number| u64::from_le_bytes(number))))
}
