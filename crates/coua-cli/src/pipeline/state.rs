//! The next step of some block.

use super::blocks::{Blocks, ShardTask};
use super::interface::{Batch, Flow, Pipeline, Prefetch};
use crate::input::BlockReader;
use crate::key::Hashing;
use crate::output::Outputs;
use crate::terminal::{Failure, Result};
use std::collections::VecDeque;

/// The blocks in the pipeline, and the possible steps.
pub(super) struct PipelineState<'o> {
    threads: usize,
    source: BlockSource,
    /// One for each thread that may hash at the same time.
    hashing: Vec<Hashing>,
    pub(super) blocks: Blocks,
    pub(super) sink: BlockSink<'o>,
    pub(super) waiters: Waiters,
    /// No thread may begin a step.
    pub(super) has_ended: bool,
}

/// Where blocks come from.
struct BlockSource {
    /// `None` while a thread reads, and at the end.
    reader: Option<Box<BlockReader>>,
    /// The result of reading, once it has ended.
    end: Option<Result<()>>,
}

/// Where answered blocks go.
pub(super) struct BlockSink<'o> {
    /// `None` while a thread writes.
    pub(super) outputs: Option<&'o mut Outputs>,
    /// Blocks to write.
    pub(super) answered: VecDeque<Batch>,
    /// The failure after which nothing can be written.
    pub(super) failure: Option<Failure>,
    /// Written blocks, to be reused.
    spare: Vec<Batch>,
}

/// The threads that wait.
#[derive(Clone, Copy, Default)]
pub(super) struct Waiters {
    /// The number of threads that wait for a task, without the answering thread.
    pub(super) idle: usize,
    /// The reason why the answering thread waits, if it waits.
    pub(super) awaited: Option<Awaited>,
}

/// A step of a block, and its result.
#[expect(clippy::large_enum_variant, reason = "nearly all of them carry blocks")]
pub(super) enum Task<'o> {
    /// Whether there was a block.
    Read(Box<BlockReader>, Batch, Result<bool>),
    Hash(u64, Batch, Hashing),
    Shard(ShardTask),
    Write(&'o mut Outputs, Batch, Result<()>),
}

/// An event that the answering thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A block that can be answered, or the end of the blocks.
    Block,
    /// The end of all writing.
    Writing,
}

impl Task<'_> {
    pub(super) fn run(&mut self, prefetch: &dyn Prefetch) {
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
    pub(super) fn is_idle(&self) -> bool {
        self.outputs.is_some() && self.answered.is_empty()
    }
}

impl<'o> PipelineState<'o> {
    /// The state before anything is read.
    pub(super) fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let Pipeline { reader, hashing, prefetch, threads, .. } = pipeline;
        let threads = threads.get();
        let (outputs, answered) = (Some(outputs), VecDeque::new());
        Self {
            threads,
            source: BlockSource { reader: Some(Box::new(reader)), end: None },
            hashing: vec![hashing; threads],
            blocks: Blocks::new(prefetch.shards()),
            sink: BlockSink { outputs, answered, failure: None, spare: Vec::new() },
            waiters: Waiters::default(),
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
        self.blocks.len() + self.sink.answered.len() < self.most_blocks()
    }

    /// The task nearest to the output, for the answering thread if it has `awaited` something: ready blocks wait for it, so
    /// it reads only if there is none. A thread that cannot read must not wait for blocks to hash.
    pub(super) fn task(&mut self, awaited: Option<Awaited>) -> Option<Task<'o>> {
        let is_other = awaited.is_none();
        if is_other
            && self.blocks.unhashed() < self.threads
            && let Some(task) = self.read_task()
        {
            return Some(task);
        }
        let task = self.write_task().or_else(|| self.blocks.shard_task().map(Task::Shard));
        let task = task.or_else(|| self.hash_task());
        // Reading may wait for memory, which must not be held by a block that waits for this thread.
        let may_read = is_other || self.blocks.len() == 0;
        task.or_else(|| may_read.then(|| self.read_task()).flatten())
    }

    /// Whether there is a task for a thread that does not answer.
    pub(super) fn has_task(&self) -> bool {
        self.sink.outputs.is_some() && !self.sink.answered.is_empty()
            || self.may_read() && self.source.reader.is_some()
            || self.blocks.unhashed() > 0 && !self.hashing.is_empty()
            || self.blocks.has_shard_task()
    }

    /// Whether the answering thread can continue.
    pub(super) fn can_answer(&self) -> bool {
        self.waiters.awaited.is_some_and(|awaited| match awaited {
            Awaited::Block => self.blocks.is_ready() || self.is_at_end(),
            Awaited::Writing => self.sink.is_idle(),
        })
    }

    fn read_task(&mut self) -> Option<Task<'o>> {
        let may_read = self.may_read();
        let reader = self.source.reader.take_if(|_| may_read)?;
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

    pub(super) fn write_task(&mut self) -> Option<Task<'o>> {
        let outputs = self.sink.outputs.take_if(|_| !self.sink.answered.is_empty())?;
        Some(Task::Write(outputs, self.sink.answered.pop_front()?, Ok(())))
    }

    /// Records the result of a step.
    pub(super) fn record(&mut self, done: Task<'o>) -> Flow {
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
                if batch.block.shrink() {
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
            self.source.reader = Some(reader);
        } else {
            self.source.end = Some(read.map(drop));
        }
        if is_block && !self.has_ended {
            self.blocks.push(batch);
        }
    }

    /// Whether the last block has been answered.
    pub(super) fn is_at_end(&self) -> bool {
        self.blocks.len() == 0 && self.source.end.is_some()
    }

    /// The result of reading, after the last block has been answered.
    pub(super) fn end_of_input(&mut self) -> Result<()> {
        self.source.end.take().unwrap_or(Ok(()))
    }

    /// Forbids new steps, and drops all blocks.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.blocks.end();
        self.sink.answered.clear();
    }
}
