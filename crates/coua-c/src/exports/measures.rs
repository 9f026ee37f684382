//! What a filter says of itself.

use std::ffi::c_char;

use crate::failure::{Failure, Outcome};
use crate::filter::{coua_filter, with};
use crate::pointer;
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
        place.write(filter.ask(&[], of)?);
        Ok(())
    })
}

/// Keys in the filter, every copy counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_len(filter: *const coua_filter, items: *mut u64) -> coua_status {
    measure(filter, items, "items", |asked| asked.len())
}

/// Keys that its memory is planned for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_capacity(filter: *const coua_filter, items: *mut u64) -> coua_status {
    measure(filter, items, "items", |asked| asked.capacity())
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

/// Describes the filter: a JSON object with the fields of `coua info --json`. text gets it with a zero at its end, if it
/// is shorter than capacity; length gets its length without the zero. COUA_TOO_SMALL if it is not: with NULL and 0 this
/// asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_describe(
    filter: *const coua_filter,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> coua_status {
    with(filter, |filter| {
        let length = pointer::result(length, "length")?;
        let place = pointer::results(text.cast::<u8>(), capacity, "text")?;
        let mut said = filter.ask(&[], |asked| asked.describe(filter.hasher))?;
        length.write(said.len());
        said.push('\0');
        if capacity < said.len() {
            return Err(too_small("text", capacity, said.len()));
        }
        place[..said.len()].write_copy_of_slice(said.as_bytes());
        Ok(())
    })
}

/// Of a buffer of C.
pub(super) fn too_small(name: &str, found: usize, expected: usize) -> Failure {
    Failure::new(COUA_TOO_SMALL, format_args!("{name} has {found} bytes: expected {expected}"))
}
