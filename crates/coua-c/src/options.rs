//! How a filter is to be.

use std::mem::MaybeUninit;
use std::ptr;

use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHasher, SharedCuckooFilter, WhenFull};
use coua_store::Requirements;

use crate::failure::{Failure, Outcome};
use crate::pointer;
use crate::status::coua_status::COUA_MISMATCH;

/// What a filter does when it has no room for a key.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum coua_when_full {
    /// It grows, up to max_items.
    COUA_GROW = 0,
    /// It refuses the key: COUA_FULL.
    COUA_REFUSE = 1,
    /// It grows, even beyond max_items, where its rate rises.
    COUA_EXCEED = 2,
}

/// The clock of a filter's window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum coua_clock {
    /// No window.
    COUA_CLOCK_NONE = 0,
    /// The system's clock.
    COUA_CLOCK_ARRIVAL = 1,
    /// The times given to coua_window_advance() and coua_window_insert_unique_batch(), in milliseconds.
    COUA_CLOCK_GIVEN = 2,
    /// The number of keys.
    COUA_CLOCK_COUNT = 3,
}

/// When the age of a key begins in a filter with a window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum coua_window_by {
    /// When it was inserted.
    COUA_BY_FIRST_SEEN = 0,
    /// At the last call that inserted it, or would have inserted it if absent: a repeat extends its time.
    COUA_BY_LAST_SEEN = 1,
}

/// The options of a filter. Call coua_options_init() first; 0 means the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct coua_options {
    /// sizeof(coua_options), set by coua_options_init().
    pub size: usize,
    /// Keys to make room for at once.
    pub capacity: u64,
    /// The highest false-positive rate, such as 0.001, with max_items keys. Without a rate and hash_bits, all 64 bits
    /// of every key's hash are stored: among a billion keys, 0.03 wrong answers are expected.
    pub rate: f64,
    /// Keys up to which the rate holds. Default with a rate: capacity.
    pub max_items: u64,
    /// The seed of the hash.
    pub seed: u64,
    /// A secret key of 16 bytes instead of a seed, if an attacker may choose keys that collide; or NULL.
    pub key: *const u8,
    /// The length of the window: milliseconds, or keys.
    pub window_length: u64,
    /// A coua_clock.
    pub window_clock: u32,
    /// Parts of the window, of which the oldest is forgotten as a whole. Default: 8.
    pub window_generations: u32,
    /// A coua_window_by.
    pub window_by: u32,
    /// Bits of every key's hash to store, instead of a rate.
    pub hash_bits: u32,
    /// A coua_when_full.
    pub when_full: u32,
}

/// Options, understood.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) requirements: Requirements,
    pub(crate) key: Option<[u8; 16]>,
}

impl coua_options {
    /// Bytes of the options of version 0.1, which every caller knows.
    const LEAST_SIZE: usize = size_of::<Self>();

    /// Fails if a caller cannot have options of that many bytes.
    pub(crate) fn check_size(size: usize) -> Outcome {
        // No version will have more than that.
        if (Self::LEAST_SIZE..=4096).contains(&size) {
            return Ok(());
        }
        let least = Self::LEAST_SIZE;
        Err(Failure::invalid(format_args!(
            "options.size is {size}, expected {least} or more; call coua_options_init() first"
        )))
    }

    /// The options of a caller that may know fewer or more of them. Null: all defaults.
    ///
    /// # Safety
    ///
    /// A pointer that is not null points to `size` bytes, its first field.
    pub(crate) unsafe fn of(options: *const Self) -> Outcome<Wanted> {
        if options.is_null() {
            return Ok(Wanted::default());
        }
        // SAFETY: the caller's promise; the size is the first field.
        let &size = unsafe { pointer::value(options.cast::<usize>(), "options") }?;
        Self::check_size(size)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { pointer::values(options.cast::<u8>(), size, "options") }?;
        let mut known = MaybeUninit::<Self>::zeroed();
        let (ours, unknown) = bytes.split_at(size.min(size_of::<Self>()));
        if unknown.iter().any(|byte| *byte != 0) {
            return Err(Failure::invalid(
                "options has a field that this version does not know; link the libcoua of this coua.h",
            ));
        }
        // SAFETY: both are that long.
        unsafe { ptr::copy_nonoverlapping(ours.as_ptr(), known.as_mut_ptr().cast(), ours.len()) };
        // SAFETY: every bit pattern is a value of each field; the rest is the caller's promise.
        unsafe { known.assume_init().understood() }
    }

    /// # Safety
    ///
    /// A key that is not null points to 16 bytes.
    unsafe fn understood(&self) -> Outcome<Wanted> {
        // SAFETY: the caller's promise.
        let key = unsafe { pointer::secret(self.key) }?;
        if key.is_some() && self.seed != 0 {
            return Err(Failure::invalid("options has both a seed and a key; set one of them"));
        }
        let hasher = key.map(|key| KeyHasher::SipHash13 { key });
        let rate = Some(self.rate).filter(|rate| *rate != 0.0);
        let requirements = Requirements {
            capacity: given(self.capacity),
            rate,
            max_items: given(self.max_items),
            hash_bits: given(self.hash_bits),
            when_full: one_of(
                "when_full",
                self.when_full,
                &[None, Some(WhenFull::Refuse), Some(WhenFull::ExceedRate)],
            )?,
            hasher: hasher.or_else(|| given(self.seed).map(|seed| KeyHasher::Xxh3 { seed })),
            window: self.window()?,
        };
        Ok(Wanted { requirements, key })
    }

    fn window(&self) -> Outcome<Option<Window>> {
        let clocks = [None, Some(Clock::Arrival), Some(Clock::Given), Some(Clock::Count)];
        let Some(clock) = one_of("window_clock", self.window_clock, &clocks)? else {
            if [self.window_generations, self.window_by] != [0; 2] || self.window_length != 0 {
                return Err(Failure::invalid(
                    "window_length, window_generations and window_by need a window_clock, such as COUA_CLOCK_ARRIVAL",
                ));
            }
            return Ok(None);
        };
        // As many as in the program if nothing is said.
        let generations = given(self.window_generations).unwrap_or(8);
        let by = one_of("window_by", self.window_by, &[None, Some(AgeFrom::LastSeen)])?;
        let window = Window::new(clock, self.window_length, generations);
        let window = window.map(|window| window.counted_from(by.unwrap_or_default()));
        window.map(Some).map_err(Failure::invalid)
    }
}

impl Wanted {
    /// A new filter for many threads.
    pub(crate) fn build_shared(&self) -> Outcome<SharedCuckooFilter> {
        if self.requirements.window.is_some() {
            return Err(Failure::unsupported(
                "a shared filter cannot have a window; create it without shards: threads may use every filter",
            ));
        }
        Ok(SharedCuckooFilter::from_filter(&self.requirements.builder().build()?)?)
    }

    /// Fails if a filter that exists is not as it was described.
    pub(crate) fn check(&self, filter: &Generations) -> Outcome {
        match self.requirements.difference(filter) {
            None => Ok(()),
            Some(found) => Err(Failure::new(COUA_MISMATCH, found)),
        }
    }
}

/// A number that was set.
fn given<T: Default + PartialEq>(number: T) -> Option<T> {
    Some(number).filter(|number| *number != T::default())
}

fn one_of<T: Copy>(option: &str, number: u32, all: &[T]) -> Outcome<T> {
    let found = all.get(number as usize).copied();
    found.ok_or_else(|| {
        Failure::invalid(format_args!(
            "{option} is {number}; expected 0 to {}, see coua.h",
            all.len() - 1
        ))
    })
}
