//! The filter of filters: what it is made of, and what it tells.

use std::fmt;

use crate::error::{Full, FullReason, MergeError, OutOfMemory};
use crate::filter::{CuckooFilter, WhenFull};
use crate::hash::KeyHasher;
use crate::window::{Clock, Window, WindowMergeError};

/// A filter that forgets by age; or one that never forgets, which is a [`CuckooFilter`] behind another
/// name, so that a program need not care which it has.
///
/// Time is told to it: it has no clock. It never goes back.
///
/// ```
/// use coua::{Clock, CuckooFilter, Generations, Window};
/// let hour = Window::new(Clock::Arrival, 3_600_000, 6)?;
/// let mut seen = Generations::new(hour, CuckooFilter::new());
/// seen.advance(1_000_000_000, &mut ());
/// seen.insert_unique("a")?;
/// seen.advance(1_000_000_000 + 3_600_000, &mut ());
/// assert!(seen.contains("a"));
/// seen.advance(1_000_000_000 + 3_600_000 + 600_000, &mut ());
/// assert!(!seen.contains("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generations {
    /// Ascending by number. Without a window there is one, with the number 0.
    pub(super) live: Vec<Live>,
    pub(super) aging: Option<Aging>,
}

/// A generation that is not forgotten.
pub(super) struct Live {
    pub(super) number: u64,
    pub(super) filter: CuckooFilter,
}

/// What makes a filter forget.
pub(super) struct Aging {
    pub(super) window: Window,
    /// Where a time is the clock's, it is the beginning of its generation; counts are exact.
    pub(super) clock: u64,
    /// Empty; every generation begins as a copy.
    pub(super) mould: CuckooFilter,
    /// Items forgotten, and items too old to be remembered, since this value was made.
    pub(super) forgotten: u64,
    pub(super) outdated: u64,
}

/// One generation, for a description.
#[derive(Clone, Copy, Debug)]
pub struct Generation<'a> {
    /// Its number: its times divided by the length of a generation.
    pub number: u64,
    /// The first time of it.
    pub from: u64,
    /// The first time after it.
    pub until: u64,
    /// What it holds.
    pub filter: &'a CuckooFilter,
}

impl Generations {
    /// A filter that forgets. Every generation begins as a copy of `mould`, an empty filter; its
    /// `max_items` are the items of all generations together.
    ///
    /// # Panics
    ///
    /// If `mould` holds items.
    ///
    /// ```
    /// use coua::{Clock, CuckooFilter, Generations, Window};
    /// let last = Window::new(Clock::Count, 1_000_000, 10)?;
    /// assert!(Generations::new(last, CuckooFilter::new()).is_empty());
    /// # Ok::<(), coua::WindowError>(())
    /// ```
    pub fn new(window: Window, mould: CuckooFilter) -> Self {
        assert!(mould.is_empty(), "generations begin empty");
        let aging = Aging { window, clock: 0, mould, forgotten: 0, outdated: 0 };
        Self { live: Vec::new(), aging: Some(aging) }
    }

    /// The window; none if it never forgets.
    ///
    /// ```
    /// assert!(coua::Generations::default().window().is_none());
    /// ```
    pub fn window(&self) -> Option<Window> {
        self.aging.as_ref().map(|aging| aging.window)
    }

    /// The present, as far as it was told: where items have times, to the beginning of a generation.
    ///
    /// ```
    /// # use coua::{Clock, CuckooFilter, Generations, Window};
    /// # let window = Window::new(Clock::Arrival, 60_000, 6)?;
    /// let mut seen = Generations::new(window, CuckooFilter::new());
    /// seen.advance(1_234_567, &mut ());
    /// assert_eq!(seen.clock(), 1_230_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(&self) -> u64 {
        self.aging.as_ref().map_or(0, |aging| aging.clock)
    }

    /// What is remembered, by age, the oldest first. A generation without items may be missing.
    ///
    /// ```
    /// let endless = coua::Generations::default();
    /// assert_eq!(endless.generations().count(), 1);
    /// ```
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = Generation<'_>> {
        let step = self.window().map_or(u64::MAX, |window| window.step());
        self.live.iter().map(move |Live { number, filter }| {
            let from = number.saturating_mul(step);
            Generation { number: *number, from, until: from.saturating_add(step), filter }
        })
    }

    /// What every generation is like: its hash, its rate, its limits.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().mould().slots_per_bucket(), 4);
    /// ```
    pub fn mould(&self) -> &CuckooFilter {
        match &self.aging {
            Some(aging) => &aging.mould,
            None => &self.live[0].filter,
        }
    }

    /// The filter, if it never forgets.
    ///
    /// ```
    /// assert!(coua::Generations::default().endless().is_some());
    /// ```
    pub fn endless(&self) -> Option<&CuckooFilter> {
        if self.aging.is_some() { None } else { Some(&self.live[0].filter) }
    }

    /// As [`endless`](Self::endless), to be changed.
    ///
    /// ```
    /// let mut seen = coua::Generations::default();
    /// seen.endless_mut().map(|filter| filter.reserve(1_000_000)).transpose()?;
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn endless_mut(&mut self) -> Option<&mut CuckooFilter> {
        if self.aging.is_some() { None } else { Some(&mut self.live[0].filter) }
    }

    /// Items forgotten since this value was made or loaded.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().forgotten(), 0);
    /// ```
    pub fn forgotten(&self) -> u64 {
        self.aging.as_ref().map_or(0, |aging| aging.forgotten)
    }

    /// Items that were too old to be remembered since this value was made or loaded.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().outdated(), 0);
    /// ```
    pub fn outdated(&self) -> u64 {
        self.aging.as_ref().map_or(0, |aging| aging.outdated)
    }

    /// Items in all generations, every copy counted.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().len(), 0);
    /// ```
    pub fn len(&self) -> u64 {
        self.sum(CuckooFilter::len)
    }

    /// Whether there is no item.
    ///
    /// ```
    /// assert!(coua::Generations::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that the memory taken so far is planned for.
    ///
    /// ```
    /// assert!(coua::Generations::default().capacity() >= 15_000);
    /// ```
    pub fn capacity(&self) -> u64 {
        self.sum(CuckooFilter::capacity)
    }

    /// Items up to which the stated rate holds, in all generations together; `u64::MAX` if there is no
    /// limit.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().max_items(), u64::MAX);
    /// ```
    pub fn max_items(&self) -> u64 {
        self.mould().max_items()
    }

    /// Places for fingerprints.
    ///
    /// ```
    /// assert!(coua::Generations::default().slots() >= 15_000);
    /// ```
    pub fn slots(&self) -> u64 {
        self.sum(CuckooFilter::slots)
    }

    /// Bits of a slot in the segments that were split most.
    ///
    /// ```
    /// assert!(coua::Generations::default().slot_bits() > 40);
    /// ```
    pub fn slot_bits(&self) -> u32 {
        let least = self.filters().map(CuckooFilter::slot_bits).min();
        least.unwrap_or_else(|| self.mould().slot_bits())
    }

    /// Segments of all generations.
    ///
    /// ```
    /// assert!(coua::Generations::default().segments() >= 1);
    /// ```
    pub fn segments(&self) -> u64 {
        self.sum(|filter| filter.segments() as u64)
    }

    /// The hash of the keys.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().hasher(), coua::KeyHasher::default());
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.mould().hasher()
    }

    /// Slots in use, 0..=1.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().load(), 0.0);
    /// ```
    pub fn load(&self) -> f64 {
        let used: f64 = self.filters().map(|filter| filter.load() * filter.slots() as f64).sum();
        used / self.slots().max(1) as f64
    }

    /// Bits of every key's hash that are remembered. A question meets all generations: the
    /// false-positive rate with n items in them together is n / 2^`hash_bits`.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().hash_bits(), 64.0);
    /// ```
    pub fn hash_bits(&self) -> f64 {
        self.mould().hash_bits()
    }

    /// Probability that `contains` is true for a key that is absent, with the items there are now.
    ///
    /// ```
    /// assert_eq!(coua::Generations::default().false_positive_rate(), 0.0);
    /// ```
    pub fn false_positive_rate(&self) -> f64 {
        self.filters().map(CuckooFilter::false_positive_rate).sum::<f64>().min(1.0)
    }

    /// Bytes of memory, those of the mould included.
    ///
    /// ```
    /// assert!(coua::Generations::default().memory_bytes() < 300_000);
    /// ```
    pub fn memory_bytes(&self) -> usize {
        let mould = self.aging.as_ref().map_or(0, |aging| aging.mould.memory_bytes());
        mould + self.filters().map(CuckooFilter::memory_bytes).sum::<usize>()
    }

    /// Gives memory back after removals, in every generation.
    ///
    /// ```
    /// coua::Generations::default().compact();
    /// ```
    pub fn compact(&mut self) {
        self.live.iter_mut().for_each(|live| live.filter.compact());
    }

    /// A copy, unless memory lacks.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not as much memory again.
    ///
    /// ```
    /// assert!(coua::Generations::default().try_clone()?.is_empty());
    /// # Ok::<(), coua::OutOfMemory>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let copied =
            |live: &Live| Ok(Live { number: live.number, filter: live.filter.try_clone()? });
        let aging = self
            .aging
            .as_ref()
            .map(|aging| Ok(Aging { mould: aging.mould.try_clone()?, ..*aging }));
        Ok(Self {
            live: self.live.iter().map(copied).collect::<Result<_, _>>()?,
            aging: aging.transpose()?,
        })
    }

    /// Adds all items of `other`, each to the generation of its time; the later clock counts.
    ///
    /// # Errors
    ///
    /// [`WindowMergeError`] if they do not forget alike, or their filters cannot be merged; nothing has
    /// changed then.
    ///
    /// ```
    /// let (mut one, mut two) = (coua::Generations::default(), coua::Generations::default());
    /// two.insert_unique("a")?;
    /// one.merge(&two)?;
    /// assert!(one.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<(), WindowMergeError> {
        if self.window() != other.window() {
            return Err(WindowMergeError::Window);
        }
        if self.window().is_some_and(|window| window.clock() == Clock::Count) {
            return Err(WindowMergeError::Count);
        }
        let reason = FullReason::OutOfMemory;
        let no_memory = |_| MergeError::Full(Full { reason, ..self.full() });
        let mut merged = self.try_clone().map_err(no_memory)?;
        merged.turn(other.clock());
        for Live { number, filter } in &other.live {
            if merged.remembers(*number) {
                merged.generation(*number).map_err(MergeError::Full)?.merge(filter)?;
            }
        }
        if merged.len() > merged.limit() {
            return Err(MergeError::Full(merged.full()).into());
        }
        *self = merged;
        Ok(())
    }

    pub(super) fn filters(&self) -> impl Iterator<Item = &CuckooFilter> {
        self.live.iter().map(|live| &live.filter)
    }

    fn sum(&self, of: impl Fn(&CuckooFilter) -> u64) -> u64 {
        self.filters().map(of).fold(0, u64::saturating_add)
    }

    /// Items that may be in all generations together.
    pub(super) fn limit(&self) -> u64 {
        match self.mould().when_full() {
            WhenFull::ExceedRate => u64::MAX,
            _ => self.max_items(),
        }
    }

    /// Why there is no more.
    pub(super) fn full(&self) -> Full {
        Full { items: self.len(), max_items: self.max_items(), reason: FullReason::MaxItems }
    }
}

impl From<CuckooFilter> for Generations {
    /// A filter that never forgets.
    fn from(filter: CuckooFilter) -> Self {
        Self { live: vec![Live { number: 0, filter }], aging: None }
    }
}

impl Default for Generations {
    fn default() -> Self {
        CuckooFilter::new().into()
    }
}

impl fmt::Debug for Generations {
    /// A summary, not the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generations")
            .field("window", &self.window())
            .field("clock", &self.clock())
            .field("live", &self.live.len())
            .field("len", &self.len())
            .field("mould", self.mould())
            .finish_non_exhaustive()
    }
}
