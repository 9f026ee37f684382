//! [`BlockedBloomFilter`]: one cache line per key, byte for byte the filter of Parquet files.

use std::io::{self, Write};
use std::ops::BitOr;

use super::block::Block;
use super::burst;
use super::error::{BloomLoadError, BloomMergeError, check_equal};
use crate::error::{Insertion, repeated, with_room};
use crate::hash::{Key, KeyHasher};
use crate::sizing::bloom::{
    BlockedBloomPlan, BloomBuildError, block_count_estimate, rate_of_low_bits,
};
use crate::summary::summary;

/// A Bloom filter of 256-bit blocks in which every operation reads one cache line, O(1). It takes
/// more bits than a [`BloomFilter`](crate::bloom::BloomFilter) of the same rate (a tenth more at 1 %, a
/// sixth at 0.1 %, a third at 0.01 %), but is several times faster.
///
/// The layout is the split-block Bloom filter of Apache Parquet: the upper 32 bits of the hash
/// choose the block, the lower 32 one bit in each of its eight words. Parquet hashes the plain
/// encoding of a value with XXH64, seed 0; to read or write such a filter, use these hashes as
/// [`KeyHash`](crate::KeyHash) keys, with [`from_bytes`](Self::from_bytes) and [`to_bytes`](Self::to_bytes).
///
/// Building, reading and writing a filter take O(blocks); methods that describe it take O(1) unless they
/// say otherwise.
///
/// Inserts take `&mut self`: four locked instructions for each would make them three to four times
/// slower. For inserts by several threads use one filter each and [`merge`](Self::merge) them, or a
/// [`BloomFilter`](crate::bloom::BloomFilter).
///
/// ```
/// use coua::{Insertion, bloom::BlockedBloomFilter};
///
/// let mut filter = BlockedBloomFilter::with_capacity(1_000_000, 0.01)?;
/// assert_eq!(filter.insert_unique("kestrel"), Insertion::Inserted);
/// assert_eq!(filter.insert_unique("kestrel"), Insertion::AlreadyPresent);
/// assert!(filter.contains("kestrel") && !filter.contains("osprey"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct BlockedBloomFilter {
    pub(super) blocks: Vec<Block>,
    hasher: KeyHasher,
}

impl BlockedBloomFilter {
    /// The smallest filter that keeps the false-positive rate `rate` (0..1) up to `items` distinct
    /// keys; 0 counts as 1. Beyond that the rate rises; [`false_positive_rate`] returns it.
    ///
    /// [`false_positive_rate`]: Self::false_positive_rate
    ///
    /// # Errors
    ///
    /// A rate that is not between 0 and 1, or out of reach of 2^32 blocks; not enough memory.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        Self::from_plan(BlockedBloomPlan::for_rate(items, rate)?, KeyHasher::default())
    }

    /// A filter of `blocks` blocks of 32 bytes.
    ///
    /// # Errors
    ///
    /// No blocks or more than 2^32; not enough memory.
    pub fn with_blocks(blocks: u64) -> Result<Self, BloomBuildError> {
        Self::from_plan(BlockedBloomPlan::new(blocks)?, KeyHasher::default())
    }

    /// A filter as planned, with another hasher: a seed, or a secret key.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn from_plan(plan: BlockedBloomPlan, hasher: KeyHasher) -> Result<Self, BloomBuildError> {
        Ok(Self { blocks: repeated(Block::default(), plan.blocks())?, hasher })
    }

    /// Whether `key` was inserted: false is always right, true is wrong at the false-positive rate.
    #[inline]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        burst::run(burst::One(&self.blocks[..], hash))
    }

    /// Inserts `key`. `Inserted` is certain. `AlreadyPresent` may be a false positive; the filter is then unchanged.
    #[inline]
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Insertion {
        let hash = key.hash_with(self.hasher);
        burst::run(burst::One(&mut self.blocks[..], hash))
    }

    /// Removes all keys. O(blocks).
    pub fn clear(&mut self) {
        self.blocks.fill(Block::default());
    }

    /// Union: afterwards the filter holds the keys of both, bit for bit as if they had been
    /// inserted into it. O(blocks).
    ///
    /// # Errors
    ///
    /// Different size or hash; nothing is changed.
    #[doc(alias = "union")]
    pub fn merge(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_equal_size(other)?;
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(block, &more)| block.union_with(more));
        Ok(())
    }

    /// Intersection: afterwards the filter holds the keys that were in both; see
    /// [`BloomFilter::intersect`](crate::bloom::BloomFilter::intersect). O(blocks).
    ///
    /// # Errors
    ///
    /// Different size or hash; nothing is changed.
    #[doc(alias = "intersection")]
    pub fn intersect(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_equal_size(other)?;
        let pairs = self.blocks.iter_mut().zip(&other.blocks);
        pairs.for_each(|(block, &kept)| block.intersect_with(kept));
        Ok(())
    }

    /// How many distinct keys were inserted, estimated from the bits that are set. Infinite if
    /// every bit is set. O(blocks).
    pub fn count_estimate(&self) -> f64 {
        let ones = self.blocks.iter().map(|block| u64::from(block.ones())).sum();
        block_count_estimate(self.blocks(), ones)
    }

    /// The false-positive rate now, 0..=1, from the bits that are set. O(blocks).
    pub fn false_positive_rate(&self) -> f64 {
        let rates: f64 = self.blocks.iter().map(Block::false_positive_rate).sum();
        let blocks = self.blocks.len() as f64;
        (rates / blocks + rate_of_low_bits(self.count_estimate() / blocks)).min(1.0)
    }

    /// Blocks of 256 bits.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// The hash of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Bytes of memory that hold the bits.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.blocks[..])
    }

    /// The bit set as in a Parquet file: the blocks in order, each as eight 32-bit words,
    /// little endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let blocks: Vec<_> = self.blocks.iter().map(|block| block.to_bytes()).collect();
        blocks.into_flattened().into_flattened()
    }

    /// Writes the [`memory_bytes`](Self::memory_bytes) bytes of [`to_bytes`](Self::to_bytes) without allocating memory
    /// for them.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        self.blocks.iter().try_for_each(|block| out.write_all(block.to_bytes().as_flattened()))
    }

    /// The filter whose bit set is `bytes`, from [`to_bytes`](Self::to_bytes) or a Parquet file.
    /// `hasher` hashes keys given as bytes; use [`KeyHash`](crate::KeyHash) keys if they are hashed otherwise.
    ///
    /// # Errors
    ///
    /// A length that is not a whole number of blocks, or zero; not enough memory.
    pub fn from_bytes(bytes: &[u8], hasher: KeyHasher) -> Result<Self, BloomLoadError> {
        let (words, no_bytes) = bytes.as_chunks();
        let (chunks, no_words) = words.as_chunks();
        let plan = BlockedBloomPlan::new(chunks.len() as u64);
        if !(no_bytes.is_empty() && no_words.is_empty() && plan.is_ok()) {
            return Err(BloomLoadError::Blocks { found: bytes.len() as u64 });
        }
        let mut blocks = with_room(chunks.len()).map_err(BloomBuildError::from)?;
        blocks.extend(chunks.iter().map(Block::from_bytes));
        Ok(Self { blocks, hasher })
    }

    fn check_equal_size(&self, other: &Self) -> Result<(), BloomMergeError> {
        check_equal(self.hasher, other.hasher, |_, _| BloomMergeError::Hash)?;
        let [left, right] = [self, other].map(|filter| filter.blocks() * 256);
        check_equal(left, right, |left, right| BloomMergeError::Bits { left, right })
    }
}

impl BitOr for &BlockedBloomFilter {
    type Output = Result<BlockedBloomFilter, BloomMergeError>;

    /// The union, as by [`merge`](BlockedBloomFilter::merge). O(blocks).
    fn bitor(self, other: Self) -> Self::Output {
        let mut union = self.clone();
        union.merge(other).map(|()| union)
    }
}

impl<K: Key> Extend<K> for BlockedBloomFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert_unique(key);
        }
    }
}

summary!(BlockedBloomFilter: blocks, count_estimate);
