//! Cuckoo and Bloom filters as a module for Valkey and Redis.
//!
//! A command passes each module once: `server` (the C interface) -> a file of `cuckoo::commands` or `bloom::commands`
//! (words to a checked request, and to an answer) -> the value of the key -> the library.
//! `docs/valkey.md` describes the commands.

mod bloom;
mod cuckoo;
mod parse;
pub mod peer;
mod refusal;
mod reply;
mod server;
mod settings;
mod value;

use std::ffi::{CStr, c_int};

use server::NativeType;

/// What `MODULE LIST` tells: major * 10,000 + minor * 100 + patch.
const VERSION: c_int = 100;

/// The commands, by their prefix.
const FAMILIES: [server::Family; 2] = [cuckoo::commands::FAMILY, bloom::commands::FAMILY];

/// What the module tells in the answer to `INFO`.
const INFO: server::InfoSection = info;

fn info() -> Vec<(&'static CStr, u64)> {
    vec![
        (c"cuckoo_filters", cuckoo::CuckooValue::slot().values()),
        (c"bloom_filters", bloom::BloomValue::slot().values()),
        (c"mapped_bytes", value::Charge::total()),
    ]
}
