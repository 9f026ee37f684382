//! What the loop needs of its neighbors: a handler, which has the work of a command and a filter, and early work.

use crate::input::BlockReader;
use crate::key::{Answers, BlockKeys, Group, Hashing};
use crate::output::Synced;
use crate::record::Block;
use crate::terminal::{CancelToken, Result};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A block in the pipeline: its records, their keys, and the answers.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) block: Block,
    pub(crate) keys: BlockKeys,
    pub(crate) answers: Answers,
}

/// The first steps, and the maximum number of threads.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) prefetch: Arc<dyn Prefetch>,
    pub(crate) threads: NonZeroUsize,
    pub(crate) stop: Arc<CancelToken>,
}

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// The work of a command on blocks.
pub(crate) trait BlockHandler {
    /// Answers a block.
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow>;

    /// Whether a checkpoint of all answers so far is due.
    fn checkpoint_is_due(&mut self) -> bool;

    /// Makes the answers so far durable; they are in the outputs, and synced there.
    fn checkpoint(&mut self, synced: Synced) -> Result<()>;
}

/// Work on a hashed block before its turn to be answered, by any thread.
pub(crate) trait Prefetch: Send + Sync {
    /// Looks up answers. Called for blocks in any order, several at a time.
    fn lookup(&self, _keys: &BlockKeys, _answers: &mut Answers) {}

    /// The number of shards of the filter that work independently.
    fn shards(&self) -> usize {
        0
    }

    /// Lets a shard process its keys. Each shard sees the blocks in their order, whatever the others do.
    fn query_shard(&self, _shard: usize, _group: &mut Group) {}
}

/// Does nothing early.
impl Prefetch for () {}
