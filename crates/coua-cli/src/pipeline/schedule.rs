//! Which thread does what next.

use super::ahead::{Coming, Wait};
use super::{Batch, Early, Flow, Pipeline};
use crate::input::reader::BlockReader;
use crate::key::answers::Group;
use crate::key::hashing::Hashing;
use crate::output::{Outputs, Settled};
use crate::terminal::message::Failure;
use crate::terminal::signals::Stop;
use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The work that is left, shared by all threads.
pub(super) struct Schedule<'o> {
    state: Mutex<State<'o>>,
    changed: Condvar,
    early: Arc<dyn Early>,
    stop: Arc<Stop>,
}

struct State<'o> {
    threads: usize,
    reader: Reader,
    /// One for each thread that hashes at the same time.
    hashing: Vec<Hashing>,
    /// The blocks that were not answered for, the oldest first.
    blocks: VecDeque<Progress>,
    /// The number of the oldest, counted from 0.
    first: u64,
    /// The next block of each part of the filter; none while it is asked.
    parts: Vec<Option<u64>>,
    /// Blocks that were answered for.
    answered: VecDeque<Batch>,
    /// None while a thread writes.
    outputs: Option<&'o mut Outputs>,
    /// Why nothing can be written any more.
    not_written: Option<Failure>,
    /// Written blocks, to be filled again.
    spare: Vec<Batch>,
    /// No thread is to begin anything.
    has_ended: bool,
}

/// Who reads.
enum Reader {
    Free(Box<BlockReader>),
    /// A thread.
    Busy,
    /// Nobody: all is read, or this went wrong.
    Ended(Option<Failure>),
}

/// How far a block is.
enum Progress {
    Read(Batch),
    /// A thread hashes it.
    Busy,
    /// So many parts of the filter have not answered.
    Hashed(Batch, usize),
    Ready(Batch),
}

/// A step of a block.
enum Task<'o> {
    Read(Box<BlockReader>, Batch),
    Hash(u64, Batch, Hashing),
    Part { part: usize, block: u64, group: Group, consumed: u64 },
    Write(&'o mut Outputs, Batch),
}

/// Which thread asks for something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// Blocks wait for this one when they are ready: it reads only if there is none.
    Answering,
    Other,
}

impl<'o> Schedule<'o> {
    pub(super) fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let Pipeline { reader, hashing, early, threads, stop } = pipeline;
        let state = State {
            threads: threads.get(),
            reader: Reader::Free(Box::new(reader)),
            hashing: vec![hashing; threads.get()],
            blocks: VecDeque::new(),
            first: 0,
            parts: vec![Some(0); early.parts()],
            answered: VecDeque::new(),
            outputs: Some(outputs),
            not_written: None,
            spare: Vec::new(),
            has_ended: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), early, stop }
    }

    fn state(&self) -> MutexGuard<'_, State<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<'o>>) -> MutexGuard<'s, State<'o>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does that does not answer, until the end.
    pub(super) fn work(&self) {
        let _alarm = Alarm(self);
        let mut state = self.state();
        while !state.has_ended {
            state = match state.task(Thread::Other) {
                Some(task) => self.done(state, task),
                None => self.wait(state),
            };
        }
    }

    /// The next block to be answered for. While it is not ready, this thread works on it, or on others.
    pub(super) fn next(&self, wait: Wait) -> Coming {
        let mut state = self.state();
        loop {
            if let Some(Progress::Ready(_)) = state.blocks.front()
                && let Some(Progress::Ready(batch)) = state.blocks.pop_front()
            {
                state.first += 1;
                self.changed.notify_all();
                return Coming::Next(Ok(batch));
            }
            if state.has_ended {
                return Coming::Nothing;
            }
            if let Some(end) = state.end_of_input() {
                return end;
            }
            if wait == Wait::Not {
                return Coming::NotYet;
            }
            state = match state.task(Thread::Answering) {
                Some(task) => self.done(state, task),
                None => self.wait(state),
            };
        }
    }

    /// Hands a block on to be written.
    pub(super) fn write(&self, batch: Batch) -> Flow {
        let mut state = self.state();
        if state.not_written.is_some() {
            return Flow::Enough;
        }
        state.answered.push_back(batch);
        self.changed.notify_all();
        Flow::Continue
    }

    /// Settles the outputs when all is written; none if that is not possible any more.
    pub(super) fn settle(&self) -> Option<Result<Settled, Failure>> {
        let mut state = self.all_written();
        if state.not_written.is_some() {
            return None;
        }
        state.outputs.as_mut().map(|outputs| outputs.settle())
    }

    /// Writes what is left, and hands all to the operating system.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        let mut state = self.all_written();
        match state.not_written.take() {
            Some(failure) => Err(failure),
            None => state.outputs.as_mut().map_or(Ok(()), |outputs| outputs.flush()),
        }
    }

    fn all_written(&self) -> MutexGuard<'_, State<'o>> {
        let mut state = self.state();
        while state.outputs.is_none() || !state.answered.is_empty() {
            if state.has_ended {
                break;
            }
            state = match state.write_task() {
                Some(task) => self.done(state, task),
                None => self.wait(state),
            };
        }
        state
    }

    /// Does a step, and notes what has come of it.
    fn done<'s>(
        &'s self,
        state: MutexGuard<'s, State<'o>>,
        task: Task<'o>,
    ) -> MutexGuard<'s, State<'o>> {
        drop(state);
        let done = task.run(&*self.early);
        let mut state = self.state();
        if state.note(done) == Flow::Enough {
            // Without an output there is no need to read on, nor to wait for input.
            self.stop.cancel();
        }
        self.changed.notify_all();
        state
    }

    /// Ends the work of all threads when it is dropped.
    pub(super) fn end_with<'s>(&'s self, stop: &'s Stop) -> End<'s, 'o> {
        End { schedule: self, stop }
    }

    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        // Whoever reads may wait for the memory of other blocks.
        state.blocks.clear();
        state.answered.clear();
        drop(state);
        self.changed.notify_all();
    }
}

/// What has come of a step.
enum Done<'o> {
    Read(Box<BlockReader>, Result<Option<Batch>, Failure>),
    Hashed(u64, Batch, Hashing),
    Part { part: usize, block: u64, group: Group },
    Written(&'o mut Outputs, Batch, Result<(), Failure>),
}

impl<'o> Task<'o> {
    fn run(self, early: &dyn Early) -> Done<'o> {
        match self {
            Self::Read(mut reader, mut batch) => {
                let read = reader.next_block(&mut batch.block);
                Done::Read(reader, read.map(|is_more| is_more.then_some(batch)))
            }
            Self::Hash(number, mut batch, mut hashing) => {
                hashing.hash(&mut batch.block, &mut batch.keyed);
                batch.answers.clear();
                early.look(&batch.keyed, &mut batch.answers);
                Done::Hashed(number, batch, hashing)
            }
            Self::Part { part, block, mut group, consumed } => {
                early.ask_part(part, &mut group, consumed);
                Done::Part { part, block, group }
            }
            Self::Write(outputs, batch) => {
                let Batch { block, keyed, answers } = &batch;
                let written = outputs.write(block, keyed, answers);
                let written =
                    written.and_then(|()| if block.drained { outputs.flush() } else { Ok(()) });
                Done::Written(outputs, batch, written)
            }
        }
    }
}

impl<'o> State<'o> {
    /// The most blocks that may be on their way: enough that no thread waits for another's jitter, and few
    /// enough to stay in the cache.
    fn most_blocks(&self) -> usize {
        if self.threads == 1 { 1 } else { 2 * self.threads + 2 }
    }

    /// Something to do, the nearest to the output first. But threads that cannot read are not to wait for blocks.
    fn task(&mut self, thread: Thread) -> Option<Task<'o>> {
        let is_other = thread == Thread::Other;
        if is_other
            && self.blocks.len() < self.threads
            && let Some(task) = self.read_task()
        {
            return Some(task);
        }
        if let Some(task) = self.write_task() {
            return Some(task);
        }
        if let Some(task) = self.part_task() {
            return Some(task);
        }
        if let Some(task) = self.hash_task() {
            return Some(task);
        }
        // The memory that reading may wait for must not be that of a block which waits for this thread.
        if is_other || self.blocks.is_empty() { self.read_task() } else { None }
    }

    fn read_task(&mut self) -> Option<Task<'o>> {
        let on_their_way = self.blocks.len() + self.answered.len();
        if on_their_way >= self.most_blocks() || !matches!(self.reader, Reader::Free(_)) {
            return None;
        }
        match mem::replace(&mut self.reader, Reader::Busy) {
            Reader::Free(reader) => Some(Task::Read(reader, self.spare.pop().unwrap_or_default())),
            _ => None,
        }
    }

    fn hash_task(&mut self) -> Option<Task<'o>> {
        let is_read = |block: &Progress| matches!(block, Progress::Read(_));
        let place = self.blocks.iter().position(is_read)?;
        let hashing = self.hashing.pop()?;
        match mem::replace(&mut self.blocks[place], Progress::Busy) {
            Progress::Read(batch) => Some(Task::Hash(self.first + place as u64, batch, hashing)),
            _ => None,
        }
    }

    /// The part with the oldest block.
    fn part_task(&mut self) -> Option<Task<'o>> {
        let first = self.first;
        let free =
            self.parts.iter().enumerate().filter_map(|(part, next)| Some((next.as_ref()?, part)));
        let (&block, part) = free.min()?;
        match self.blocks.get_mut((block - first) as usize) {
            Some(Progress::Hashed(batch, _)) => {
                let group = mem::take(&mut batch.answers.early.groups[part]);
                let consumed = batch.block.consumed;
                self.parts[part] = None;
                Some(Task::Part { part, block, group, consumed })
            }
            _ => None,
        }
    }

    fn write_task(&mut self) -> Option<Task<'o>> {
        if self.answered.is_empty() {
            return None;
        }
        let outputs = self.outputs.take()?;
        self.answered.pop_front().map(|batch| Task::Write(outputs, batch))
    }

    /// Notes what has come of a step.
    fn note(&mut self, done: Done<'o>) -> Flow {
        match done {
            Done::Read(reader, read) => self.note_read(reader, read),
            Done::Hashed(number, batch, hashing) => {
                self.hashing.push(hashing);
                let parts = self.parts.len();
                if let Some(block) = self.block(number) {
                    *block = if parts == 0 {
                        Progress::Ready(batch)
                    } else {
                        Progress::Hashed(batch, parts)
                    };
                }
            }
            Done::Part { part, block, group } => {
                self.parts[part] = Some(block + 1);
                self.note_part(part, block, group);
            }
            Done::Written(outputs, mut batch, written) => {
                self.outputs = Some(outputs);
                if let Err(failure) = written {
                    self.not_written = Some(failure);
                    self.answered.clear();
                    return Flow::Enough;
                }
                if batch.block.shrink() {
                    batch = Batch::default();
                }
                self.spare.push(batch);
            }
        }
        Flow::Continue
    }

    fn note_read(&mut self, reader: Box<BlockReader>, read: Result<Option<Batch>, Failure>) {
        self.reader = match read {
            Ok(Some(batch)) => {
                let is_last = batch.block.failure.is_some();
                if !self.has_ended {
                    self.blocks.push_back(Progress::Read(batch));
                }
                if is_last { Reader::Ended(None) } else { Reader::Free(reader) }
            }
            Ok(None) => Reader::Ended(None),
            Err(failure) => Reader::Ended(Some(failure)),
        };
    }

    fn note_part(&mut self, part: usize, number: u64, group: Group) {
        let Some(block) = self.block(number) else { return };
        if let Progress::Hashed(batch, left) = block {
            batch.answers.early.groups[part] = group;
            *left -= 1;
            if *left == 0 {
                *block = Progress::Ready(mem::take(batch));
            }
        }
    }

    /// What comes after the last block, if that has been answered for.
    fn end_of_input(&mut self) -> Option<Coming> {
        match &mut self.reader {
            Reader::Ended(failure) if self.blocks.is_empty() => {
                Some(failure.take().map_or(Coming::Nothing, |failure| Coming::Next(Err(failure))))
            }
            _ => None,
        }
    }

    /// The block of this number, unless all have been dropped.
    fn block(&mut self, number: u64) -> Option<&mut Progress> {
        self.blocks.get_mut(number.checked_sub(self.first)? as usize)
    }
}

/// Ends all when it is dropped.
pub(super) struct End<'s, 'o> {
    schedule: &'s Schedule<'o>,
    stop: &'s Stop,
}

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.schedule.end();
        self.stop.cancel();
    }
}

/// Ends all if a thread has a defect, so that no other waits for it.
struct Alarm<'s, 'o>(&'s Schedule<'o>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}
