//! Compressed inputs are unpacked before their turn, by threads that have no task nearer to the output.
//!
//! An input being unpacked is a lane: parts in their order, and the rest of the input. Errors are dropped here: in
//! its turn the input is read again from there, and fails again. So a lack of memory does not look like damage.

use crate::input::cut::{Cutter, Piece};
use crate::input::decompress::DecoderLimit;
use crate::input::lane::{Lane, Lanes, Next, Part, Rest, Room, Step, StepResult, Weighed};
use crate::input::opened::{Chunk, Opened, PIECE, ReadFrom, Then};
use crate::input::{Coding, Source};
use crate::terminal::CancelToken;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes per thread that may be unpacked before their turn, if there is memory.
const MOST_FOR_A_THREAD: usize = 256 << 20;

/// The share of the available memory that may be used, as a divisor.
const PART_OF_MEMORY: u64 = 8;

/// Inputs that are unpacked before their turn.
pub(crate) struct Ahead {
    lanes: Mutex<Lanes>,
    /// A step has ended.
    changed: Condvar,
    coding: Coding,
    stop: Arc<CancelToken>,
    threads: usize,
    /// The most bytes in all lanes.
    most_bytes: usize,
    bytes: Arc<AtomicUsize>,
}

/// A step that any thread can take.
pub(crate) struct AheadTask {
    ahead: Arc<Ahead>,
    number: usize,
    /// None once it is done.
    step: Option<Step>,
    _reserved: Room,
}

impl AheadTask {
    pub(crate) fn run(&mut self) {
        if let Some(step) = self.step.take() {
            let result = self.ahead.result(step);
            self.ahead.record(self.number, result);
        }
    }
}

impl Ahead {
    pub(super) fn new(
        sources: &[Source],
        coding: Coding,
        threads: NonZeroUsize,
        stop: Arc<CancelToken>,
    ) -> Self {
        let lanes = Lanes {
            sources: sources.iter().cloned().enumerate().collect(),
            lanes: VecDeque::new(),
        };
        let threads = threads.get();
        let available = coua_store::available_memory().unwrap_or(u64::MAX) / PART_OF_MEMORY;
        let most_bytes =
            (threads * MOST_FOR_A_THREAD).min(available.try_into().unwrap_or(usize::MAX));
        let (changed, bytes) = (Condvar::new(), Arc::default());
        Self { lanes: Mutex::new(lanes), changed, coding, stop, threads, most_bytes, bytes }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most parts of a lane that is cut.
    fn most_parts(&self) -> usize {
        4 * self.threads
    }

    /// The most inputs that are unpacked at a time.
    fn most_lanes(&self) -> usize {
        2 * self.threads
    }

    fn may_begin(&self) -> bool {
        let has_room = self.bytes.load(Ordering::Relaxed) + PIECE <= self.most_bytes;
        has_room && !self.stop.is_cancelled()
    }

    /// Whether there is a step to be done.
    pub(crate) fn has_task(&self) -> bool {
        let lanes = self.lanes();
        let has_step = |lane: &Lane| lane.has_step(self.most_parts());
        let has_more = lanes.lanes.len() < self.most_lanes() && !lanes.sources.is_empty();
        self.may_begin() && (has_more || lanes.lanes.iter().any(has_step))
    }

    /// A step of the first input that may be unpacked further, if there is room.
    pub(crate) fn task(self: &Arc<Self>) -> Option<AheadTask> {
        if !self.may_begin() {
            return None;
        }
        let mut lanes = self.lanes();
        let mut all = lanes.lanes.iter_mut();
        let begun = all.find_map(|lane| Some((lane.number, lane.step(self.most_parts())?)));
        let (number, step) = begun.or_else(|| lanes.begin_next(self.most_lanes()))?;
        let reserved = Room::new(&self.bytes, PIECE);
        Some(AheadTask { ahead: self.clone(), number, step: Some(step), _reserved: reserved })
    }

    /// Ends all waits here, because the program stops.
    pub(crate) fn end(&self) {
        drop(self.lanes());
        self.changed.notify_all();
    }

    /// Begins the turn of this input. Returns whether [`next`](Self::next) has its content.
    pub(super) fn claim(&self, number: usize, source: &Source) -> bool {
        let is_regular = source.is_regular_file();
        let state = if is_regular { source.state().ok() } else { None };
        let mut lanes = self.lanes();
        // A file that was changed or replaced since it was opened is read again.
        let is_as_opened = |lane: &Lane| lane.state.is_none() || lane.state == state;
        lanes
            .lanes
            .retain(|lane| lane.number > number || lane.number == number && is_as_opened(lane));
        while lanes.sources.front().is_some_and(|(it, _)| *it <= number) {
            lanes.sources.pop_front();
        }
        let has_lane = lanes.lanes.front().is_some_and(|lane| lane.number == number);
        if !has_lane && is_regular {
            lanes
                .lanes
                .push_front(Lane::new(number, Rest::Unopened(source.clone(), DecoderLimit::NONE)));
        }
        has_lane || is_regular
    }

    /// The next part of the input whose turn it is. Does here what no thread has begun.
    pub(super) fn next(&self, number: usize) -> Next {
        let mut lanes = self.lanes();
        loop {
            if self.stop.is_cancelled() {
                return Next::Stopped;
            }
            let Some(lane) = lanes.lanes.front_mut().filter(|lane| lane.number == number) else {
                return Next::End;
            };
            if let Some(next) = lane.next() {
                if !matches!(next, Next::Chunk(..)) {
                    lanes.lanes.pop_front();
                }
                return next;
            }
            if let Some(step) = lane.step(usize::MAX) {
                drop(lanes);
                let result = self.result(step);
                self.record(number, result);
                lanes = self.lanes();
            } else {
                lanes = self.changed.wait(lanes).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn result(&self, step: Step) -> StepResult {
        match step {
            Step::Open(source, limit) => self.open(&source, limit),
            Step::Read(opened) => self.read(opened),
            Step::Cut(cutter, source) => self.cut(cutter, &source),
            Step::Unpack(number, piece) => StepResult::Unpacked(
                number,
                match piece.it.unpack() {
                    Ok(chunk) => self.part(chunk),
                    Err(place) => Part::Failed(ReadFrom { place, skipped: 0 }),
                },
            ),
        }
    }

    fn part(&self, chunk: Chunk) -> Part {
        let room = Room::new(&self.bytes, chunk.bytes.capacity());
        Part::Unpacked(Weighed::new(chunk, room))
    }

    fn open(&self, source: &Source, limit: DecoderLimit) -> StepResult {
        let failed = || Rest::Failed(ReadFrom::default());
        if !source.is_regular_file() {
            return StepResult::Opened(None, failed());
        }
        let state = source.state().ok();
        let rest = match self.opened(source, ReadFrom::default(), limit) {
            None => failed(),
            Some(opened) => match self.cutter(source, &opened) {
                Some(cutter) => Rest::Cutter(Box::new(cutter), source.clone()),
                None => Rest::Opened(Box::new(opened)),
            },
        };
        StepResult::Opened(state, rest)
    }

    fn opened(&self, source: &Source, from: ReadFrom, limit: DecoderLimit) -> Option<Opened> {
        Opened::new(source, from, self.coding, limit, &self.stop).ok()
    }

    fn cutter(&self, source: &Source, opened: &Opened) -> Option<Cutter> {
        if opened.compression().is_none() {
            None
        } else {
            Cutter::new(source, self.threads).ok().flatten()
        }
    }

    fn read(&self, mut opened: Box<Opened>) -> StepResult {
        let (chunk, then) = opened.next_chunk();
        let rest = match then {
            Then::More => Rest::Opened(opened),
            Then::End => Rest::End,
            Then::Failure => Rest::Failed(opened.read_from()),
        };
        // At the end, the chunk holds the number of raw bytes.
        StepResult::Read(vec![self.part(chunk)], rest)
    }

    fn cut(&self, mut cutter: Box<Cutter>, source: &Source) -> StepResult {
        let pieces = cutter.next_pieces().unwrap_or_default();
        let rest = if pieces.is_empty() {
            let from = ReadFrom { place: cutter.place(), skipped: 0 };
            match self.opened(source, from.clone(), DecoderLimit::MODEST) {
                Some(opened) => Rest::Opened(Box::new(opened)),
                None => Rest::Failed(from),
            }
        } else {
            Rest::Cutter(cutter, source.clone())
        };
        let raw = |piece: Piece| {
            let room = Room::new(&self.bytes, piece.len());
            Part::Raw(Weighed::new(piece, room))
        };
        StepResult::Read(pieces.into_iter().map(raw).collect(), rest)
    }

    fn record(&self, number: usize, result: StepResult) {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.lanes.iter_mut().find(|lane| lane.number == number) {
            lane.record(result);
        }
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::path::PathBuf;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// All that an input holds.
    fn rest(ahead: &Ahead, number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            match ahead.next(number) {
                Next::Chunk(chunk) => bytes.extend_from_slice(&chunk.it.bytes),
                Next::Opened(mut opened) => {
                    opened.read_to_end(&mut bytes).unwrap();
                    return bytes;
                }
                Next::End => return bytes,
                Next::Unread(_) | Next::Stopped => panic!("it can be read"),
            }
        }
    }

    #[test]
    fn no_more_is_unpacked_than_there_is_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<Vec<u8>> = [1, 3_000_000, 10, 1_000_000].map(|size| vec![b'x'; size]).into();
        let sources: Vec<Source> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| {
                let path: PathBuf = folder.path().join(number.to_string());
                std::fs::write(&path, gzip(text)).unwrap();
                Source::File(path)
            })
            .collect();
        let coding = Coding::Recognized;
        let (two, stop) = (NonZeroUsize::new(2).unwrap(), Arc::new(CancelToken::new().unwrap()));
        let mut ahead = Ahead::new(&sources, coding, two, stop.clone());
        ahead.most_bytes = 3 * PIECE;
        let ahead = Arc::new(ahead);
        assert!(ahead.claim(0, &sources[0]));
        let bytes = || ahead.bytes.load(Ordering::Relaxed);
        for (number, text) in texts.iter().enumerate() {
            while ahead.has_task()
                && let Some(mut task) = ahead.task()
            {
                task.run();
                assert!(bytes() <= ahead.most_bytes + PIECE);
            }
            assert!(!ahead.has_task() && ahead.task().is_none());
            assert!(number > 0 || bytes() > 2 * PIECE, "{}", bytes());
            assert!(ahead.claim(number, &sources[number]));
            assert!(rest(&ahead, number) == *text, "{number}");
        }
        assert_eq!(bytes(), 0);
        stop.cancel();
        assert!(matches!(ahead.next(3), Next::Stopped) && ahead.task().is_none());
    }
}
