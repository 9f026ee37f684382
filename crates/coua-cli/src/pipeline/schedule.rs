//! The loop itself, and which step of which block a free thread takes next.

use super::{Batch, BlockHandler, Flow, Pipeline, Prefetch};
use crate::input::BlockReader;
use crate::key::{Group, Hashing};
use crate::output::{Outputs, Synced};
use crate::terminal::{CancelToken, Failure, Result};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{mem, thread};

impl Pipeline {
    /// Runs to the end of the inputs, or until there are enough answers, or until a signal or an error. Earlier answers
    /// are written in every case.
    pub(crate) fn run(self, handler: &mut impl BlockHandler, outputs: &mut Outputs) -> Result<()> {
        let threads = self.threads.get();
        let schedule = Schedule::new(self, outputs);
        thread::scope(|scope| {
            let _end = End(&schedule);
            for _ in 1..threads {
                let thread = thread::Builder::new().name("worker".to_owned());
                let started = thread.spawn_scoped(scope, || schedule.work());
                started.map_err(|error| Failure::io("threads", &error))?;
            }
            let result = answer_all(&schedule, handler);
            schedule.finish().and(result)
        })
    }
}

/// Answers all blocks in order, passes them on to be written, and makes checkpoints that are due.
fn answer_all(schedule: &Schedule<'_>, handler: &mut impl BlockHandler) -> Result<()> {
    while let Some(mut batch) = schedule.next()? {
        let flow = handler.answer(&mut batch)?;
        // A failure after the last needed record does not matter.
        let failure = batch.block.failure.take().filter(|_| flow == Flow::Continue);
        if schedule.write(batch) == Flow::Enough {
            // The writer reports the reason.
            return Ok(());
        }
        failure.map_or(Ok(()), Err)?;
        if handler.checkpoint_is_due() {
            let Some(synced) = schedule.sync() else { return Ok(()) };
            handler.checkpoint(synced?)?;
        }
        if flow == Flow::Enough {
            return Ok(());
        }
    }
    Ok(())
}

/// The remaining work, shared by all threads.
struct Schedule<'o> {
    state: Mutex<PipelineState<'o>>,
    /// Signaled when there is a task.
    work: Condition,
    /// Signaled when the answering thread can continue.
    awaited: Condition,
    prefetch: Arc<dyn Prefetch>,
    stop: Arc<CancelToken>,
}

impl<'o> Schedule<'o> {
    fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let (prefetch, stop) = (pipeline.prefetch.clone(), pipeline.stop.clone());
        let state = Mutex::new(PipelineState::new(pipeline, outputs));
        Self { state, work: Condition::default(), awaited: Condition::default(), prefetch, stop }
    }

    fn state(&self) -> MutexGuard<'_, PipelineState<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the answering thread and one other, after a change. If the other finds a task, it wakes the next.
    fn wake(&self) {
        self.awaited.notify_one();
        self.work.notify_one();
    }

    /// The loop of a thread that does not answer, until the end.
    fn work(&self) {
        let _end = End(self);
        let mut state = self.state();
        while !state.has_ended {
            let task = state.task(ThreadRole::Other);
            state = self.step(state, task, ThreadRole::Other);
        }
    }

    /// The next block to answer; `None` at the end. While it is not ready, this thread works on it, or on others.
    fn next(&self) -> Result<Option<Batch>> {
        let mut state = self.state();
        loop {
            let ready = state.blocks.next_ready();
            if ready.is_some() || state.has_ended || state.is_at_end() {
                self.wake();
                return match ready {
                    None if !state.has_ended => state.end.take().unwrap_or(Ok(())).map(|()| None),
                    ready => Ok(ready),
                };
            }
            let task = state.task(ThreadRole::Answering);
            state = self.step(state, task, ThreadRole::Answering);
        }
    }

    /// Passes a block on to be written.
    fn write(&self, batch: Batch) -> Flow {
        let mut state = self.state();
        if state.sink.failure.is_some() {
            return Flow::Enough;
        }
        state.sink.answered.push_back(batch);
        self.wake();
        Flow::Continue
    }

    /// Syncs the outputs when everything is written; `None` if that is no longer possible.
    fn sync(&self) -> Option<Result<Synced>> {
        let mut state = self.all_written();
        if state.sink.failure.is_some() {
            return None;
        }
        // Other threads continue with steps other than writing.
        let outputs = state.sink.outputs.take()?;
        drop(state);
        let synced = outputs.sync();
        self.state().sink.outputs = Some(outputs);
        Some(synced)
    }

    /// Writes the remaining blocks, and passes all bytes to the operating system.
    fn finish(&self) -> Result<()> {
        let mut state = self.all_written();
        match state.sink.failure.take() {
            Some(failure) => Err(failure),
            None => state.sink.outputs.as_mut().map_or(Ok(()), |outputs| outputs.finish()),
        }
    }

    fn all_written(&self) -> MutexGuard<'_, PipelineState<'o>> {
        let mut state = self.state();
        while !state.sink.is_idle() && !state.has_ended {
            let task = state.write_task();
            state = self.step(state, task, ThreadRole::Answering);
        }
        state
    }

    /// Does a step, and records its result. Without a step, waits for a change.
    fn step<'s>(
        &'s self,
        state: MutexGuard<'s, PipelineState<'o>>,
        task: Option<Task<'o>>,
        role: ThreadRole,
    ) -> MutexGuard<'s, PipelineState<'o>> {
        let Some(mut task) = task else {
            let changed = if role == ThreadRole::Other { &self.work } else { &self.awaited };
            return changed.wait(state);
        };
        drop(state);
        self.wake();
        task.run(&*self.prefetch);
        let mut state = self.state();
        if state.record(task) == Flow::Enough {
            // Without an output there is no need to read on or wait for input.
            self.stop.cancel();
        }
        self.wake();
        state
    }
}

/// Wakes threads that wait for a change of the state. `Condvar` makes a system call for each signal; this only does if a
/// thread waits.
#[derive(Default)]
struct Condition {
    changed: Condvar,
    /// Threads that wait. It changes with the state locked.
    waiting: AtomicUsize,
}

impl Condition {
    fn wait<'s, T>(&self, state: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        state
    }

    fn notify_one(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.changed.notify_one();
        }
    }
}

/// Ends the work of all threads when dropped, even by a panic: no thread waits for input or work any more.
struct End<'s, 'o>(&'s Schedule<'o>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.0.state().end();
        self.0.work.changed.notify_all();
        self.0.awaited.changed.notify_all();
        self.0.stop.cancel();
    }
}

/// With more bytes of giant records in the pipeline, no further block is read: the number of blocks bounds the memory only
/// if all have the same size.
const MOST_GIANT_BYTES: usize = 64 << 20;

/// The blocks in the pipeline, and the possible steps.
struct PipelineState<'o> {
    threads: usize,
    /// `None` while a thread reads, and at the end.
    reader: Option<Box<BlockReader>>,
    /// The result of reading, once it has ended.
    end: Option<Result<()>>,
    /// One for each thread that may hash at the same time.
    hashing: Vec<Hashing>,
    blocks: Blocks,
    sink: BlockSink<'o>,
    /// Bytes of the blocks with giant records that are read and not written.
    giant_bytes: usize,
    /// No thread may begin a step.
    has_ended: bool,
}

/// Where answered blocks go.
struct BlockSink<'o> {
    /// `None` while a thread writes.
    outputs: Option<&'o mut Outputs>,
    /// Blocks to write.
    answered: VecDeque<Batch>,
    /// The failure after which nothing can be written.
    failure: Option<Failure>,
    /// Written blocks, to be reused.
    spare: Vec<Batch>,
}

/// A step of a block, and its result.
#[expect(clippy::large_enum_variant, reason = "nearly all of them carry blocks")]
enum Task<'o> {
    /// Whether there was a block.
    Read(Box<BlockReader>, Batch, Result<bool>),
    Hash(u64, Batch, Hashing),
    Shard(ShardTask),
    Write(&'o mut Outputs, Batch, Result<()>),
}

/// The role of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadRole {
    /// It answers the blocks, and takes steps while none is ready.
    Answering,
    Other,
}

impl Task<'_> {
    fn run(&mut self, prefetch: &dyn Prefetch) {
        match self {
            Self::Read(reader, batch, read) => *read = reader.next_block(&mut batch.block),
            Self::Hash(_, batch, hashing) => {
                hashing.hash(&mut batch.block, &mut batch.keys);
                batch.answers.clear();
                prefetch.lookup(&batch.keys, &mut batch.answers);
            }
            Self::Shard(ShardTask { shard, group, .. }) => {
                prefetch.query_shard(*shard, group);
            }
            Self::Write(outputs, Batch { block, keys, answers }, written) => {
                *written = outputs.write(block, keys, answers);
                if written.is_ok() && block.drained {
                    *written = outputs.flush();
                }
            }
        }
    }
}

impl BlockSink<'_> {
    /// Whether all blocks are written.
    fn is_idle(&self) -> bool {
        self.outputs.is_some() && self.answered.is_empty()
    }
}

impl<'o> PipelineState<'o> {
    /// The state before anything is read.
    fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let Pipeline { reader, hashing, prefetch, threads, .. } = pipeline;
        let threads = threads.get();
        let (outputs, answered) = (Some(outputs), VecDeque::new());
        Self {
            threads,
            reader: Some(Box::new(reader)),
            end: None,
            hashing: vec![hashing; threads],
            blocks: Blocks::new(prefetch.shards()),
            sink: BlockSink { outputs, answered, failure: None, spare: Vec::new() },
            giant_bytes: 0,
            has_ended: false,
        }
    }

    /// The most blocks in the pipeline: enough that no thread waits because of another's jitter, and few
    /// enough to stay in the cache.
    fn most_blocks(&self) -> usize {
        if self.threads == 1 { 1 } else { 2 * self.threads + 2 }
    }

    /// Whether there is room for another block.
    fn may_read(&self) -> bool {
        let is_room = self.blocks.stages.len() + self.sink.answered.len() < self.most_blocks();
        is_room && self.giant_bytes <= MOST_GIANT_BYTES
    }

    /// The task nearest to the output. Ready blocks wait for the answering thread, so it reads only if there is none. A
    /// thread that cannot read must not wait for blocks to hash.
    fn task(&mut self, role: ThreadRole) -> Option<Task<'o>> {
        let is_other = role == ThreadRole::Other;
        if is_other
            && self.blocks.unhashed() < self.threads
            && let Some(task) = self.read_task()
        {
            return Some(task);
        }
        let task = self.write_task().or_else(|| self.blocks.shard_task().map(Task::Shard));
        let task = task.or_else(|| self.hash_task());
        // Reading may wait for input, while a block waits for this thread.
        let may_read = is_other || self.blocks.stages.is_empty();
        task.or_else(|| may_read.then(|| self.read_task()).flatten())
    }

    fn read_task(&mut self) -> Option<Task<'o>> {
        let may_read = self.may_read();
        let reader = self.reader.take_if(|_| may_read)?;
        Some(Task::Read(reader, self.sink.spare.pop().unwrap_or_default(), Ok(false)))
    }

    fn hash_task(&mut self) -> Option<Task<'o>> {
        let hashing = self.hashing.pop()?;
        let Some((number, batch)) = self.blocks.next_unhashed() else {
            self.hashing.push(hashing);
            return None;
        };
        Some(Task::Hash(number, batch, hashing))
    }

    fn write_task(&mut self) -> Option<Task<'o>> {
        let outputs = self.sink.outputs.take_if(|_| !self.sink.answered.is_empty())?;
        Some(Task::Write(outputs, self.sink.answered.pop_front()?, Ok(())))
    }

    /// Records the result of a step.
    fn record(&mut self, done: Task<'o>) -> Flow {
        match done {
            Task::Read(reader, batch, read) => self.record_read(reader, batch, read),
            Task::Hash(number, batch, hashing) => {
                self.hashing.push(hashing);
                self.blocks.record_hashed(number, batch);
            }
            Task::Shard(task) => self.blocks.record_shard(task),
            Task::Write(outputs, mut batch, written) => {
                self.sink.outputs = Some(outputs);
                if let Err(failure) = written {
                    self.sink.failure = Some(failure);
                    self.sink.answered.clear();
                    return Flow::Enough;
                }
                if batch.block.is_giant() {
                    self.giant_bytes -= batch.block.bytes.len();
                    batch = Batch::default();
                }
                self.sink.spare.push(batch);
            }
        }
        Flow::Continue
    }

    fn record_read(&mut self, reader: Box<BlockReader>, batch: Batch, read: Result<bool>) {
        let (is_block, is_last) = (matches!(read, Ok(true)), batch.block.failure.is_some());
        if is_block && !is_last {
            self.reader = Some(reader);
        } else {
            self.end = Some(read.map(drop));
        }
        if is_block && !self.has_ended {
            self.giant_bytes += if batch.block.is_giant() { batch.block.bytes.len() } else { 0 };
            self.blocks.stages.push_back(BlockStage::Read(batch));
        }
    }

    /// Whether the last block has been answered.
    fn is_at_end(&self) -> bool {
        self.blocks.stages.is_empty() && self.end.is_some()
    }

    /// Forbids new steps, and drops all blocks.
    fn end(&mut self) {
        self.has_ended = true;
        self.blocks.stages.clear();
        self.sink.answered.clear();
    }
}

/// The unanswered blocks. Blocks are numbered from 0.
struct Blocks {
    /// The oldest first.
    stages: VecDeque<BlockStage>,
    /// The number of the oldest.
    first: u64,
    /// The number of the first block that no thread has begun to hash.
    unhashed: u64,
    /// The next block of each shard of the filter, which may process blocks before their turn; `None` while a thread
    /// works on the shard.
    shards: Vec<Option<u64>>,
}

/// The state of a block.
enum BlockStage {
    Read(Batch),
    /// A thread is hashing it.
    Busy,
    /// The number of shards that have not processed it.
    Hashed(Batch, usize),
    Ready(Batch),
}

/// The keys of a block that belong to a shard, for that shard.
struct ShardTask {
    shard: usize,
    block: u64,
    group: Group,
}

impl Blocks {
    fn new(shards: usize) -> Self {
        Self { stages: VecDeque::new(), first: 0, unhashed: 0, shards: vec![Some(0); shards] }
    }

    /// The oldest block, if it can be answered.
    fn next_ready(&mut self) -> Option<Batch> {
        let Some(BlockStage::Ready(batch)) = self.stages.front_mut() else { return None };
        let batch = mem::take(batch);
        self.stages.pop_front();
        self.first += 1;
        Some(batch)
    }

    /// The number of blocks that no thread has begun to hash.
    fn unhashed(&self) -> usize {
        (self.first + self.stages.len() as u64).saturating_sub(self.unhashed) as usize
    }

    /// The first block to hash, and its number.
    fn next_unhashed(&mut self) -> Option<(u64, Batch)> {
        let number = self.unhashed;
        match mem::replace(self.block(number)?, BlockStage::Busy) {
            BlockStage::Read(batch) => {
                self.unhashed += 1;
                Some((number, batch))
            }
            _ => None,
        }
    }

    /// Puts a hashed block back.
    fn record_hashed(&mut self, number: u64, batch: Batch) {
        let shards = self.shards.len();
        if let Some(block) = self.block(number) {
            *block = match shards {
                0 => BlockStage::Ready(batch),
                _ => BlockStage::Hashed(batch, shards),
            };
        }
    }

    /// The shard with the oldest next block, if that is hashed, and the block.
    fn next_shard(&self) -> Option<(usize, u64)> {
        let next = self.shards.iter().enumerate();
        let (block, shard) = next.filter_map(|(shard, next)| Some(((*next)?, shard))).min()?;
        let stage = self.stages.get((block - self.first) as usize)?;
        matches!(stage, BlockStage::Hashed(..)).then_some((shard, block))
    }

    fn shard_task(&mut self) -> Option<ShardTask> {
        let (shard, block) = self.next_shard()?;
        let Some(BlockStage::Hashed(batch, _)) = self.block(block) else { return None };
        let group = mem::take(&mut batch.answers.groups[shard]);
        self.shards[shard] = None;
        Some(ShardTask { shard, block, group })
    }

    /// Puts the group of a shard back into its block.
    fn record_shard(&mut self, ShardTask { shard, block, group, .. }: ShardTask) {
        self.shards[shard] = Some(block + 1);
        let Some(stage) = self.block(block) else { return };
        if let BlockStage::Hashed(batch, left) = stage {
            batch.answers.groups[shard] = group;
            *left -= 1;
            if *left == 0 {
                *stage = BlockStage::Ready(mem::take(batch));
            }
        }
    }

    /// The block with this number, unless all have been dropped.
    fn block(&mut self, number: u64) -> Option<&mut BlockStage> {
        self.stages.get_mut(number.checked_sub(self.first)? as usize)
    }
}
