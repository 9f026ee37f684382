//! Making, copying and freeing filters.

use std::mem::MaybeUninit;

use crate::failure::{caught, report};
use crate::filter::{coua_filter, make, with};
use crate::options::coua_options;
use crate::pointer;
use crate::state::Union;
use crate::status::coua_status;

/// Sets all options to 0, and their size: coua_options_init(&options, sizeof options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_options_init(options: *mut coua_options, size: usize) -> coua_status {
    report(caught(|| {
        coua_options::check_size(size)?;
        let place = pointer::result(options.cast::<usize>(), "options")?;
        pointer::results(options.cast::<u8>(), size, "options")?.fill(MaybeUninit::new(0));
        place.write(size);
        Ok(())
    }))
}

/// Creates a filter in memory. options may be NULL: then it grows and stores 64 bits of every key's hash. As in all
/// calls that create a filter, the last argument receives the handle, or NULL if the call fails. Free it with
/// coua_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_create(
    options: *const coua_options,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || Ok(coua_options::of(options)?.requirements.build()?.into()))
}

/// Copies a filter in memory. The copy of a filter in a file does not belong to a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_clone(
    filter: *const coua_filter,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || coua_filter::of(filter, "filter")?.ask(|asked| asked.copied()))
}

/// Frees a filter; NULL does nothing. Changes that were not committed to its file are lost. No other call may use this
/// handle at the same time or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_free(filter: *mut coua_filter) {
    if !filter.is_null() && filter.is_aligned() {
        report(caught(|| {
            drop(Box::from_raw(filter));
            Ok(())
        }));
    }
}

/// Removes all keys. A window keeps its clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_clear(filter: *mut coua_filter) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.clear()))
}

/// Frees memory after many keys were removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_compact(filter: *mut coua_filter) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.compact()))
}

/// Adds every copy of every key of another filter with the same hash. COUA_MISMATCH if the filters cannot be merged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_merge(
    filter: *mut coua_filter,
    other: *const coua_filter,
) -> coua_status {
    with(filter, |filter| filter.merge(coua_filter::of(other, "other")?, Union::OfCopies))
}

/// Adds the keys of another filter that are absent in this one: the union of sets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_merge_unique(
    filter: *mut coua_filter,
    other: *const coua_filter,
) -> coua_status {
    with(filter, |filter| filter.merge(coua_filter::of(other, "other")?, Union::OfKeys))
}
