//! Work on the blocks of a [`BlockedBloomFilter`](super::BlockedBloomFilter), compiled for vectors as wide
//! as a block where the processor has them. A batch prefetches the blocks of the next keys.

use super::block::Block;
use crate::error::Insertion;
use crate::hash::KeyHash;
use crate::kernel::instructions::Compiled;
pub(super) use crate::kernel::instructions::with_block_vectors as run;
use crate::table::prefetch;

/// Prefetch distance in blocks: about as many as a core can have outstanding.
const PREFETCH_DISTANCE: usize = 96;

/// Looks one key up.
pub(super) struct Look<'a>(pub(super) &'a [Block], pub(super) KeyHash);

/// Looks many keys up.
pub(super) struct LookMany<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) hashes: &'a [KeyHash],
    pub(super) present: &'a mut [bool],
}

/// Inserts one key.
pub(super) struct Insert<'a>(pub(super) &'a mut [Block], pub(super) KeyHash);

/// Inserts many keys, in their order.
pub(super) struct InsertMany<'a> {
    pub(super) blocks: &'a mut [Block],
    pub(super) hashes: &'a [KeyHash],
    pub(super) outcomes: &'a mut [Insertion],
}

impl Compiled for Look<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self(blocks, hash) = self;
        blocks[Block::place_of(hash, blocks.len())].contains(Block::of_key(hash))
    }
}

impl Compiled for Insert<'_> {
    type Output = Insertion;

    #[inline(always)]
    fn run(self) -> Insertion {
        let Self(blocks, hash) = self;
        blocks[Block::place_of(hash, blocks.len())].insert(Block::of_key(hash))
    }
}

impl Compiled for LookMany<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        prefetch_blocks(self.blocks, self.hashes.iter().take(PREFETCH_DISTANCE));
        let mut later = self.hashes.iter().skip(PREFETCH_DISTANCE);
        for (hash, present) in self.hashes.iter().zip(self.present) {
            prefetch_blocks(self.blocks, later.next());
            *present = Look(self.blocks, *hash).run();
        }
    }
}

impl Compiled for InsertMany<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        prefetch_blocks(self.blocks, self.hashes.iter().take(PREFETCH_DISTANCE));
        let mut later = self.hashes.iter().skip(PREFETCH_DISTANCE);
        for (hash, outcome) in self.hashes.iter().zip(self.outcomes) {
            prefetch_blocks(self.blocks, later.next());
            *outcome = Insert(self.blocks, *hash).run();
        }
    }
}

/// Prefetches the blocks of these keys.
#[inline(always)]
fn prefetch_blocks<'a>(blocks: &[Block], hashes: impl IntoIterator<Item = &'a KeyHash>) {
    for hash in hashes {
        let block = &blocks[Block::place_of(*hash, blocks.len())];
        prefetch(std::ptr::from_ref(block).cast());
    }
}
