//! The functions that C calls, in the order of coua.h. Each is one call of a helper.

#![expect(unsafe_op_in_unsafe_fn, reason = "each function relies on what its caller in C promises")]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Changed` is for one lifetime, and a closure for all"
)]

pub mod batch;
pub mod errors;
pub mod files;
pub mod lifetime;
pub mod measures;
pub mod shared;
pub mod single;
#[cfg(target_family = "wasm")]
pub mod wasm;
