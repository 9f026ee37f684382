//! What a command, and a filter, do with blocks of records.

use crate::input::BlockReader;
use crate::key::{Answers, BlockKeys, Group, Hashing};
use crate::output::Synced;
use crate::record::Block;
use crate::terminal::{CancelToken, Result};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A block on its way: its records, what is known about their keys, and the answers.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) block: Block,
    pub(crate) keys: BlockKeys,
    pub(crate) answers: Answers,
}

/// The first steps, and how many threads there may be.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) prefetch: Arc<dyn Prefetch>,
    pub(crate) threads: NonZeroUsize,
    pub(crate) stop: Arc<CancelToken>,
}

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// What a command does with blocks.
pub(crate) trait BlockHandler {
    /// Sends the questions about the records of a block, where the answer takes its time. Every block is asked about
    /// first; and all that were asked about are answered for later, in the same order, whatever happens.
    fn request(&mut self, batch: &Batch);

    /// Bytes of blocks that may have been asked about and not answered for; one block always.
    fn max_pending_bytes(&self) -> usize;

    /// Answers for the records of a block.
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow>;

    /// Whether it is time to make durable what was answered so far.
    fn checkpoint_is_due(&self) -> bool;

    /// Makes it durable; all of it is in the outputs, and synced there.
    fn checkpoint(&mut self, synced: Synced) -> Result<()>;
}

/// What may be found out about a hashed block before its turn to be answered, by any thread.
pub(crate) trait Prefetch: Send + Sync {
    /// Looks for answers. Blocks come in any order, several at a time.
    fn lookup(&self, _keys: &BlockKeys, _answers: &mut Answers) {}

    /// How many shards the filter has that answer by themselves.
    fn shards(&self) -> usize {
        0
    }

    /// Whether shards are asked about a block only after the block before it was answered for.
    fn queries_in_turn(&self) -> bool {
        false
    }

    /// Whether the shards are to be asked about the next block, and not only the command.
    fn accepts(&self, _keys: &BlockKeys) -> bool {
        true
    }

    /// Asks a shard about its keys. Each shard sees the blocks in their order. `consumed` raw bytes were read up to
    /// the end of the block.
    fn query_shard(&self, _shard: usize, _group: &mut Group, _consumed: u64) {}
}

/// Nothing is found out early.
impl Prefetch for () {}
