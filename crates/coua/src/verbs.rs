//! The verbs of everything that holds items.

use std::ops::Range;

use crate::error::{BatchFull, Full, Insertion};
use crate::filter::{CuckooFilter, IfPresent};
use crate::hash::{Key, KeyHash, KeyHasher};

/// The times of a batch's items.
#[derive(Clone, Copy, Debug)]
pub enum When<'a> {
    /// The present, for all items.
    Now,
    /// A time for each item, as a [`Moment`](crate::window::Moment) counts. With a clock other than
    /// [`Clock::Given`](crate::window::Clock::Given), and without a window, this is the same as `Now`.
    Each(&'a [u64]),
}

impl When<'_> {
    /// The times of some of the items.
    ///
    /// # Panics
    ///
    /// If there are fewer times.
    pub fn part(self, items: Range<usize>) -> Self {
        match self {
            Self::Now => Self::Now,
            Self::Each(times) => Self::Each(&times[items]),
        }
    }
}

/// The verbs of everything that holds items, for programs that treat all filters alike. The filters' own methods of
/// the same names take any [`Key`](crate::Key); these take hashes, and are dispatched at run time.
///
/// ```
/// use coua::window::{Clock, Generations, When, Window};
/// use coua::{CuckooFilter, Filter, IfPresent, Insertion, SharedCuckooFilter};
///
/// let shared = SharedCuckooFilter::new();
/// let windowed = Generations::new(Window::new(Clock::Count, 1000, 4)?);
/// let filters: [Box<dyn Filter>; 3] =
///     [Box::new(CuckooFilter::new()), Box::new(windowed), Box::new(&shared)];
/// for mut filter in filters {
///     let (hashes, mut outcomes) = (["a", "a"].map(|key| filter.hasher().hash(key)), Vec::new());
///     filter.insert_each(&hashes, When::Now, IfPresent::Skip, &mut outcomes)?;
///     assert_eq!(outcomes, [Insertion::Inserted, Insertion::AlreadyPresent]);
///     assert!(filter.remove(hashes[0]) && !filter.contains(hashes[0]));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Filter {
    /// How keys are hashed.
    fn hasher(&self) -> KeyHasher;

    /// Whether the key is present.
    fn contains(&self, hash: KeyHash) -> bool {
        self.contains_batch(&[hash])[0]
    }

    /// The number of copies of the key.
    fn count(&self, hash: KeyHash) -> u64 {
        self.count_batch(&[hash])[0]
    }

    /// Whether each key is present, in order.
    fn contains_batch(&self, hashes: &[KeyHash]) -> Vec<bool>;

    /// The number of copies of each key, in order.
    fn count_batch(&self, hashes: &[KeyHash]) -> Vec<u64>;

    /// Inserts a key at the present time. Returns [`Insertion::AlreadyPresent`] only with [`IfPresent::Skip`].
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    fn insert_one(&mut self, hash: KeyHash, if_present: IfPresent) -> Result<Insertion, Full> {
        let mut outcomes = Vec::with_capacity(1);
        let done = self.insert_each(&[hash], When::Now, if_present, &mut outcomes);
        done.map(|()| outcomes[0]).map_err(|stopped| stopped.full)
    }

    /// Inserts many keys. `outcomes` is cleared and then holds the outcome of each key, in order, even if some are
    /// refused.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room. Whether later keys are tried depends on the filter; the outcome of
    /// a key that was not inserted is [`Insertion::Refused`].
    ///
    /// # Panics
    ///
    /// If [`When::Each`] has fewer times than there are keys. Nothing has changed then.
    fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull>;

    /// [`insert_each`](Self::insert_each) of keys at the present time: the outcome of each, in order.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    fn insert_keys<K: Key>(
        &mut self,
        keys: &[K],
        if_present: IfPresent,
    ) -> Result<Vec<Insertion>, BatchFull>
    where
        Self: Sized,
    {
        let (mut space, mut outcomes) = (Vec::new(), Vec::new());
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        self.insert_each(hashes, When::Now, if_present, &mut outcomes).map(|()| outcomes)
    }

    /// Removes one copy of the key. Returns false if there is none.
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove_batch(&[hash])[0]
    }

    /// Removes one copy of each key, and returns whether there was one, in order.
    fn remove_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool>;
}

/// The verbs of a trait object that are methods of the same names of `$filter`.
macro_rules! own_verbs {
    ($filter:ty) => {
        fn hasher(&self) -> KeyHasher {
            <$filter>::hasher(self)
        }

        fn contains(&self, hash: KeyHash) -> bool {
            <$filter>::contains(self, hash)
        }

        fn count(&self, hash: KeyHash) -> u64 {
            <$filter>::count(self, hash)
        }

        fn contains_batch(&self, hashes: &[KeyHash]) -> Vec<bool> {
            <$filter>::contains_batch(self, hashes)
        }

        fn count_batch(&self, hashes: &[KeyHash]) -> Vec<u64> {
            <$filter>::count_batch(self, hashes)
        }

        fn insert_one(&mut self, hash: KeyHash, if_present: IfPresent) -> Result<Insertion, Full> {
            match if_present {
                IfPresent::AddCopy => <$filter>::insert(self, hash).map(|()| Insertion::Inserted),
                IfPresent::Skip => <$filter>::insert_unique(self, hash),
            }
        }

        fn remove(&mut self, hash: KeyHash) -> bool {
            <$filter>::remove(self, hash)
        }

        fn remove_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
            <$filter>::remove_batch(self, hashes)
        }
    };
}

pub(crate) use own_verbs;

impl Filter for CuckooFilter {
    own_verbs!(Self);

    fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        _when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        with_outcomes(hashes.len(), outcomes, |it| self.insert_all(hashes, if_present, it, None))
    }
}

/// Records the outcomes of a batch of `keys` keys, which stops at the first that is refused.
pub(crate) fn with_outcomes(
    keys: usize,
    outcomes: &mut Vec<Insertion>,
    insert: impl FnOnce(&mut [Insertion]) -> Result<(), BatchFull>,
) -> Result<(), BatchFull> {
    outcomes.clear();
    outcomes.resize(keys, Insertion::AlreadyPresent);
    let result = insert(outcomes);
    if let Err(stopped) = &result {
        outcomes[stopped.done..].fill(Insertion::Refused);
    }
    result
}
