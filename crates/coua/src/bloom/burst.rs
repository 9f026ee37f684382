//! Work on the blocks of a [`BlockedBloomFilter`](super::BlockedBloomFilter), compiled for vectors as wide
//! as a block where the processor has them. A batch prefetches the blocks of the next keys.

use std::ops::Deref;

use super::block::Block;
use crate::error::Insertion;
use crate::hash::KeyHash;
pub(super) use crate::simd::with_avx2 as run;
use crate::simd::{Isa, Kernel};
use crate::table::prefetch;

/// Prefetch distance in blocks: about as many as a core can have outstanding.
const PREFETCH_DISTANCE: usize = 96;

/// The blocks of a filter, to look keys up in, or to insert keys into.
pub(super) trait Blocks: Deref<Target = [Block]> {
    type Answer: Copy;
    /// The initial answer.
    const NONE: Self::Answer;

    fn visit(&mut self, hash: KeyHash) -> Self::Answer;
}

impl Blocks for &[Block] {
    type Answer = bool;
    const NONE: bool = false;

    #[inline(always)]
    fn visit(&mut self, hash: KeyHash) -> bool {
        self[Block::place_of(hash, self.len())].contains(Block::of_key(hash))
    }
}

impl Blocks for &mut [Block] {
    type Answer = Insertion;
    const NONE: Insertion = Insertion::Refused;

    #[inline(always)]
    fn visit(&mut self, hash: KeyHash) -> Insertion {
        self[Block::place_of(hash, self.len())].insert(Block::of_key(hash))
    }
}

/// Visits the block of one key.
pub(super) struct One<B>(pub(super) B, pub(super) KeyHash);

/// Visits the blocks of many keys, in their order.
pub(super) struct Many<'a, B: Blocks> {
    pub(super) blocks: &'a mut B,
    pub(super) hashes: &'a [KeyHash],
    pub(super) answers: &'a mut [B::Answer],
}

impl<B: Blocks> Kernel for One<B> {
    type Output = B::Answer;

    #[inline(always)]
    fn run<I: Isa>(mut self, _: I) -> B::Answer {
        self.0.visit(self.1)
    }
}

impl<B: Blocks> Kernel for Many<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { blocks, hashes, answers } = self;
        prefetch_blocks(blocks, hashes.iter().take(PREFETCH_DISTANCE));
        let mut later = hashes.iter().skip(PREFETCH_DISTANCE);
        for (hash, answer) in hashes.iter().zip(answers) {
            prefetch_blocks(blocks, later.next());
            *answer = blocks.visit(*hash);
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
