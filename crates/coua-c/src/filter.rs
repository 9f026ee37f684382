//! The target of a handle: a filter, and the lock that lets any thread use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use coua::window::Generations;
use coua::{KeyHasher, SharedCuckooFilter};
use coua_store::View;

use crate::failure::{Failure, Outcome, caught, report};
use crate::pointer;
use crate::state::{Asked, Changed, State, Union, key_note, no_file};
use crate::status::coua_status::{self, COUA_PANIC, COUA_POISONED};

/// A filter of any kind. Any thread may make any call with it at any time, except coua_free().
pub struct coua_filter {
    is_poisoned: AtomicBool,
    pub(crate) hasher: KeyHasher,
    /// Its window has the system's clock, which queries advance.
    is_timed: bool,
    place: Place,
    /// How the program makes the keys of its file: JSON.
    pub(crate) key_note: Option<Vec<u8>>,
}

/// How threads share it.
#[expect(clippy::large_enum_variant, reason = "there is one for a filter, behind its handle")]
enum Place {
    Shared(SharedCuckooFilter),
    Locked(RwLock<State>),
}

impl From<SharedCuckooFilter> for coua_filter {
    fn from(filter: SharedCuckooFilter) -> Self {
        Self::new(filter.hasher(), Place::Shared(filter))
    }
}

impl From<State> for coua_filter {
    fn from(state: State) -> Self {
        Self {
            is_timed: state.is_timed(),
            key_note: state.key_note(),
            ..Self::new(state.hasher(), Place::Locked(RwLock::new(state)))
        }
    }
}

impl From<Generations> for coua_filter {
    fn from(filter: Generations) -> Self {
        State::Memory(filter).into()
    }
}

impl coua_filter {
    fn new(hasher: KeyHasher, place: Place) -> Self {
        Self { is_poisoned: AtomicBool::new(false), hasher, is_timed: false, place, key_note: None }
    }

    /// A filter that was read from a file into memory.
    pub(crate) fn loaded(view: View) -> Self {
        let key_note = key_note(&view);
        Self { key_note, ..view.filter.into() }
    }

    /// The target of a handle.
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
                    "{name} is unusable, because an earlier call failed internally; free it"
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

    /// Runs a query.
    #[inline]
    pub(crate) fn ask<T>(&self, work: impl FnOnce(Asked<'_>) -> Outcome<T>) -> Outcome<T> {
        match &self.place {
            Place::Shared(filter) => work(Asked::Shared(filter)),
            Place::Locked(lock) if self.is_timed => {
                let mut state = lock.write().unwrap_or_else(PoisonError::into_inner);
                state.tell_time();
                work(state.asked()?)
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
                if self.is_timed {
                    state.tell_time();
                }
                work(state.changed()?)
            }
        }
    }

    /// Adds the items of another filter.
    pub(crate) fn merge(&self, other: &Self, union: Union) -> Outcome {
        let (here, there): (*const Self, *const Self) = (self, other);
        if here == there {
            return Err(Failure::invalid(
                "filter and other are the same; a filter cannot be merged with itself",
            ));
        }
        // Two threads may merge two filters with each other: locks are taken in one order.
        if here < there {
            self.change(|changed| other.ask(|asked| changed.merge(&asked, union)))
        } else {
            other.ask(|asked| self.change(|changed| changed.merge(&asked, union)))
        }
    }

    /// Commits, and closes the file.
    pub(crate) fn close(&self) -> Outcome {
        let Place::Locked(lock) = &self.place else { return Err(no_file()) };
        let mut state = lock.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Memory(_)) {
            return Err(no_file());
        }
        if let State::Written(store) = &mut *state {
            store.commit_at_end()?;
        }
        *state = State::Closed;
        Ok(())
    }
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
        place.write(Box::into_raw(Box::new(caught(work)?)));
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::coua_status::COUA_OK;

    #[test]
    fn a_panic_poisons_the_filter_and_is_a_status() {
        let filter = coua_filter::from(Generations::from(coua::CuckooFilter::new()));
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
