//! One key at a time.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use coua::{IfPresent, KeyHash};

use crate::failure::Outcome;
use crate::filter::{coua_filter, with};
use crate::pointer;
use crate::status::coua_status;

/// A key as C gives it.
enum Given {
    Bytes(*const c_void, usize),
    Integer(u64),
    Hash(u64),
}

impl Given {
    /// # Safety
    ///
    /// There are as many bytes as were said.
    #[inline]
    unsafe fn hash(self, filter: &coua_filter) -> Outcome<KeyHash> {
        Ok(match self {
            Self::Bytes(key, length) => {
                filter.hasher.hash(pointer::values(key.cast::<u8>(), length, "key")?)
            }
            Self::Integer(key) => filter.hasher.hash(key),
            Self::Hash(hash) => KeyHash::from_u64(hash),
        })
    }
}

/// Puts a result where C wants it.
///
/// # Safety
///
/// As [`pointer::results`].
#[inline]
unsafe fn answer<T>(
    place: *mut T,
    name: &'static str,
    answer: impl FnOnce() -> Outcome<T>,
) -> Outcome {
    let place = pointer::result(place, name)?;
    place.write(answer()?);
    Ok(())
}

/// The same, where C may want none.
///
/// # Safety
///
/// As [`pointer::results`].
#[inline]
unsafe fn answer_if_wanted<T>(
    place: *mut T,
    name: &'static str,
    answer: impl FnOnce() -> Outcome<T>,
) -> Outcome {
    let mut unwanted = MaybeUninit::uninit();
    let place = if place.is_null() { &mut unwanted } else { pointer::result(place, name)? };
    place.write(answer()?);
    Ok(())
}

/// # Safety
///
/// As [`with`] and [`Given::hash`].
#[inline]
unsafe fn insert(filter: *mut coua_filter, key: Given) -> coua_status {
    with(filter, |filter| {
        let hash = key.hash(filter)?;
        filter.change(|mut it| Ok(it.verbs().insert_one(hash, IfPresent::AddCopy).map(drop)?))
    })
}

/// # Safety
///
/// As [`with`], [`Given::hash`] and [`answer_if_wanted`].
#[inline]
unsafe fn insert_unique(filter: *mut coua_filter, key: Given, is_new: *mut bool) -> coua_status {
    with(filter, |filter| {
        let hash = key.hash(filter)?;
        answer_if_wanted(is_new, "is_new", || {
            filter.change(|mut it| Ok(it.verbs().insert_one(hash, IfPresent::Skip)?.is_new()))
        })
    })
}

/// # Safety
///
/// As [`with`], [`Given::hash`] and [`answer`].
#[inline]
unsafe fn contains(filter: *const coua_filter, key: Given, found: *mut bool) -> coua_status {
    with(filter, |filter| {
        let hash = key.hash(filter)?;
        answer(found, "found", || filter.ask(|asked| Ok(asked.verbs().contains(hash))))
    })
}

/// # Safety
///
/// As [`with`], [`Given::hash`] and [`answer_if_wanted`].
#[inline]
unsafe fn remove(filter: *mut coua_filter, key: Given, removed: *mut bool) -> coua_status {
    with(filter, |filter| {
        let hash = key.hash(filter)?;
        let remove = || filter.change(|mut changed| Ok(changed.verbs().remove(hash)));
        answer_if_wanted(removed, "removed", remove)
    })
}

/// # Safety
///
/// As [`with`], [`Given::hash`] and [`answer`].
#[inline]
unsafe fn count(filter: *const coua_filter, key: Given, copies: *mut u64) -> coua_status {
    with(filter, |filter| {
        let hash = key.hash(filter)?;
        answer(copies, "copies", || filter.ask(|asked| Ok(asked.verbs().count(hash))))
    })
}

/// The hash of a key of any bytes in this filter. With the same seed or secret key it is the same everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_hash(
    filter: *const coua_filter,
    key: *const c_void,
    length: usize,
    hash: *mut u64,
) -> coua_status {
    with(filter, |filter| {
        answer(hash, "hash", || Ok(Given::Bytes(key, length).hash(filter)?.to_u64()))
    })
}

/// Adds a copy of a key, of any bytes; a key may have any number of copies. COUA_FULL if there is no room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert(
    filter: *mut coua_filter,
    key: *const c_void,
    length: usize,
) -> coua_status {
    insert(filter, Given::Bytes(key, length))
}

/// coua_insert() for an integer: the key of its eight bytes, little endian.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_u64(filter: *mut coua_filter, key: u64) -> coua_status {
    insert(filter, Given::Integer(key))
}

/// coua_insert() for the hash of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_hash(filter: *mut coua_filter, hash: u64) -> coua_status {
    insert(filter, Given::Hash(hash))
}

/// Adds a key if it is absent. is_new receives whether it was; it may be NULL. COUA_FULL if it is absent and there is
/// no room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_unique(
    filter: *mut coua_filter,
    key: *const c_void,
    length: usize,
    is_new: *mut bool,
) -> coua_status {
    insert_unique(filter, Given::Bytes(key, length), is_new)
}

/// coua_insert_unique() for an integer: the key of its eight bytes, little endian.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_unique_u64(
    filter: *mut coua_filter,
    key: u64,
    is_new: *mut bool,
) -> coua_status {
    insert_unique(filter, Given::Integer(key), is_new)
}

/// coua_insert_unique() for the hash of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_insert_unique_hash(
    filter: *mut coua_filter,
    hash: u64,
    is_new: *mut bool,
) -> coua_status {
    insert_unique(filter, Given::Hash(hash), is_new)
}

/// Checks whether a key is present. If it is, found is always true; if not, found is true with the probability of the
/// false-positive rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_contains(
    filter: *const coua_filter,
    key: *const c_void,
    length: usize,
    found: *mut bool,
) -> coua_status {
    contains(filter, Given::Bytes(key, length), found)
}

/// coua_contains() for an integer: the key of its eight bytes, little endian.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_contains_u64(
    filter: *const coua_filter,
    key: u64,
    found: *mut bool,
) -> coua_status {
    contains(filter, Given::Integer(key), found)
}

/// coua_contains() for the hash of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_contains_hash(
    filter: *const coua_filter,
    hash: u64,
    found: *mut bool,
) -> coua_status {
    contains(filter, Given::Hash(hash), found)
}

/// Removes one copy of a key. removed receives whether there was one; it may be NULL. Remove only what was inserted:
/// another key may look like an inserted one, which is then removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_remove(
    filter: *mut coua_filter,
    key: *const c_void,
    length: usize,
    removed: *mut bool,
) -> coua_status {
    remove(filter, Given::Bytes(key, length), removed)
}

/// coua_remove() for an integer: the key of its eight bytes, little endian.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_remove_u64(
    filter: *mut coua_filter,
    key: u64,
    removed: *mut bool,
) -> coua_status {
    remove(filter, Given::Integer(key), removed)
}

/// coua_remove() for the hash of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_remove_hash(
    filter: *mut coua_filter,
    hash: u64,
    removed: *mut bool,
) -> coua_status {
    remove(filter, Given::Hash(hash), removed)
}

/// Counts the copies of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_count(
    filter: *const coua_filter,
    key: *const c_void,
    length: usize,
    copies: *mut u64,
) -> coua_status {
    count(filter, Given::Bytes(key, length), copies)
}

/// coua_count() for an integer: the key of its eight bytes, little endian.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_count_u64(
    filter: *const coua_filter,
    key: u64,
    copies: *mut u64,
) -> coua_status {
    count(filter, Given::Integer(key), copies)
}

/// coua_count() for the hash of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_count_hash(
    filter: *const coua_filter,
    hash: u64,
    copies: *mut u64,
) -> coua_status {
    count(filter, Given::Hash(hash), copies)
}
