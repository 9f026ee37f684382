//! A filter that forgets.

use crate::builder::CuckooFilterBuilder;
use crate::error::{BuildError, Full, FullReason};
use crate::filter::CuckooFilter;
use crate::window::{AgeFrom, Clock, Window};

/// A filter that forgets by age, or one without a window, which is a [`CuckooFilter`] with the same interface, so
/// that a program can handle both alike.
///
/// The filter does not read the system's clock: the caller [advances](Self::advance) it to the present, which never goes back.
///
/// With g generations (at most one more than the window has; one without a window), an operation takes
/// O(g) expected time for each key. The first item of a generation copies the template, O(segments). Methods
/// that describe the filter take O(g), unless they say otherwise.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use coua::window::{Generations, Window};
///
/// let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
/// let mut seen = Generations::new(Window::arrival(hour, 6)?);
/// seen.advance(now);
/// seen.insert_unique("a")?;
/// seen.advance(now + hour);
/// assert!(seen.contains("a"));
/// seen.advance(now + hour + hour / 6);
/// assert!(!seen.contains("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generations {
    /// Ascending by number. Without a window there is one, with the number 0.
    pub(super) live: Vec<Live>,
    pub(super) state: Option<WindowState>,
}

/// A generation that is not forgotten.
pub(super) struct Live {
    pub(super) number: u64,
    pub(super) filter: CuckooFilter,
}

/// The window of a filter, and its state.
pub(super) struct WindowState {
    pub(super) window: Window,
    /// The beginning of the generation of the latest time, or the exact count of items.
    pub(super) clock: u64,
    /// An empty filter; every generation begins as a copy of it.
    pub(super) template: CuckooFilter,
    /// Items forgotten, and items too old to be inserted, since this value was created.
    pub(super) forgotten: u64,
    pub(super) outdated: u64,
}

/// A description of one generation.
pub struct Generation<'a> {
    /// The times of the generation, divided by the [length of a generation](Window::step).
    pub number: u64,
    /// The first time of the generation.
    pub from: u64,
    /// The first time after the generation.
    pub until: u64,
    /// The items of the generation.
    pub filter: &'a CuckooFilter,
}

impl Generations {
    /// A filter with a window that keeps all 64 bits of every key's hash and grows without limit, like
    /// [`CuckooFilter::new`].
    ///
    /// # Panics
    ///
    /// If there is not enough memory for a small filter.
    pub fn new(window: Window) -> Self {
        Self::from_template(window, CuckooFilter::new())
    }

    /// Creates a filter whose generations begin as copies of `template`, an empty filter. Its `max_items` limits the
    /// items of all generations together.
    ///
    /// # Panics
    ///
    /// If `template` holds items.
    #[doc(hidden)]
    pub fn from_template(window: Window, template: CuckooFilter) -> Self {
        assert!(template.is_empty(), "generations begin empty");
        let state = WindowState { window, clock: 0, template, forgotten: 0, outdated: 0 };
        Self { live: Vec::new(), state: Some(state) }
    }

    /// The window, if it has one.
    pub fn window(&self) -> Option<Window> {
        self.state.as_ref().map(|state| state.window)
    }

    /// The latest time so far; if items have times, the beginning of its generation.
    pub fn clock(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.clock)
    }

    /// The window, if items are its clock.
    pub(super) fn count_window(&self) -> Option<Window> {
        self.window().filter(|window| window.clock() == Clock::Count)
    }

    /// Whether repeats renew items.
    pub(super) fn refreshes_repeats(&self) -> bool {
        self.window().is_some_and(|window| window.age_from() == AgeFrom::LastSeen)
    }

    /// The remembered generations, the oldest first. One without items may be missing.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = Generation<'_>> {
        let step = self.window().map_or(u64::MAX, |window| window.step());
        self.live.iter().map(move |Live { number, filter }| {
            let from = number.saturating_mul(step);
            Generation { number: *number, from, until: from.saturating_add(step), filter }
        })
    }

    /// The empty filter from which every generation is copied.
    pub fn template(&self) -> &CuckooFilter {
        self.state.as_ref().map_or_else(|| &self.live[0].filter, |state| &state.template)
    }

    /// The plain filter, if there is no window.
    pub fn unbounded(&self) -> Option<&CuckooFilter> {
        if self.state.is_some() { None } else { Some(&self.live[0].filter) }
    }

    /// Mutable [`unbounded`](Self::unbounded).
    pub fn unbounded_mut(&mut self) -> Option<&mut CuckooFilter> {
        if self.state.is_some() { None } else { Some(&mut self.live[0].filter) }
    }

    /// The filter of a generation in the window, created if needed. Without a window it exists.
    pub(super) fn generation(&mut self, number: u64) -> Result<&mut CuckooFilter, Full> {
        let found = self.live.binary_search_by_key(&number, |live| live.number);
        if let Err(place) = found {
            let copy = self.template().try_clone();
            let filter = copy.map_err(|_| self.full(FullReason::OutOfMemory))?;
            // Generations are few and large, and the list seldom moves.
            self.live.reserve_exact(1);
            self.live.insert(place, Live { number, filter });
        }
        let (Ok(place) | Err(place)) = found;
        Ok(&mut self.live[place].filter)
    }

    pub(super) fn filters(&self) -> impl Iterator<Item = &CuckooFilter> {
        self.live.iter().map(|live| &live.filter)
    }

    pub(super) fn sum(&self, of: impl Fn(&CuckooFilter) -> u64) -> u64 {
        self.filters().map(of).fold(0, u64::saturating_add)
    }

    /// Items in all generations, every copy counted.
    pub fn len(&self) -> u64 {
        self.sum(CuckooFilter::len)
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items up to which the stated rate holds, in all generations together; `u64::MAX` without a
    /// limit.
    pub fn max_items(&self) -> u64 {
        self.template().max_items()
    }

    /// The refusal of one more item.
    pub(super) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.max_items(), reason }
    }
}

impl CuckooFilterBuilder {
    /// Builds a filter with a window. The options apply to all generations together: each has room for its share
    /// of the capacity, and a rate holds for the items of all of them. The default of `max_items` is the number of
    /// items in a window that counts items, otherwise the capacity.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua::window::{Clock, Window};
    ///
    /// let last = Window::new(Clock::Count, 1_000_000, 10)?;
    /// let seen = CuckooFilter::builder().capacity(1_000_000).rate(0.001).build_window(last)?;
    /// assert_eq!(seen.max_items(), 1_100_000);
    /// assert!(seen.template().capacity() < 200_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_window(mut self, window: Window) -> Result<Generations, BuildError> {
        let counted = (window.clock() == Clock::Count).then(|| window.length() + window.step());
        self.max_items = self.max_items.or(counted).or(self.rate.and(self.capacity));
        self.capacity = self.capacity.map(|items| items.div_ceil(u64::from(window.generations())));
        Ok(Generations::from_template(window, self.build()?))
    }
}

impl From<CuckooFilter> for Generations {
    /// A filter without a window.
    fn from(filter: CuckooFilter) -> Self {
        Self { live: vec![Live { number: 0, filter }], state: None }
    }
}
