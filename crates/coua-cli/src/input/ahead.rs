//! Compressed inputs are unpacked before their turn, by threads that find nothing to do that is nearer to the output.
//!
//! An input in work is a lane: parts in their order, and what is left of the input. What fails here is not told: the
//! input is read from there on in its turn, as if it had never been unpacked, and the error is met again.
//! (`docs/decisions/0021-unpacked-ahead.md`)

use crate::input::cut::{Cutter, Piece};
use crate::input::decompress::DecoderLimit;
use crate::input::opened::{Chunk, Opened, PIECE, ReadFrom, Then};
use crate::input::{Coding, FileState, Source};
use crate::terminal::CancelToken;
use std::collections::VecDeque;
use std::mem;
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

struct Lanes {
    /// Inputs without a lane, with their numbers.
    sources: VecDeque<(usize, Source)>,
    /// In the order of the inputs.
    lanes: VecDeque<Lane>,
}

/// What is known of an input.
struct Lane {
    number: usize,
    /// How the file was before it was opened.
    state: Option<FileState>,
    parts: VecDeque<Part>,
    /// The number of the first of them, counted from 0.
    first: u64,
    /// Parts from the first on that are unpacked, or by some thread now.
    begun: usize,
    rest: Rest,
}

enum Part {
    Raw(Held<Piece>),
    Busy,
    Unpacked(Held<Chunk>),
    Failed(ReadFrom),
}

/// What of an input is no part yet.
enum Rest {
    Unopened(Source, DecoderLimit),
    /// A thread makes parts of it.
    Busy,
    Opened(Box<Opened>),
    Cutter(Box<Cutter>, Source),
    End,
    Failed(ReadFrom),
}

/// Memory that is counted as long as this lives.
#[derive(Default)]
struct Room {
    /// What all have together.
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        Self { all: all.clone(), bytes }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Something whose memory is counted.
#[derive(Default)]
pub(super) struct Held<T> {
    pub(super) it: T,
    _room: Room,
}

/// What comes next of the input whose turn it is.
pub(super) enum Next {
    Chunk(Held<Chunk>),
    /// All that follows.
    Opened(Box<Opened>),
    /// All that follows is to be read from here.
    Unread(ReadFrom),
    End,
    /// The program is to stop.
    Stopped,
}

/// A step of some input.
enum Step {
    Open(Source, DecoderLimit),
    Read(Box<Opened>),
    Cut(Box<Cutter>, Source),
    /// Of the part with this number.
    Unpack(u64, Held<Piece>),
}

/// What has come of it.
enum Outcome {
    Opened(Option<FileState>, Rest),
    Read(Vec<Part>, Rest),
    Unpacked(u64, Part),
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

    /// A step of the first input that may be unpacked further, if there is room.
    pub(crate) fn task(self: &Arc<Self>) -> Option<AheadTask> {
        let is_full = self.bytes.load(Ordering::Relaxed) + PIECE > self.most_bytes;
        if is_full || self.stop.is_cancelled() {
            return None;
        }
        let mut lanes = self.lanes();
        let mut all = lanes.lanes.iter_mut();
        let begun = all.find_map(|lane| Some((lane.number, lane.step(self.most_parts())?)));
        let (number, step) = begun.or_else(|| lanes.begin_next(2 * self.threads))?;
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
        Part::Unpacked(Held { it: chunk, _room: room })
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
            Part::Raw(Held { it: piece, _room: room })
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

impl Lanes {
    /// Begins the next input that has no lane.
    fn begin_next(&mut self, most: usize) -> Option<(usize, Step)> {
        while self.lanes.len() < most {
            let (number, source) = self.sources.pop_front()?;
            if let Source::File(_) = source {
                let mut lane = Lane::new(number, Rest::Unopened(source, DecoderLimit::MODEST));
                let step = lane.step(0);
                self.lanes.push_back(lane);
                return Some((number, step?));
            }
        }
        None
    }
}

impl Lane {
    fn new(number: usize, rest: Rest) -> Self {
        Self { number, state: None, parts: VecDeque::new(), first: 0, begun: 0, rest }
    }

    /// What is ready of what comes next.
    fn next(&mut self) -> Option<Next> {
        match self.parts.front_mut() {
            Some(Part::Unpacked(..)) => {
                let Some(Part::Unpacked(chunk)) = self.parts.pop_front() else { return None };
                (self.first, self.begun) = (self.first + 1, self.begun - 1);
                Some(Next::Chunk(chunk))
            }
            Some(Part::Failed(from)) => Some(Next::Unread(mem::take(from))),
            Some(Part::Raw(..) | Part::Busy) => None,
            None => match mem::replace(&mut self.rest, Rest::Busy) {
                Rest::Opened(opened) => Some(Next::Opened(opened)),
                Rest::End => Some(Next::End),
                Rest::Failed(from) => Some(Next::Unread(from)),
                other => {
                    self.rest = other;
                    None
                }
            },
        }
    }

    /// The next step, if there is one that no thread has begun.
    fn step(&mut self, most_parts: usize) -> Option<Step> {
        if let Some(part) = self.parts.get_mut(self.begun) {
            let Part::Raw(piece) = mem::replace(part, Part::Busy) else { return None };
            self.begun += 1;
            return Some(Step::Unpack(self.first + self.begun as u64 - 1, piece));
        }
        match mem::replace(&mut self.rest, Rest::Busy) {
            Rest::Unopened(source, limit) => Some(Step::Open(source, limit)),
            Rest::Opened(opened) if opened.compression().is_some() => Some(Step::Read(opened)),
            Rest::Cutter(cutter, source) if self.parts.len() < most_parts => {
                Some(Step::Cut(cutter, source))
            }
            other => {
                self.rest = other;
                None
            }
        }
    }

    fn record(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Opened(state, rest) => (self.state, self.rest) = (state, rest),
            Outcome::Read(parts, rest) => {
                let is_raw = |part: &Part| matches!(part, Part::Raw(..));
                self.begun += parts.iter().filter(|part| !is_raw(part)).count();
                self.parts.extend(parts);
                self.rest = rest;
            }
            Outcome::Unpacked(number, unpacked) => {
                let place = number.checked_sub(self.first).map(|place| place as usize);
                if let Some(part) = place.and_then(|place| self.parts.get_mut(place)) {
                    *part = unpacked;
                }
            }
        }
    }
}
