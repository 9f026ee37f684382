//! The record loop: `records -> keys -> filter -> output`, by blocks of records, in order.
//!
//! ```text
//! read      one block after the other                      any thread
//! hash      find and hash keys, look up early if allowed   any thread, any block
//! shard     work of one shard, ahead of the answers        any thread, each shard block after block
//! answer    the command's own work                         the calling thread, block after block
//! write     the selected records                           any thread, block after block
//! ```
//!
//! A free thread takes the step that is nearest to the output (`schedule`). So every thread is kept busy, and each step
//! sees the blocks in the same order as with one thread: the output does not depend on the number of threads.
//!
//! What else a run may need lies around the loop. `--resume` and `--known` set keys aside when a block is hashed. A
//! filter of a window has its clock, a filter in a file its shards, and one on a server its connections. Two passes are
//! two loops.

mod schedule;

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
