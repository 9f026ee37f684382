//! Errors. Each says what was found and what was expected.

use thiserror::Error;

/// The result of `insert_unique`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The key was absent, and was inserted.
    Inserted,
    /// The key was present, or, with the probability of the false-positive rate, another key that looks the same.
    /// Nothing was stored: if that other key is removed, this one is absent too.
    AlreadyPresent,
    /// Only in batches: the key was absent and there was no room, or it follows such a key in a batch that
    /// stops there. A call for one key returns [`Full`] instead.
    Refused,
}

impl Insertion {
    /// Whether the key was absent, and was inserted.
    #[inline]
    pub fn is_new(self) -> bool {
        self == Self::Inserted
    }
}

/// The filter refused an insert, and its answers did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", reason_of(self))]
pub struct Full {
    /// Items in the filter.
    pub items: u64,
    /// The filter's limit of items.
    pub max_items: u64,
    /// Why the insert was refused.
    pub reason: FullReason,
}

/// Why an insert was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullReason {
    /// `max_items` are stored: one more would exceed the stated false-positive rate.
    MaxItems,
    /// No slot can be freed, and the filter may not grow.
    NoRoom,
    /// There is not enough memory for growth.
    OutOfMemory,
}

fn reason_of(Full { items, max_items, reason }: &Full) -> String {
    match reason {
        FullReason::MaxItems => format!(
            "filter is full: it holds {items} items, and its limit is {max_items}; \
             build it for more items, or let it exceed its rate"
        ),
        FullReason::NoRoom => format!(
            "filter is full: no free slot can be reached with {items} items stored; \
             build it for more items, or let it grow"
        ),
        FullReason::OutOfMemory => {
            format!("filter cannot grow beyond {items} items: out of memory")
        }
    }
}

/// A batch in which an insert was refused: the first `done` keys were processed. The keys after the refused one are tried
/// only by a [`SharedCuckooFilter`](crate::SharedCuckooFilter).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{full} (after {done} keys of the batch)")]
pub struct BatchFull {
    /// Keys before the first refused one.
    pub done: usize,
    /// Why a key was refused.
    #[source]
    pub full: Full,
}

/// There is not enough memory, or not enough address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("out of memory: {}", asked_for(*bytes))]
pub struct OutOfMemory {
    /// Bytes requested (`u64::MAX` if more).
    pub bytes: u64,
}

/// Makes room for exactly `more` elements more.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    list.try_reserve_exact(more).map_err(|_| OutOfMemory { bytes })
}

/// An empty list with room for `elements` elements.
pub(crate) fn with_room<T>(elements: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    reserve(&mut list, elements)?;
    Ok(list)
}

/// A list of `count` equal elements.
pub(crate) fn repeated<T: Clone>(element: T, count: u64) -> Result<Vec<T>, OutOfMemory> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut list = with_room(count)?;
    list.resize(count, element);
    Ok(list)
}

fn asked_for(bytes: u64) -> String {
    match bytes {
        u64::MAX => "requested more bytes than can exist".to_owned(),
        bytes => format!("requested {bytes} bytes"),
    }
}

/// A filter cannot be built as described.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The false-positive rate is not a probability between 0 and 1.
    #[error("false-positive rate {rate} is not between 0 and 1 (such as 0.001)")]
    Rate {
        /// The requested rate.
        rate: f64,
    },
    /// The rate needs more than the 64 bits of the hash.
    #[error(
        "false-positive rate {rate:e} is too small for this number of items: a 64-bit hash allows {}; raise the rate or \
         lower the number of items",
        rounded_up(*smallest)
    )]
    RateTooSmall {
        /// The requested rate.
        rate: f64,
        /// The smallest rate possible for these items, which is accepted.
        smallest: f64,
    },
    /// A rate was given without the number of items up to which it must hold.
    #[error(
        "false-positive rate {rate} needs a number of items: set max_items (or the capacity) as well"
    )]
    RateWithoutItems {
        /// The requested rate.
        rate: f64,
    },
    /// Both a rate and hash bits were given; each determines the other.
    #[error("a false-positive rate and hash bits exclude each other; set one of them")]
    RateAndHashBits,
    /// Hash bits outside 8..=64.
    #[error("hash bits {bits} are not between 8 and 64")]
    HashBits {
        /// The requested bits.
        bits: u32,
    },
    /// The capacity exceeds `max_items`.
    #[error("capacity {capacity} is above the maximum of {max_items} items")]
    CapacityAboveMaxItems {
        /// The capacity.
        capacity: u64,
        /// The limit of items.
        max_items: u64,
    },
    /// There is not enough memory for the table.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// A rate rounded up to two digits: following the error's advice must succeed.
fn rounded_up(rate: f64) -> String {
    let near = format!("{rate:.1e}");
    if near.parse::<f64>().is_ok_and(|near| near >= rate) {
        return near;
    }
    // Rounding takes at most 0.05 of a mantissa that is at least 1.
    format!("{:.1e}", rate * 1.05)
}

/// Two filters cannot be merged; both are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Different hash algorithm, seed or key: the filters disagree about every key.
    #[error(
        "cannot merge filters with different hash algorithms or seeds; build both with the same"
    )]
    Hasher,
    /// The other filter remembers fewer or other bits of the hash than this one needs.
    #[error(
        "cannot merge a filter of {from_bits:.2} hash bits into one of {into_bits:.2}; build both with the \
         same capacity and rate, or the same hash bits"
    )]
    Resolution {
        /// Hash bits of this filter.
        into_bits: f64,
        /// Hash bits of the other one.
        from_bits: f64,
    },
    /// The windows differ, or only one filter has a window.
    #[error(
        "cannot merge filters with different windows; length, generations, clock and age must be the same"
    )]
    Window,
    /// The clock of each filter counts its own items, so the filters have no common time.
    #[error("cannot merge filters whose windows count items")]
    Count,
    /// This filter has no room for the other's items.
    #[error(transparent)]
    Full(#[from] Full),
}

/// A filter cannot be converted as requested.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The filter has a higher rate with the present items.
    #[error(
        "cannot convert a filter with a false-positive rate of {} to {rate:e}: without the keys, only higher rates \
         are possible",
        rounded_up(*smallest)
    )]
    Finer {
        /// The requested rate.
        rate: f64,
        /// The lowest possible rate.
        smallest: f64,
    },
    /// The target cannot be built.
    #[error(transparent)]
    Build(BuildError),
    /// The target cannot hold the items.
    #[error(transparent)]
    Full(Full),
}
