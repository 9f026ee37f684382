//! The operations of filters of all kinds.

use std::io::Write;
use std::mem::MaybeUninit;

use coua::window::{Clock, Generations};
use coua::{Filter, SharedCuckooFilter};

use crate::failure::{Failure, Outcome};
use crate::filter::coua_filter;
use crate::state::{Asked, Changed, Union, no_file};

impl Asked<'_> {
    /// The filter, for lookups.
    pub(crate) fn verbs(&self) -> &dyn Filter {
        match self {
            Self::Items(filter) => *filter,
            Self::Shared(filter) => filter,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Items(filter) => filter.len(),
            Self::Shared(filter) => filter.len(),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        match self {
            Self::Items(filter) => filter.capacity(),
            Self::Shared(filter) => filter.capacity(),
        }
    }

    pub(crate) fn memory(&self) -> u64 {
        let bytes = match self {
            Self::Items(filter) => filter.memory_bytes(),
            Self::Shared(filter) => filter.memory_bytes(),
        };
        bytes as u64
    }

    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Items(filter) => filter.false_positive_rate(),
            Self::Shared(filter) => filter.false_positive_rate(),
        }
    }

    /// A copy in memory.
    pub(crate) fn copied(&self) -> Outcome<coua_filter> {
        Ok(match self {
            Self::Items(filter) => filter.try_clone()?.into(),
            Self::Shared(filter) => SharedCuckooFilter::from_filter(&filter.snapshot()?)?.into(),
        })
    }

    /// A copy in memory, for many threads.
    pub(crate) fn shared(&self) -> Outcome<coua_filter> {
        match self {
            Self::Items(filter) => {
                let plain = filter.unbounded().ok_or_else(|| {
                    Failure::unsupported("a filter with a window cannot be shared")
                })?;
                Ok(SharedCuckooFilter::from_filter(plain)?.into())
            }
            Self::Shared(_) => self.copied(),
        }
    }

    /// Uses the items as one filter.
    fn with_items<T>(&self, work: impl FnOnce(&Generations) -> Outcome<T>) -> Outcome<T> {
        match self {
            Self::Items(filter) => work(filter),
            Self::Shared(filter) => work(&filter.snapshot()?.into()),
        }
    }

    /// The items as they are now.
    pub(crate) fn snapshot(&self) -> Outcome<Generations> {
        Ok(match self {
            Self::Items(filter) => filter.try_clone()?,
            Self::Shared(filter) => filter.snapshot()?.into(),
        })
    }

    /// Writes the snapshot if it fits. Returns its length.
    pub(crate) fn write(&self, into: &mut [MaybeUninit<u8>]) -> Outcome<u64> {
        self.with_items(|filter| {
            let bytes = filter.writer()?.length();
            if into.len() as u64 >= bytes {
                filter.write_to(Filling(into))?;
            }
            Ok(bytes)
        })
    }
}

/// Memory that bytes are written into, from its beginning.
struct Filling<'a>(&'a mut [MaybeUninit<u8>]);

impl Write for Filling<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = bytes.len().min(self.0.len());
        let (now, later) = std::mem::take(&mut self.0).split_at_mut(count);
        now.write_copy_of_slice(&bytes[..count]);
        self.0 = later;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Changed<'_> {
    /// The filter, for changes of single items.
    pub(crate) fn verbs(&mut self) -> &mut dyn Filter {
        match self {
            Self::Memory(filter) => *filter,
            Self::Written(store) => *store,
            Self::Shared(filter) => filter,
        }
    }

    /// Changes the items as a whole.
    fn rewrite(self, doing: &str, change: impl FnOnce(&mut Generations) -> Outcome) -> Outcome {
        match self {
            Self::Memory(filter) => change(filter),
            Self::Written(store) => store.rewrite(change),
            Self::Shared(_) => Err(Failure::unsupported(format_args!(
                "a shared filter cannot {doing}; copy it with coua_to_bytes() and coua_from_bytes()"
            ))),
        }
    }

    pub(crate) fn clear(self) -> Outcome {
        if let Self::Shared(filter) = self {
            filter.clear();
            return Ok(());
        }
        self.rewrite("clear", |filter| {
            filter.filters_mut().for_each(|(_, filter)| filter.clear());
            Ok(())
        })
    }

    pub(crate) fn compact(self) -> Outcome {
        self.rewrite("compact", |filter| Ok(filter.compact()?))
    }

    pub(crate) fn merge(self, other: &Asked<'_>, union: Union) -> Outcome {
        other.with_items(|other| {
            self.rewrite("merge", |filter| match union {
                Union::OfCopies => Ok(filter.merge(other)?),
                Union::OfKeys => match (filter.unbounded_mut(), other.unbounded()) {
                    (Some(into), Some(from)) => Ok(into.merge_unique(from)?),
                    _ => Err(Failure::unsupported(
                        "filters with a window merge every copy; use coua_merge()",
                    )),
                },
            })
        })
    }

    pub(crate) fn commit(self) -> Outcome {
        match self {
            Self::Written(store) => Ok(store.commit()?),
            _ => Err(no_file()),
        }
    }

    pub(crate) fn advance_to(self, time: u64) -> Outcome {
        self.check_times()?;
        match self {
            Self::Memory(filter) => filter.advance(time),
            Self::Written(store) => store.advance(time),
            Self::Shared(_) => {}
        }
        Ok(())
    }

    /// Fails if the filter does not go by times that are given.
    pub(crate) fn check_times(&self) -> Outcome {
        let window = match self {
            Self::Memory(filter) => filter.window(),
            Self::Written(store) => store.filter().window(),
            Self::Shared(_) => None,
        };
        if window.is_some_and(|window| window.clock() == Clock::Given) {
            return Ok(());
        }
        Err(Failure::unsupported(
            "the filter does not use given times; create it with COUA_CLOCK_GIVEN",
        ))
    }
}
