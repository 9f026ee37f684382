//! What a filter says of itself.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crate::failure::{Failure, Outcome};
use crate::filter::{coua_filter, with};
use crate::pointer::{self, Extent};
use crate::state::Asked;
use crate::status::coua_status::{self, COUA_TOO_SMALL};

/// # Safety
///
/// As [`with`] and [`pointer::result`].
unsafe fn measure<T>(
    filter: *const coua_filter,
    place: *mut T,
    name: &'static str,
    of: impl FnOnce(Asked<'_>) -> Outcome<T>,
) -> coua_status {
    with(filter, |filter| {
        let place = pointer::result(place, name)?;
        place.write(filter.ask(of)?);
        Ok(())
    })
}

/// Keys in the filter, counting every copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_len(filter: *const coua_filter, items: *mut u64) -> coua_status {
    measure(filter, items, "items", |asked| Ok(asked.len()))
}

/// Keys that its memory is planned for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_capacity(filter: *const coua_filter, items: *mut u64) -> coua_status {
    measure(filter, items, "items", |asked| Ok(asked.capacity()))
}

/// Bytes of its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_memory(filter: *const coua_filter, bytes: *mut u64) -> coua_status {
    measure(filter, bytes, "bytes", |asked| Ok(asked.memory()))
}

/// Its false-positive rate now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_rate(filter: *const coua_filter, rate: *mut f64) -> coua_status {
    measure(filter, rate, "rate", |asked| Ok(asked.rate()))
}

/// Describes the filter: a JSON object with the fields of `coua info --json`. It includes key_options if the program
/// made the keys of its file: this library does not apply their "normalize" (ignore-case, trim, url), so pass
/// normalized keys. text receives the object and a zero byte, if it is shorter than capacity; length receives its
/// length without the zero. Otherwise COUA_TOO_SMALL; call it with NULL and 0 to get the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_describe(
    filter: *const coua_filter,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> coua_status {
    with(filter, |filter| {
        let buffer = Buffer::of(text.cast(), capacity, "text", length)?;
        let key_note = filter.key_note.as_deref();
        let mut said = filter.ask(|asked| Ok(asked.describe(filter.hasher, key_note)))?;
        buffer.length.write(said.len());
        said.push('\0');
        let place = buffer.place.get_mut(..said.len());
        let place = place.ok_or_else(|| too_small("text", capacity, said.len()))?;
        place.write_copy_of_slice(said.as_bytes());
        Ok(())
    })
}

/// Where bytes go, and how many they are.
pub(super) struct Buffer<'a> {
    pub(super) place: &'a mut [MaybeUninit<u8>],
    pub(super) length: &'a mut MaybeUninit<usize>,
}

impl Buffer<'_> {
    /// # Safety
    ///
    /// As [`pointer::results`], of both.
    pub(super) unsafe fn of(
        bytes: *mut u8,
        capacity: usize,
        name: &'static str,
        length: *mut usize,
    ) -> Outcome<Self> {
        Extent::of(bytes, capacity, name)?.check_apart(&Extent::of(length, 1, "length")?)?;
        Ok(Self {
            place: pointer::results(bytes, capacity, name)?,
            length: pointer::result(length, "length")?,
        })
    }
}

/// Of a buffer of C.
pub(super) fn too_small(name: &str, found: usize, expected: usize) -> Failure {
    Failure::new(COUA_TOO_SMALL, format_args!("{name} has {found} bytes: expected {expected}"))
}
