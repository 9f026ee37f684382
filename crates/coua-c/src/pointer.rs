//! What C points to. Null, misaligned, huge and overlapping pointers are failures; that what is left can be read or
//! written is the promise of the caller in C.

use std::ffi::{CStr, OsStr, c_char};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::path::Path;
use std::slice;

use crate::failure::{Failure, Outcome};

/// The addresses that an argument takes, and its name.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) name: &'static str,
    addresses: Range<usize>,
}

impl Extent {
    /// Of `count` values. Checks that a pointer to them is possible.
    pub(crate) fn of<T>(pointer: *const T, count: usize, name: &'static str) -> Outcome<Self> {
        let bytes =
            count.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let begin = pointer.addr();
        let end = bytes.and_then(|bytes| begin.checked_add(bytes));
        match end {
            Some(_) if pointer.is_null() && count > 0 => {
                Err(Failure::invalid(format_args!("{name} is null")))
            }
            Some(_) if !pointer.is_aligned() => {
                let expected = align_of::<T>();
                Err(Failure::invalid(format_args!(
                    "{name} is misaligned: its address is {begin:#x}, not a multiple of {expected}"
                )))
            }
            Some(end) => Ok(Self { name, addresses: begin..end }),
            None => Err(Failure::invalid(format_args!(
                "{name} is too large: {count} values at {begin:#x} do not fit into memory"
            ))),
        }
    }

    /// Fails if two arguments share bytes.
    pub(crate) fn check_apart(&self, other: &Self) -> Outcome {
        let (one, two) = (&self.addresses, &other.addresses);
        if one.is_empty() || two.is_empty() || one.end <= two.start || two.end <= one.start {
            return Ok(());
        }
        Err(Failure::invalid(format_args!("{} and {} overlap", self.name, other.name)))
    }
}

/// One value.
///
/// # Safety
///
/// A pointer that is not null and aligned points to a value that lives for `'a`.
pub(crate) unsafe fn value<'a, T>(pointer: *const T, name: &'static str) -> Outcome<&'a T> {
    Extent::of(pointer, 1, name)?;
    // SAFETY: it is not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// `count` values. Null is an empty slice.
///
/// # Safety
///
/// As [`value`], for that many values, which nothing changes during `'a`.
pub(crate) unsafe fn values<'a, T>(
    pointer: *const T,
    count: usize,
    name: &'static str,
) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    Extent::of(pointer, count, name)?;
    // SAFETY: it is not null, aligned, and no larger than memory; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Where `count` results go; whatever is there now.
///
/// # Safety
///
/// As [`value`], for that many values, which nothing else uses during `'a`.
pub(crate) unsafe fn results<'a, T>(
    pointer: *mut T,
    count: usize,
    name: &'static str,
) -> Outcome<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Ok(&mut []);
    }
    Extent::of(pointer, count, name)?;
    // SAFETY: it is not null, aligned, and no larger than memory; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts_mut(pointer.cast(), count) })
}

/// Where one result goes.
///
/// # Safety
///
/// As [`results`].
pub(crate) unsafe fn result<'a, T>(
    pointer: *mut T,
    name: &'static str,
) -> Outcome<&'a mut MaybeUninit<T>> {
    // SAFETY: the caller's promise.
    unsafe { results(pointer, 1, name) }.map(|results| &mut results[0])
}

/// The path in a string.
///
/// # Safety
///
/// A pointer that is not null points to bytes that end with a zero, which nothing changes during `'a`.
pub(crate) unsafe fn path<'a>(pointer: *const c_char, name: &'static str) -> Outcome<&'a Path> {
    Extent::of(pointer, 1, name)?;
    // SAFETY: it is not null; the rest is the caller's promise.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    let text: &OsStr = {
        #[cfg(unix)]
        {
            std::os::unix::ffi::OsStrExt::from_bytes(bytes.to_bytes())
        }
        #[cfg(not(unix))]
        {
            let text = bytes.to_str();
            text.map_err(|_| Failure::invalid(format_args!("{name} is not UTF-8")))?.as_ref()
        }
    };
    Ok(Path::new(text))
}

/// The 16 bytes of a secret key, if there is one.
///
/// # Safety
///
/// A pointer that is not null points to 16 bytes.
pub(crate) unsafe fn secret(pointer: *const u8) -> Outcome<Option<[u8; 16]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { value(pointer.cast::<[u8; 16]>(), "key") }.map(|key| Some(*key))
}
