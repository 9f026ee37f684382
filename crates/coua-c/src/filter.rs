//! What a handle points to: a filter, wherever it is, and the lock that lets any thread use it.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use coua::bloom::BlockedBloomFilter;
use coua::window::{Clock, Generations};
use coua::{KeyHash, KeyHasher, SharedCuckooFilter};
use coua_store::{Store, View};

use crate::clock;
use crate::failure::{Failure, Outcome, caught, report};
use crate::pointer;
use crate::status::coua_status::{self, COUA_PANIC, COUA_POISONED};
use crate::verbs::Union;

/// A filter of any kind. Any thread may make any call with it at any time, except coua_free().
pub struct coua_filter {
    is_poisoned: AtomicBool,
    pub(crate) hasher: KeyHasher,
    /// Asking it changes it, too: its time, or what of its file is in memory.
    is_asked_alone: bool,
    place: Place,
}

/// How threads share it.
#[expect(clippy::large_enum_variant, reason = "there is one for a filter, behind its handle")]
enum Place {
    Shared(SharedCuckooFilter),
    Locked(RwLock<State>),
}

/// Where the filter is.
#[expect(clippy::large_enum_variant, reason = "there is one for a filter, behind its handle")]
pub(crate) enum State {
    Memory(Generations),
    /// In a file that this process writes.
    Written(Box<Store>),
    /// In a file that is only asked.
    Read(Box<View>),
    Bloom(BlockedBloomFilter),
    /// Its file was closed.
    Closed,
}

/// A filter that is asked.
pub(crate) enum Asked<'a> {
    Items(&'a Generations),
    Shared(&'a SharedCuckooFilter),
    Bloom(&'a BlockedBloomFilter),
}

/// A filter that is changed.
pub(crate) enum Changed<'a> {
    Memory(&'a mut Generations),
    Written(&'a mut Store),
    Shared(&'a SharedCuckooFilter),
    Bloom(&'a mut BlockedBloomFilter),
}

impl State {
    fn items(&self) -> Option<&Generations> {
        match self {
            Self::Memory(filter) => Some(filter),
            Self::Written(store) => Some(store.filter()),
            Self::Read(view) => Some(&view.filter),
            Self::Bloom(_) | Self::Closed => None,
        }
    }

    fn asked(&self) -> Outcome<Asked<'_>> {
        match (self, self.items()) {
            (Self::Bloom(bloom), _) => Ok(Asked::Bloom(bloom)),
            (_, Some(filter)) => Ok(Asked::Items(filter)),
            (_, None) => Err(closed()),
        }
    }

    /// Asked for these keys, by one thread.
    fn asked_alone(&mut self, hashes: &[KeyHash]) -> Outcome<Asked<'_>> {
        match self {
            Self::Read(view) => Ok(Asked::Items(view.asked(hashes))),
            state => state.asked(),
        }
    }

    fn changed(&mut self) -> Outcome<Changed<'_>> {
        match self {
            Self::Memory(filter) => Ok(Changed::Memory(filter)),
            Self::Written(store) => Ok(Changed::Written(store)),
            Self::Bloom(bloom) => Ok(Changed::Bloom(bloom)),
            Self::Read(_) => Err(Failure::unsupported(
                "the file was opened by coua_store_read(): coua_store_open() opens it for changes",
            )),
            Self::Closed => Err(closed()),
        }
    }

    /// Tells a window by the system's clock what time it is; nothing else has such a clock.
    fn tell_time(&mut self) {
        let is_timed = |window: coua::Window| window.clock() == Clock::Arrival;
        if !self.items().and_then(Generations::window).is_some_and(is_timed) {
            return;
        }
        let time = clock::now();
        match self {
            Self::Memory(filter) => filter.advance(time),
            Self::Written(store) => store.advance(time),
            Self::Read(view) => view.filter.advance(time),
            Self::Bloom(_) | Self::Closed => {}
        }
    }
}

fn closed() -> Failure {
    Failure::invalid("the file of this filter was closed: open it again")
}

impl coua_filter {
    fn new(hasher: KeyHasher, place: Place) -> Self {
        Self { is_poisoned: AtomicBool::new(false), hasher, is_asked_alone: false, place }
    }

    pub(crate) fn of_items(state: State) -> Outcome<Self> {
        let filter = state.items().ok_or_else(closed)?;
        let is_timed = filter.window().is_some_and(|window| window.clock() == Clock::Arrival);
        let is_asked_alone = is_timed || matches!(state, State::Read(_));
        let filter = Self::new(filter.hasher(), Place::Locked(RwLock::new(state)));
        Ok(Self { is_asked_alone, ..filter })
    }

    pub(crate) fn in_memory(filter: Generations) -> Outcome<Self> {
        Self::of_items(State::Memory(filter))
    }

    pub(crate) fn of_bloom(bloom: BlockedBloomFilter) -> Self {
        let hasher = bloom.hasher();
        Self::new(hasher, Place::Locked(RwLock::new(State::Bloom(bloom))))
    }

    pub(crate) fn of_shared(filter: SharedCuckooFilter) -> Self {
        Self::new(filter.hasher(), Place::Shared(filter))
    }

    /// What a handle points to.
    ///
    /// # Safety
    ///
    /// It is null, or one of a function of this library that was not freed.
    pub(crate) unsafe fn of<'a>(handle: *const Self, name: &'static str) -> Outcome<&'a Self> {
        // SAFETY: the caller's promise.
        let filter = unsafe { pointer::value(handle, name) }?;
        if filter.is_poisoned.load(Ordering::Relaxed) {
            return Err(Failure::new(
                COUA_POISONED,
                format_args!(
                    "an earlier call failed inside, so {name} is not whole any more: free it"
                ),
            ));
        }
        Ok(filter)
    }

    /// Runs a call. If that panics, the filter is poisoned.
    pub(crate) fn run(&self, work: impl FnOnce(&Self) -> Outcome) -> Outcome {
        let done = caught(|| work(self));
        if matches!(&done, Err(failure) if failure.status == COUA_PANIC) {
            self.is_poisoned.store(true, Ordering::Relaxed);
        }
        done
    }

    /// Runs a call that asks for these keys.
    #[inline]
    pub(crate) fn ask<T>(
        &self,
        hashes: &[KeyHash],
        work: impl FnOnce(Asked<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        match &self.place {
            Place::Shared(filter) => work(Asked::Shared(filter)),
            Place::Locked(lock) if self.is_asked_alone => {
                let mut state = lock.write().unwrap_or_else(PoisonError::into_inner);
                state.tell_time();
                work(state.asked_alone(hashes)?)
            }
            Place::Locked(lock) => {
                work(lock.read().unwrap_or_else(PoisonError::into_inner).asked()?)
            }
        }
    }

    /// Runs a call that changes the filter.
    #[inline]
    pub(crate) fn change<T>(&self, work: impl FnOnce(Changed<'_>) -> Outcome<T>) -> Outcome<T> {
        match &self.place {
            Place::Shared(filter) => work(Changed::Shared(filter)),
            Place::Locked(lock) => {
                let mut state = lock.write().unwrap_or_else(PoisonError::into_inner);
                if self.is_asked_alone {
                    state.tell_time();
                }
                work(state.changed()?)
            }
        }
    }

    /// Adds what another filter holds.
    pub(crate) fn merge(&self, other: &Self, union: Union) -> Outcome {
        let (here, there): (*const Self, *const Self) = (self, other);
        if here == there {
            return Err(Failure::invalid(
                "filter and other are the same: a filter is not merged with itself",
            ));
        }
        // Two threads may merge two filters with each other: locks are taken in one order.
        if here < there {
            self.change(|changed| other.ask(&[], |asked| changed.merge(asked, union)))
        } else {
            other.ask(&[], |asked| self.change(|changed| changed.merge(asked, union)))
        }
    }

    /// Commits, and closes the file.
    pub(crate) fn close(&self) -> Outcome {
        let Place::Locked(lock) = &self.place else { return Err(no_file()) };
        let mut state = lock.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Memory(_) | State::Bloom(_)) {
            return Err(no_file());
        }
        if let State::Written(store) = mem::replace(&mut *state, State::Closed) {
            store.finish()?;
        }
        Ok(())
    }
}

/// Of what has no file.
pub(crate) fn no_file() -> Failure {
    Failure::unsupported("the filter has no file: coua_store_open() makes one that has")
}

/// Runs a call with a handle.
///
/// # Safety
///
/// As [`coua_filter::of`].
#[inline]
pub(crate) unsafe fn with(
    handle: *const coua_filter,
    work: impl FnOnce(&coua_filter) -> Outcome,
) -> coua_status {
    // SAFETY: the caller's promise.
    let filter = unsafe { coua_filter::of(handle, "filter") };
    report(filter.and_then(|filter| filter.run(work)))
}

/// Runs a call that makes a filter, and puts its handle there.
///
/// # Safety
///
/// As [`pointer::results`].
pub(crate) unsafe fn make(
    handle: *mut *mut coua_filter,
    work: impl FnOnce() -> Outcome<coua_filter>,
) -> coua_status {
    // SAFETY: the caller's promise.
    let place = unsafe { pointer::result(handle, "created") };
    report(place.and_then(|place| {
        place.write(std::ptr::null_mut());
        let made = caught(work)?;
        place.write(Box::into_raw(Box::new(made)));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::coua_status::COUA_OK;

    #[test]
    fn a_panic_poisons_the_filter_and_is_a_status() {
        let filter = coua_filter::in_memory(Generations::default()).expect("a filter");
        // SAFETY: it is a filter that lives.
        let call = |work: fn(&coua_filter) -> Outcome| unsafe { with(&raw const filter, work) };
        assert_eq!(call(|_| Ok(())), COUA_OK);
        assert_eq!(call(|filter| filter.change(|_| panic!("on purpose"))), COUA_PANIC);
        assert_eq!(call(|_| Ok(())), COUA_POISONED);
    }

    #[test]
    fn what_panics_while_it_is_made_is_not_made() {
        let mut handle = std::ptr::dangling_mut();
        // SAFETY: the handle is a place for one.
        let status = unsafe { make(&raw mut handle, || panic!("on purpose")) };
        assert_eq!(status, COUA_PANIC);
        assert!(handle.is_null());
    }
}
