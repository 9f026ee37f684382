//! Traits of this module's filters as values of keys, and the common parts of their images.

use std::io::{self, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::KeyHasher;

use crate::error::{CommandError, RdbError};
use crate::redisbloom::InsertError;
use crate::server::random_bytes;

/// The initial count of a filter's changes: a different number for each filter that is created or
/// read, so that a dump cannot continue in another filter than it began in.
pub(crate) fn first_change() -> u16 {
    /// Odd and without pattern: the numbers of two filters differ in the bits that positions show.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static RANDOM: OnceLock<u64> = OnceLock::new();
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    let number = FILTERS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let random = RANDOM.get_or_init(|| u64::from_le_bytes(random_bytes()));
    // The highest bits of a product are the most varied.
    (number.wrapping_add(*random) >> 48) as u16
}

/// An upper bound of the bytes by which an image may exceed its filter's memory: in a cuckoo filter
/// the bytes before the first segment (docs/format.md, sections 1 and 2) exceed the segments' own by less than 1 kB.
pub(crate) const FRONT: u64 = 16 << 10;
/// The same for each generation: its row of the part table.
pub(crate) const PART: u64 = 64;
/// Generations of a filter, and its template.
pub(crate) const MOST_PARTS: u64 = 1002;

/// A filter of this module as bytes.
pub(crate) trait FilterImage: Sized {
    /// Writes its complete image without the first `start` bytes. Returns `InvalidInput` if it is shorter.
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()>;

    /// Writes its image.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image whose magic was already read. Memory grows with the bytes that arrive.
    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError>;

    /// The length of the whole image, if enough of its beginning is available.
    fn image_length(begun: &[u8]) -> Option<u64>;

    /// Bytes by which the image that begins with these bytes may exceed its filter's
    /// memory.
    fn front(_begun: &[u8]) -> u64 {
        FRONT
    }

    /// Whether these bytes begin an image.
    fn is_begun(bytes: &[u8]) -> bool;
}

/// A filter of this module as the value of a key.
pub(crate) trait NativeFilter: FilterImage + Send + 'static {
    /// Which items an insert adds.
    type Copies: Copy;

    /// Inserts an item, and returns the outcome.
    fn insert_item(&mut self, item: &[u8], copies: Self::Copies, limit: Option<u64>) -> Outcome;

    /// Inserts items in order, and returns an outcome for each.
    fn insert_items(
        &mut self,
        items: &[&[u8]],
        copies: Self::Copies,
        limit: Option<u64>,
    ) -> Outcomes;

    /// Whether the item seems to be present.
    fn contains(&self, item: &[u8]) -> bool;

    /// Which items seem to be present.
    fn contains_all(&self, items: &[&[u8]]) -> Vec<bool>;

    /// The number of items, including copies.
    fn len(&self) -> u64;

    /// A number that differs after every change.
    fn changes(&self) -> u64;

    /// Bytes of memory, the same in a copy.
    fn memory_bytes(&self) -> u64;

    /// Bytes allocated for them, without the value itself.
    fn allocated_bytes(&self) -> u64;

    /// The number of its pieces of memory.
    fn pieces(&self) -> usize;

    /// Copies the filter.
    fn try_clone(&self) -> Result<Self, CommandError>;
}

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"CouaKey1";

/// Whether these bytes look like the beginning of an image, even if some are damaged.
pub(crate) fn begins_image(bytes: &[u8]) -> bool {
    let alike = bytes.iter().zip(MAGIC).filter(|&(&found, expected)| found == expected);
    alike.count() * 2 > MAGIC.len()
}

/// The hash of all filters that are created here.
pub(crate) const SIPHASH_1_3: u32 = 2;
/// The hash of filters without a secret, which come from files.
pub(crate) const XXH3: u32 = 1;

/// XXH3-64 with seed 0.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}

/// The number at an offset, little endian; 0 if the bytes are too short.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

/// The number at an offset, little endian.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The outcome of inserting an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It was inserted.
    Inserted,
    /// It was present.
    Present,
    /// It was not inserted.
    Refused(CommandError),
}

impl Outcome {
    /// The outcome of an insert into a RedisBloom filter, which returned whether it was absent.
    pub(crate) fn of_imported(inserted: Result<bool, InsertError>) -> Self {
        match inserted {
            Ok(true) => Self::Inserted,
            Ok(false) => Self::Present,
            Err(error) => Self::Refused(CommandError::of_insert(&error)),
        }
    }

    /// Whether it was inserted.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, Self::Inserted)
    }

    /// Whether it was refused.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// The outcomes of a batch, in order.
pub(crate) type Outcomes = Vec<Outcome>;
