//! Other kinds of filters.

use std::ffi::c_void;

use coua::SharedCuckooFilter;
use coua::bloom::BlockedBloomFilter;
use coua::sizing::bloom::BlockedBloomPlan;

use crate::failure::Failure;
use crate::filter::{coua_filter, make};
use crate::options::{Wanted, coua_options};
use crate::pointer;
use crate::status::coua_status;

/// Creates a filter in memory that threads can change concurrently: it is split into parts with a lock each. It
/// supports the calls of other filters, except coua_compact() and merging into it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_shared_create(
    options: *const coua_options,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let wanted = coua_options::of(options)?;
        wanted.check_no_window("a shared filter")?;
        let plain = wanted.requirements().builder().build()?;
        Ok(SharedCuckooFilter::from_filter(&plain)?.into())
    })
}

/// Creates a shared filter with the keys of another one, such as a loaded filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_shared_from(
    filter: *const coua_filter,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || coua_filter::of(filter, "filter")?.ask(&[], |asked| asked.shared()))
}

/// Creates a blocked Bloom filter, as in Parquet files, with the capacity and rate of the options, for sets that only
/// grow. It supports coua_insert_unique(), coua_contains(), their batches, coua_clear(), coua_merge() and
/// coua_to_bytes().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_bloom_create(
    options: *const coua_options,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let wanted = coua_options::of(options)?;
        wanted.check_no_window("a Bloom filter")?;
        let requirements = wanted.requirements();
        let (Some(capacity), Some(rate)) = (requirements.capacity, requirements.rate) else {
            return Err(Failure::invalid("a Bloom filter needs a capacity and a rate; set both"));
        };
        let plan = BlockedBloomPlan::for_rate(capacity, rate)?;
        Ok(BlockedBloomFilter::from_plan(plan, wanted.hasher())?.into())
    })
}

/// Reads the bits of a blocked Bloom filter, from coua_to_bytes() or from a Parquet file. Only the seed or key of the
/// options is used; keys of Parquet files have other hashes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_bloom_from_bytes(
    bytes: *const c_void,
    length: usize,
    options: *const coua_options,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let wanted: Wanted = coua_options::of(options)?;
        let bytes = pointer::values(bytes.cast::<u8>(), length, "bytes")?;
        Ok(BlockedBloomFilter::from_bytes(bytes, wanted.hasher())?.into())
    })
}
