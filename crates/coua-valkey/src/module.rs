//! The module as a server sees it.

use std::ffi::{CStr, c_int};

use crate::server::{Family, InfoSection, NativeType as _};
use crate::{bloom, cuckoo, value};

/// What `MODULE LIST` tells: major * 10,000 + minor * 100 + patch.
pub(crate) const VERSION: c_int = 100;

/// The commands, by their prefix.
pub(crate) const FAMILIES: [Family; 2] = [cuckoo::commands::FAMILY, bloom::commands::FAMILY];

/// What the module tells in the answer to `INFO`.
pub(crate) const INFO: InfoSection = info;

fn info() -> Vec<(&'static CStr, u64)> {
    vec![
        (c"cuckoo_filters", cuckoo::CuckooValue::slot().values()),
        (c"bloom_filters", bloom::BloomValue::slot().values()),
        (c"mapped_bytes", value::Charge::total()),
    ]
}
