//! What a filter must be to be the value of a key: one of this module, or one that the other module made.

use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::redisbloom::PeerFilter;
use crate::refusal::LoadRefusal;
use crate::server::{TypeSlot, random_bytes};

/// What a filter begins to count its changes from: another number each time that one is made or read, so
/// that a dump does not go on in another filter than it began in.
pub(crate) fn first_change() -> u64 {
    /// Odd and without pattern: the numbers of two filters differ in the bits that positions show.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static RANDOM: OnceLock<u64> = OnceLock::new();
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    let number = FILTERS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let random = RANDOM.get_or_init(|| u64::from_le_bytes(random_bytes()));
    // Positions show the lowest bits, and the highest of a product are the most varied.
    number.wrapping_add(*random).rotate_left(16)
}

/// Bytes by which an image may be longer than its filter's memory, and more: of a cuckoo filter those before
/// the first segment (docs/format.md, sections 1 and 2) are less than 1 kB more than the segments' own.
pub(crate) const FRONT: u64 = 16 << 10;
/// And by which each generation may: its row of the part table.
pub(crate) const PART: u64 = 64;
/// Generations of a filter, and its template.
pub(crate) const MOST_PARTS: u64 = 1002;

/// A filter of this module as the value of a key.
pub(crate) trait OwnFilter: Send + Sized + 'static {
    /// Writes its image, all that makes it what it is, without the first `start` bytes;
    /// `InvalidInput` if there are not as many.
    fn write_from(&self, start: u64, out: &mut dyn Write) -> io::Result<()>;

    /// Writes its image.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// Reads an image, of which these bytes were read already. Memory grows with what arrives.
    fn read(magic: [u8; 8], input: &mut dyn Read) -> Result<Self, LoadRefusal>;

    /// The length of the whole image, once enough of its beginning is there to tell.
    fn image_length(begun: &[u8]) -> Option<u64>;

    /// Bytes by which the image that begins with these bytes may be longer than its filter's memory.
    fn front(_begun: &[u8]) -> u64 {
        FRONT
    }

    /// Whether these bytes begin an image.
    fn is_begun(bytes: &[u8]) -> bool;

    /// A number that is another one after every change.
    fn changes(&self) -> u64;

    /// Bytes of memory, the same in a copy.
    fn memory_bytes(&self) -> u64;

    /// Bytes that the allocator has given for them, without the value's own.
    fn allocated_bytes(&self) -> u64;

    /// How many pieces of memory it consists of.
    fn pieces(&self) -> usize;

    /// A copy, if there is memory for it.
    fn try_clone(&self) -> Option<Self>;
}

/// A kind of filters.
pub(crate) trait Kind: Send + Sized + 'static {
    /// Those of this module.
    type Own: OwnFilter;
    /// Those of the other module.
    type Imported: PeerFilter + Send + 'static;
    /// The name of the type: the other module's, so that its dump files can be loaded.
    const NAME: &'static CStr;
    /// The command that loads chunks.
    const LOAD_COMMAND: &'static CStr;
    /// The event of a loaded chunk.
    const LOADED: &'static CStr;

    /// Where the server's name for the type is kept.
    fn slot() -> &'static TypeSlot;
}
