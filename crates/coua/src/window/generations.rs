//! The fields of a filter that forgets.

use crate::builder::CuckooFilterBuilder;
use crate::error::{BuildError, Full, FullReason};
use crate::filter::CuckooFilter;
use crate::window::{Clock, Window};

/// A filter that forgets by age; or one that never forgets, a [`CuckooFilter`] with the same interface, so
/// that a program need not care which it has.
///
/// It has no clock: the caller tells it the time, which never goes back.
///
/// With g generations (at most one more than the window has; one without a window), an operation takes
/// O(g) expected time for each key. The first item of a generation copies the template, O(segments). What
/// describes the filter takes O(g), unless it says otherwise.
///
/// ```
/// use coua::CuckooFilter;
/// use coua::window::{Clock, Generations, Window};
///
/// let hour = Window::new(Clock::Arrival, 3_600_000, 6)?;
/// let mut seen = Generations::new(hour, CuckooFilter::new());
/// seen.advance(1_000_000_000);
/// seen.insert_unique("a")?;
/// seen.advance(1_000_000_000 + 3_600_000);
/// assert!(seen.contains("a"));
/// seen.advance(1_000_000_000 + 3_600_000 + 600_000);
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
    /// A clock's time is kept as the beginning of its generation; a count of items is exact.
    pub(super) clock: u64,
    /// Empty; every generation begins as a copy.
    pub(super) template: CuckooFilter,
    /// Items forgotten, and items too old to be remembered, since this value was made.
    pub(super) forgotten: u64,
    pub(super) outdated: u64,
}

/// One generation, for a description.
#[derive(Clone, Copy, Debug)]
pub struct Generation<'a> {
    /// Its number: its times divided by the length of a generation.
    pub number: u64,
    /// Its first time.
    pub from: u64,
    /// The first time after it.
    pub until: u64,
    /// What it holds.
    pub filter: &'a CuckooFilter,
}

impl Generations {
    /// A filter that forgets. Every generation begins as a copy of `template`, an empty filter; its
    /// `max_items` are the items of all generations together.
    ///
    /// # Panics
    ///
    /// If `template` holds items.
    pub fn new(window: Window, template: CuckooFilter) -> Self {
        assert!(template.is_empty(), "generations begin empty");
        let aging = Aging { window, clock: 0, template, forgotten: 0, outdated: 0 };
        Self { live: Vec::new(), aging: Some(aging) }
    }

    /// A filter that forgets, where `all` describes its generations together: each has room for its share of the
    /// capacity, and a rate holds for the items of all of them. Without `max_items` these are the items of a window
    /// that counts, or the capacity.
    ///
    /// # Errors
    ///
    /// As [`CuckooFilterBuilder::build`].
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua::window::{Clock, Generations, Window};
    ///
    /// let last = Window::new(Clock::Count, 1_000_000, 10)?;
    /// let seen = Generations::build(last, CuckooFilter::builder().capacity(1_000_000).rate(0.001))?;
    /// assert_eq!(seen.max_items(), 1_100_000);
    /// assert!(seen.template().capacity() < 200_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(window: Window, mut all: CuckooFilterBuilder) -> Result<Self, BuildError> {
        let counted = (window.clock() == Clock::Count).then(|| window.length() + window.step());
        all.max_items = all.max_items.or(counted).or(all.rate.and(all.capacity));
        all.capacity = all.capacity.map(|items| items.div_ceil(u64::from(window.generations())));
        Ok(Self::new(window, all.build()?))
    }

    /// The window; none if it never forgets.
    pub fn window(&self) -> Option<Window> {
        self.aging.as_ref().map(|aging| aging.window)
    }

    /// The latest time told; where items have times, the beginning of its generation.
    pub fn clock(&self) -> u64 {
        self.aging.as_ref().map_or(0, |aging| aging.clock)
    }

    /// The window, if items are its clock.
    pub(super) fn counting(&self) -> Option<Window> {
        self.window().filter(|window| window.clock() == Clock::Count)
    }

    /// What is remembered, by age, the oldest first. A generation without items may be missing.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = Generation<'_>> {
        let step = self.window().map_or(u64::MAX, |window| window.step());
        self.live.iter().map(move |Live { number, filter }| {
            let from = number.saturating_mul(step);
            Generation { number: *number, from, until: from.saturating_add(step), filter }
        })
    }

    /// The empty filter of which every generation begins as a copy.
    pub fn template(&self) -> &CuckooFilter {
        self.aging.as_ref().map_or_else(|| &self.live[0].filter, |aging| &aging.template)
    }

    /// The filter, if it never forgets.
    pub fn unbounded(&self) -> Option<&CuckooFilter> {
        if self.aging.is_some() { None } else { Some(&self.live[0].filter) }
    }

    /// As [`unbounded`](Self::unbounded), to be changed.
    pub fn unbounded_mut(&mut self) -> Option<&mut CuckooFilter> {
        if self.aging.is_some() { None } else { Some(&mut self.live[0].filter) }
    }

    /// The filter of a generation that the window reaches, which may have to be made. Without a window it is there.
    pub(super) fn generation(&mut self, number: u64) -> Result<&mut CuckooFilter, Full> {
        let found = self.live.binary_search_by_key(&number, |live| live.number);
        if let Err(place) = found {
            let copy = self.template().try_clone();
            let filter = copy.map_err(|_| self.full(FullReason::OutOfMemory))?;
            // There are few, which move seldom, and none is small.
            self.live.reserve_exact(1);
            self.live.insert(place, Live { number, filter });
        }
        let (Ok(place) | Err(place)) = found;
        Ok(&mut self.live[place].filter)
    }

    /// The refusal of one more item.
    pub(super) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.max_items(), reason }
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
