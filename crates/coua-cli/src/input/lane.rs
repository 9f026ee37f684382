//! An input that is unpacked before its turn: parts in their order, the rest of it, and the next steps.

use crate::input::cut::{Cutter, Piece};
use crate::input::decompress::DecoderLimit;
use crate::input::opened::{Chunk, Opened, ReadFrom};
use crate::input::{FileState, Source};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Lanes {
    /// Inputs without a lane, with their numbers.
    pub(super) sources: VecDeque<(usize, Source)>,
    /// In the order of the inputs.
    pub(super) lanes: VecDeque<Lane>,
}

/// An input that is being unpacked.
pub(super) struct Lane {
    pub(super) number: usize,
    /// The state of the file before it was opened.
    pub(super) state: Option<FileState>,
    parts: VecDeque<Part>,
    /// The number of the first part, counted from 0.
    first: u64,
    /// The number of first parts that are unpacked, or being unpacked by some thread.
    begun: usize,
    rest: Rest,
}

pub(super) enum Part {
    Raw(Weighed<Piece>),
    Busy,
    Unpacked(Weighed<Chunk>),
    Failed(ReadFrom),
}

/// The rest of an input, which is not in parts yet.
pub(super) enum Rest {
    Unopened(Source, DecoderLimit),
    /// A thread is making parts of it.
    Busy,
    Opened(Box<Opened>),
    Cutter(Box<Cutter>, Source),
    End,
    Failed(ReadFrom),
}

/// Memory that is counted until this is dropped.
#[derive(Default)]
pub(super) struct Room {
    /// The total of all.
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    pub(super) fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
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
pub(super) struct Weighed<T> {
    pub(super) it: T,
    _room: Room,
}

impl<T> Weighed<T> {
    pub(super) fn new(it: T, room: Room) -> Self {
        Self { it, _room: room }
    }
}

/// The next part of the input whose turn it is.
pub(super) enum Next {
    Chunk(Weighed<Chunk>),
    /// All that follows.
    Opened(Box<Opened>),
    /// The rest must be read from here.
    Unread(ReadFrom),
    End,
    /// The program must stop.
    Stopped,
}

/// A step of some input.
pub(super) enum Step {
    Open(Source, DecoderLimit),
    Read(Box<Opened>),
    Cut(Box<Cutter>, Source),
    /// Unpack the part with this number.
    Unpack(u64, Weighed<Piece>),
}

/// The result of a step.
pub(super) enum StepResult {
    Opened(Option<FileState>, Rest),
    Read(Vec<Part>, Rest),
    Unpacked(u64, Part),
}

impl Lanes {
    /// Begins the next input that has no lane.
    pub(super) fn begin_next(&mut self, most: usize) -> Option<(usize, Step)> {
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
    pub(super) fn new(number: usize, rest: Rest) -> Self {
        Self { number, state: None, parts: VecDeque::new(), first: 0, begun: 0, rest }
    }

    /// The next part, if it is ready.
    pub(super) fn next(&mut self) -> Option<Next> {
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

    /// Whether there is a step that no thread has begun.
    pub(super) fn has_step(&self, most_parts: usize) -> bool {
        self.begun < self.parts.len()
            || match &self.rest {
                Rest::Unopened(..) => true,
                Rest::Opened(opened) => opened.compression().is_some(),
                Rest::Cutter(..) => self.parts.len() < most_parts,
                Rest::Busy | Rest::End | Rest::Failed(_) => false,
            }
    }

    /// The next step, if there is one that no thread has begun.
    pub(super) fn step(&mut self, most_parts: usize) -> Option<Step> {
        if !self.has_step(most_parts) {
            return None;
        }
        if let Some(part) = self.parts.get_mut(self.begun) {
            let Part::Raw(piece) = mem::replace(part, Part::Busy) else { return None };
            self.begun += 1;
            return Some(Step::Unpack(self.first + self.begun as u64 - 1, piece));
        }
        match mem::replace(&mut self.rest, Rest::Busy) {
            Rest::Unopened(source, limit) => Some(Step::Open(source, limit)),
            Rest::Opened(opened) => Some(Step::Read(opened)),
            Rest::Cutter(cutter, source) => Some(Step::Cut(cutter, source)),
            Rest::Busy | Rest::End | Rest::Failed(_) => None,
        }
    }

    pub(super) fn record(&mut self, result: StepResult) {
        match result {
            StepResult::Opened(state, rest) => (self.state, self.rest) = (state, rest),
            StepResult::Read(parts, rest) => {
                let is_raw = |part: &Part| matches!(part, Part::Raw(..));
                self.begun += parts.iter().filter(|part| !is_raw(part)).count();
                self.parts.extend(parts);
                self.rest = rest;
            }
            StepResult::Unpacked(number, unpacked) => {
                let place = number.checked_sub(self.first).map(|place| place as usize);
                if let Some(part) = place.and_then(|place| self.parts.get_mut(place)) {
                    *part = unpacked;
                }
            }
        }
    }
}
