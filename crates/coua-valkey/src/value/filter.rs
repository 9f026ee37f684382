//! What a filter of this module must be to be the value of a key, and what the images of both kinds
//! have in common.

use std::io::{self, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::KeyHasher;

use crate::error::{CommandError, RdbError};
use crate::redisbloom::InsertError;
use crate::server::random_bytes;

/// What a filter begins to count its changes from: another number each time that one is made or
/// read, so that a dump does not go on in another filter than it began in.
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

/// Bytes by which an image may be longer than its filter's memory, and more: of a cuckoo filter
/// those before the first segment (docs/format.md, sections 1 and 2) are less than 1 kB more than
/// the segments' own.
pub(crate) const FRONT: u64 = 16 << 10;
/// And by which each generation may: its row of the part table.
pub(crate) const PART: u64 = 64;
/// Generations of a filter, and its template.
pub(crate) const MOST_PARTS: u64 = 1002;

/// A filter of this module as bytes.
pub(crate) trait FilterImage: Sized {
    /// Writes its image, all that makes it what it is, without the first `start` bytes;
    /// `InvalidInput` if there are not as many.
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()>;

    /// Writes its image.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image, of which these bytes were read already. Memory grows with what arrives.
    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, RdbError>;

    /// The length of the whole image, once enough of its beginning is there to tell.
    fn image_length(begun: &[u8]) -> Option<u64>;

    /// Bytes by which the image that begins with these bytes may be longer than its filter's
    /// memory.
    fn front(_begun: &[u8]) -> u64 {
        FRONT
    }

    /// Whether these bytes begin an image.
    fn is_begun(bytes: &[u8]) -> bool;
}

/// A filter of this module as the value of a key.
pub(crate) trait NativeFilter: FilterImage + Send + 'static {
    /// Which items an insert takes.
    type Copies: Copy;

    /// Inserts an item, and tells what became of it.
    fn insert_item(&mut self, item: &[u8], copies: Self::Copies, limit: Option<u64>) -> Outcome;

    /// Inserts items in order, and tells what became of each.
    fn insert_items(
        &mut self,
        items: &[&[u8]],
        copies: Self::Copies,
        limit: Option<u64>,
    ) -> Outcomes;

    /// Whether the item seems to be there.
    fn contains(&self, item: &[u8]) -> bool;

    /// Which items seem to be there.
    fn contains_all(&self, items: &[&[u8]]) -> Vec<bool>;

    /// Items that are there, copies included.
    fn len(&self) -> u64;

    /// A number that is another one after every change.
    fn changes(&self) -> u64;

    /// Bytes of memory, the same in a copy.
    fn memory_bytes(&self) -> u64;

    /// Bytes that the allocator has given for them, without the value's own.
    fn allocated_bytes(&self) -> u64;

    /// How many pieces of memory it consists of.
    fn pieces(&self) -> usize;

    /// A copy in memory of its own.
    fn try_clone(&self) -> Result<Self, CommandError>;
}

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"CouaKey1";

/// Whether these bytes look like the beginning of an image, though some of them may be damaged.
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

/// The number at an offset, little endian; 0 if it is not there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

/// The number at an offset, little endian.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is in.
    Inserted,
    /// It was there.
    Present,
    /// It is not in.
    Refused(CommandError),
}

impl Outcome {
    /// Of an insert into a filter of the other module: whether it was absent.
    pub(crate) fn of_imported(inserted: Result<bool, InsertError>) -> Self {
        match inserted {
            Ok(true) => Self::Inserted,
            Ok(false) => Self::Present,
            Err(error) => Self::Refused(CommandError::of_insert(&error)),
        }
    }

    /// Whether it went in.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, Self::Inserted)
    }

    /// Whether it was refused.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// What became of each item of a batch, in order.
pub(crate) type Outcomes = Vec<Outcome>;
