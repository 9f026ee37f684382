//! Compressed inputs are unpacked before their turn, by threads that find nothing to do that is nearer to the output.
//!
//! An input in work is a lane: parts in their order, and what is left of the input. What fails here is not told: the
//! input is read from there on in its turn, as if it had never been unpacked, and the error is met again.
//! (`docs/decisions/0021-unpacked-ahead.md`)

use crate::input::cut::{Cutter, Piece};
use crate::input::decompress::DecoderLimit;
use crate::input::lane::{Held, Lane, Lanes, Next, Outcome, Part, Rest, Room, Step};
use crate::input::opened::{Chunk, Opened, PIECE, ReadFrom, Then};
use crate::input::{Coding, Source};
use crate::terminal::CancelToken;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that may be unpacked before their turn for each thread, if there is memory.
const MOST_FOR_A_THREAD: usize = 256 << 20;

/// The part of the available memory that may be taken.
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

/// A step, for any thread.
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
            let outcome = self.ahead.outcome(step);
            self.ahead.record(self.number, outcome);
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

    /// Parts of a lane that is cut, at most.
    fn most_parts(&self) -> usize {
        4 * self.threads
    }

    /// Inputs in work, at most.
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

    /// From now on no thread waits here: the program is to stop.
    pub(crate) fn end(&self) {
        drop(self.lanes());
        self.changed.notify_all();
    }

    /// It is this input's turn. Whether [`next`](Self::next) has what it holds.
    pub(super) fn claim(&self, number: usize, source: &Source) -> bool {
        let is_regular = source.is_regular_file();
        let state = if is_regular { source.state().ok() } else { None };
        let mut lanes = self.lanes();
        // One that was changed, or replaced, since it was opened is read as it is now.
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

    /// What comes next of the input whose turn it is. What no thread has begun is done here.
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
                let outcome = self.outcome(step);
                self.record(number, outcome);
                lanes = self.lanes();
            } else {
                lanes = self.changed.wait(lanes).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn outcome(&self, step: Step) -> Outcome {
        match step {
            Step::Open(source, limit) => self.open(&source, limit),
            Step::Read(opened) => self.read(opened),
            Step::Cut(cutter, source) => self.cut(cutter, &source),
            Step::Unpack(number, piece) => Outcome::Unpacked(
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
        Part::Unpacked(Held::new(chunk, room))
    }

    fn open(&self, source: &Source, limit: DecoderLimit) -> Outcome {
        let failed = || Rest::Failed(ReadFrom::default());
        if !source.is_regular_file() {
            return Outcome::Opened(None, failed());
        }
        let state = source.state().ok();
        let rest = match self.opened(source, ReadFrom::default(), limit) {
            None => failed(),
            Some(opened) => match self.cutter(source, &opened) {
                Some(cutter) => Rest::Cutter(Box::new(cutter), source.clone()),
                None => Rest::Opened(Box::new(opened)),
            },
        };
        Outcome::Opened(state, rest)
    }

    fn opened(&self, source: &Source, from: ReadFrom, limit: DecoderLimit) -> Option<Opened> {
        Opened::new(source, from, self.coding, limit, &self.stop).ok()
    }

    fn cutter(&self, source: &Source, opened: &Opened) -> Option<Cutter> {
        let is_plain = opened.compression().is_none() || self.coding.encoding.is_some();
        if is_plain { None } else { Cutter::new(source).ok().flatten() }
    }

    fn read(&self, mut opened: Box<Opened>) -> Outcome {
        let (chunk, then) = opened.next_chunk();
        let rest = match then {
            Then::More => Rest::Opened(opened),
            Then::End => Rest::End,
            Then::Failure => Rest::Failed(opened.read_from()),
        };
        // At the end it tells how many raw bytes there were.
        Outcome::Read(vec![self.part(chunk)], rest)
    }

    fn cut(&self, mut cutter: Box<Cutter>, source: &Source) -> Outcome {
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
            Part::Raw(Held::new(piece, room))
        };
        Outcome::Read(pieces.into_iter().map(raw).collect(), rest)
    }

    fn record(&self, number: usize, outcome: Outcome) {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.lanes.iter_mut().find(|lane| lane.number == number) {
            lane.record(outcome);
        }
        self.changed.notify_all();
    }
}
