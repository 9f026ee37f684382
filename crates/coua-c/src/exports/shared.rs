//! Filters that threads change concurrently.

use crate::filter::{coua_filter, make};
use crate::options::coua_options;
use crate::status::coua_status;

/// Creates a filter in memory that threads can change concurrently: it is split into parts with a lock each. It
/// supports the calls of other filters, except coua_compact() and merging into it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_shared_create(
    options: *const coua_options,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || Ok(coua_options::of(options)?.build_shared()?.into()))
}

/// Creates a shared filter with the keys of another one, such as a loaded filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_shared_from(
    filter: *const coua_filter,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || coua_filter::of(filter, "filter")?.ask(|asked| asked.shared()))
}
