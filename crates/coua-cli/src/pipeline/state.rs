//! The state of each block, and the next step.

use super::answer::{Batch, Flow, Pipeline, Prefetch, Unanswered};
use crate::input::{Ahead, AheadTask, BlockReader};
use crate::key::{Group, Hashing};
use crate::output::Outputs;
use crate::terminal::{Failure, Result};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// The blocks in the pipeline, and the possible steps.
pub(super) struct PipelineState<'o> {
    threads: usize,
    /// The number of threads that wait for a task, without the answering thread.
    pub(super) waiting: usize,
    /// What the answering thread waits for, if it waits.
    pub(super) awaited: Option<Awaited>,
    /// `None` while a thread reads, and at the end.
    reader: Option<Box<BlockReader>>,
    /// Inputs that are unpacked before their turn.
    ahead: Option<Arc<Ahead>>,
    /// The result of reading, once it has ended.
    end: Option<Result<()>>,
    /// One for each thread that may hash at the same time.
    hashing: Vec<Hashing>,
    /// The unanswered blocks, the oldest first.
    blocks: VecDeque<BlockStage>,
    /// The number of the oldest unanswered block, counted from 0.
    first: u64,
    /// The numbers of the blocks that are not hashed.
    unhashed: VecDeque<u64>,
    /// The next block of each shard of the filter; `None` while a thread works on the shard.
    shards: Vec<Option<u64>>,
    /// Shards may process the blocks before this one.
    asked_until: u64,
    /// Shards must wait until the command has answered the oldest block without them.
    is_alone: bool,
    /// The answering thread has taken a block.
    is_answering: bool,
    prefetch: Arc<dyn Prefetch>,
    /// Answered blocks.
    pub(super) answered: VecDeque<Batch>,
    /// `None` while a thread writes.
    pub(super) outputs: Option<&'o mut Outputs>,
    /// The failure after which nothing can be written.
    pub(super) not_written: Option<Failure>,
    /// Written blocks, to be reused.
    spare: Vec<Batch>,
    /// No thread may begin a step.
    pub(super) has_ended: bool,
    /// The groups that shards processed without an answer, at the end.
    pub(super) unanswered: Vec<Unanswered>,
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

/// A step of a block, and its result.
#[expect(clippy::large_enum_variant, reason = "nearly all of them carry blocks")]
pub(super) enum Task<'o> {
    /// Whether there was a block.
    Read(Box<BlockReader>, Batch, Result<bool>),
    Hash(u64, Batch, Hashing),
    Shard {
        shard: usize,
        block: u64,
        group: Group,
        consumed: u64,
    },
    Write(&'o mut Outputs, Batch, Result<()>),
    Unpack(AheadTask),
}

/// What the answering thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A block that can be answered, or the end of the blocks.
    Block,
    /// The end of all writing.
    Writing,
}

/// The thread that asks for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    /// The answering thread: ready blocks wait for it, so it reads only if there is none.
    Answering,
    Other,
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
            Self::Shard { shard, group, consumed, .. } => {
                prefetch.query_shard(*shard, group, *consumed);
            }
            Self::Write(outputs, Batch { block, keys, answers }, written) => {
                *written = outputs.write(block, keys, answers);
                if written.is_ok() && block.drained {
                    *written = outputs.flush();
                }
            }
            Self::Unpack(task) => task.run(),
        }
    }
}

impl<'o> PipelineState<'o> {
    /// The state before anything is read.
    pub(super) fn new(pipeline: Pipeline, outputs: &'o mut Outputs) -> Self {
        let Pipeline { reader, hashing, prefetch, threads, .. } = pipeline;
        let threads = threads.get();
        Self {
            threads,
            waiting: 0,
            awaited: None,
            ahead: reader.ahead(),
            reader: Some(Box::new(reader)),
            end: None,
            hashing: vec![hashing; threads],
            blocks: VecDeque::new(),
            first: 0,
            unhashed: VecDeque::new(),
            shards: vec![Some(0); prefetch.shards()],
            asked_until: 0,
            is_alone: false,
            is_answering: false,
            prefetch,
            answered: VecDeque::new(),
            outputs: Some(outputs),
            not_written: None,
            spare: Vec::new(),
            has_ended: false,
            unanswered: Vec::new(),
        }
    }

    /// The oldest block, if it can be answered.
    pub(super) fn next_ready(&mut self) -> Option<Batch> {
        let Some(BlockStage::Ready(batch)) = self.blocks.front_mut() else { return None };
        let batch = mem::take(batch);
        self.blocks.pop_front();
        self.first += 1;
        self.is_answering = true;
        Some(batch)
    }

    /// Records that the block last taken was answered.
    pub(super) fn record_answered(&mut self) {
        self.is_alone &= !mem::take(&mut self.is_answering);
        self.let_shards_ahead();
    }

    /// Lets shards process the next blocks, as far as the filter accepts them.
    fn let_shards_ahead(&mut self) {
        while !self.is_alone {
            let is_oldest = self.asked_until == self.first;
            let block = self.asked_until.checked_sub(self.first);
            let block = block.and_then(|place| self.blocks.get_mut(place as usize));
            let Some(block) = block else { break };
            let BlockStage::Hashed(batch, _) = block else { break };
            batch.answers.is_answered = self.prefetch.accepts(&batch.keys);
            if !batch.answers.is_answered {
                if self.is_answering || !is_oldest {
                    break;
                }
                *block = BlockStage::Ready(mem::take(batch));
                self.shards.fill(Some(self.asked_until + 1));
                self.is_alone = true;
            }
            self.asked_until += 1;
        }
    }

    /// The most blocks in the pipeline: enough that no thread waits because of another's jitter, and few
    /// enough to stay in the cache.
    fn most_blocks(&self) -> usize {
        if self.threads == 1 { 1 } else { 2 * self.threads + 2 }
    }

    /// The task nearest to the output. A thread that cannot read must not wait for blocks to hash.
    pub(super) fn task(&mut self, thread: Thread) -> Option<Task<'o>> {
        let is_other = thread == Thread::Other;
        if is_other
            && self.unhashed.len() < self.threads
            && let Some(task) = self.read_task()
        {
            return Some(task);
        }
        let task = self.write_task().or_else(|| self.shard_task()).or_else(|| self.hash_task());
        // Reading may wait for memory, which must not be held by a block that waits for this thread.
        let may_read = is_other || self.blocks.is_empty();
        task.or_else(|| may_read.then(|| self.read_task()).flatten()).or_else(|| self.unpack_task())
    }

    /// Whether there is a task for a thread that does not answer.
    pub(super) fn has_task(&self) -> bool {
        self.outputs.is_some() && !self.answered.is_empty()
            || self.may_read() && self.reader.is_some()
            || !self.unhashed.is_empty() && !self.hashing.is_empty()
            || self.next_shard().is_some()
            || self.ahead.as_ref().is_some_and(|ahead| ahead.has_task())
    }

    /// Whether the answering thread can continue.
    pub(super) fn is_there(&self) -> bool {
        self.awaited.is_some_and(|awaited| match awaited {
            Awaited::Block => {
                matches!(self.blocks.front(), Some(BlockStage::Ready(_))) || self.is_at_end()
            }
            Awaited::Writing => self.outputs.is_some() && self.answered.is_empty(),
        })
    }

    fn unpack_task(&self) -> Option<Task<'o>> {
        self.ahead.as_ref()?.task().map(Task::Unpack)
    }

    /// Forbids new steps, and drops all blocks, because a reading thread may wait for their memory.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.unhashed.clear();
        for block in mem::take(&mut self.blocks) {
            if let BlockStage::Hashed(batch, _) | BlockStage::Ready(batch) = block {
                let groups = batch.answers.groups.into_iter().enumerate();
                let asked = groups.filter(|(_, group)| !group.outcomes.is_empty());
                self.unanswered.extend(asked.map(|(shard, group)| Unanswered { shard, group }));
            }
        }
        self.answered.clear();
    }

    /// Inputs that are unpacked before their turn.
    pub(super) fn ahead(&self) -> Option<Arc<Ahead>> {
        self.ahead.clone()
    }

    /// Whether there is room for another block.
    fn may_read(&self) -> bool {
        self.blocks.len() + self.answered.len() < self.most_blocks()
    }

    fn read_task(&mut self) -> Option<Task<'o>> {
        let may_read = self.may_read();
        let reader = self.reader.take_if(|_| may_read)?;
        Some(Task::Read(reader, self.spare.pop().unwrap_or_default(), Ok(false)))
    }

    fn hash_task(&mut self) -> Option<Task<'o>> {
        let number = *self.unhashed.front()?;
        let hashing = self.hashing.pop()?;
        self.unhashed.pop_front();
        match mem::replace(self.block(number)?, BlockStage::Busy) {
            BlockStage::Read(batch) => Some(Task::Hash(number, batch, hashing)),
            _ => None,
        }
    }

    /// The shard with the oldest next block, if that is hashed, and the block.
    fn next_shard(&self) -> Option<(usize, u64)> {
        let next = self.shards.iter().enumerate();
        let free = next.filter_map(|(shard, next)| Some(((*next)?, shard)));
        let (block, shard) = free.min().filter(|(block, _)| *block < self.asked_until)?;
        let stage = self.blocks.get((block - self.first) as usize)?;
        matches!(stage, BlockStage::Hashed(..)).then_some((shard, block))
    }

    fn shard_task(&mut self) -> Option<Task<'o>> {
        let (shard, block) = self.next_shard()?;
        let Some(BlockStage::Hashed(batch, _)) = self.block(block) else { return None };
        let group = mem::take(&mut batch.answers.groups[shard]);
        let consumed = batch.block.consumed;
        self.shards[shard] = None;
        Some(Task::Shard { shard, block, group, consumed })
    }

    pub(super) fn write_task(&mut self) -> Option<Task<'o>> {
        let outputs = self.outputs.take_if(|_| !self.answered.is_empty())?;
        Some(Task::Write(outputs, self.answered.pop_front()?, Ok(())))
    }

    /// Records the result of a step.
    pub(super) fn record(&mut self, done: Task<'o>) -> Flow {
        match done {
            Task::Read(reader, batch, read) => self.record_read(reader, batch, read),
            Task::Hash(number, batch, hashing) => {
                self.hashing.push(hashing);
                let shards = self.shards.len();
                if let Some(block) = self.block(number) {
                    *block = if shards == 0 {
                        BlockStage::Ready(batch)
                    } else {
                        BlockStage::Hashed(batch, shards)
                    };
                }
                self.let_shards_ahead();
            }
            Task::Shard { shard, block, group, .. } => {
                self.shards[shard] = Some(block + 1);
                self.record_shard(shard, block, group);
            }
            Task::Write(outputs, mut batch, written) => {
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
            Task::Unpack(_) => {}
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
            self.unhashed.push_back(self.first + self.blocks.len() as u64);
            self.blocks.push_back(BlockStage::Read(batch));
        }
    }

    fn record_shard(&mut self, shard: usize, number: u64, group: Group) {
        let Some(block) = self.block(number) else {
            self.unanswered.push(Unanswered { shard, group });
            return;
        };
        if let BlockStage::Hashed(batch, left) = block {
            batch.answers.groups[shard] = group;
            *left -= 1;
            if *left == 0 {
                *block = BlockStage::Ready(mem::take(batch));
            }
        }
    }

    /// Whether the last block has been answered.
    pub(super) fn is_at_end(&self) -> bool {
        self.blocks.is_empty() && self.end.is_some()
    }

    /// The result of reading, returned once, after the last block has been answered.
    pub(super) fn end_of_input(&mut self) -> Option<Result<()>> {
        let is_at_end = self.is_at_end();
        self.end.take_if(|_| is_at_end)
    }

    /// The block with this number, unless all have been dropped.
    fn block(&mut self, number: u64) -> Option<&mut BlockStage> {
        self.blocks.get_mut(number.checked_sub(self.first)? as usize)
    }
}
