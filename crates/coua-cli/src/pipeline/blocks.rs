//! The blocks between reading and answering, in their order.

use super::interface::Batch;
use crate::key::Group;
use std::collections::VecDeque;
use std::mem;

/// The unanswered blocks. Blocks are numbered from 0.
pub(super) struct Blocks {
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
pub(super) struct ShardTask {
    pub(super) shard: usize,
    block: u64,
    pub(super) group: Group,
}

impl Blocks {
    pub(super) fn new(shards: usize) -> Self {
        Self { stages: VecDeque::new(), first: 0, unhashed: 0, shards: vec![Some(0); shards] }
    }

    pub(super) fn len(&self) -> usize {
        self.stages.len()
    }

    /// Whether the oldest block can be answered.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.stages.front(), Some(BlockStage::Ready(_)))
    }

    /// The oldest block, if it can be answered.
    pub(super) fn next_ready(&mut self) -> Option<Batch> {
        let Some(BlockStage::Ready(batch)) = self.stages.front_mut() else { return None };
        let batch = mem::take(batch);
        self.stages.pop_front();
        self.first += 1;
        Some(batch)
    }

    /// Adds a block that was read.
    pub(super) fn push(&mut self, batch: Batch) {
        self.stages.push_back(BlockStage::Read(batch));
    }

    /// The number of blocks that no thread has begun to hash.
    pub(super) fn unhashed(&self) -> usize {
        (self.first + self.stages.len() as u64).saturating_sub(self.unhashed) as usize
    }

    /// The first block to hash, and its number.
    pub(super) fn next_unhashed(&mut self) -> Option<(u64, Batch)> {
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
    pub(super) fn record_hashed(&mut self, number: u64, batch: Batch) {
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

    /// Whether there is work for a shard.
    pub(super) fn has_shard_task(&self) -> bool {
        self.next_shard().is_some()
    }

    pub(super) fn shard_task(&mut self) -> Option<ShardTask> {
        let (shard, block) = self.next_shard()?;
        let Some(BlockStage::Hashed(batch, _)) = self.block(block) else { return None };
        let group = mem::take(&mut batch.answers.groups[shard]);
        self.shards[shard] = None;
        Some(ShardTask { shard, block, group })
    }

    /// Puts the group of a shard back into its block.
    pub(super) fn record_shard(&mut self, ShardTask { shard, block, group, .. }: ShardTask) {
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

    /// Drops all blocks, because a reading thread may wait for their memory.
    pub(super) fn end(&mut self) {
        self.stages.clear();
    }

    /// The block with this number, unless all have been dropped.
    fn block(&mut self, number: u64) -> Option<&mut BlockStage> {
        self.stages.get_mut(number.checked_sub(self.first)? as usize)
    }
}
