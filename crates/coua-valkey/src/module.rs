//! The module as a server sees it.

use std::ffi::{CStr, c_int, c_void};

use crate::server::{self, ModuleSpec, NativeType as _};
use crate::{bloom, counters, cuckoo, settings, value};

static SPEC: ModuleSpec = ModuleSpec {
    name: c"coua",
    // major * 10,000 + minor * 100 + patch
    version: 100,
    families: &[cuckoo::commands::FAMILY, bloom::commands::FAMILY],
    configuration: &settings::CONFIGURATION,
    info,
};

/// Called by the server, first of all.
///
/// # Safety
///
/// Only the server calls it.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "the server looks for it by its name")]
#[expect(unsafe_code, reason = "called by the server")]
pub unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut c_void,
    words: *mut *mut c_void,
    count: c_int,
) -> c_int {
    // SAFETY: the server's own arguments.
    unsafe { server::load_module(&SPEC, context, words, count) }
}

fn info() -> Vec<(&'static CStr, u64)> {
    vec![
        (c"cuckoo_filters", cuckoo::CuckooValue::slot().values()),
        (c"bloom_filters", bloom::BloomValue::slot().values()),
        (c"cuckoo_bytes", cuckoo::CuckooValue::slot().bytes()),
        (c"bloom_bytes", bloom::BloomValue::slot().bytes()),
        (c"mapped_bytes", value::Charge::total()),
        (c"items_inserted", counters::INSERTED.value()),
        (c"items_removed", counters::REMOVED.value()),
        (c"items_refused", counters::REFUSED.value()),
        (c"growths", counters::GROWTHS.value()),
        (c"compactions_pending", server::commands_pending()),
    ]
}
