//! No panic crosses into the server.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; `otherwise` is the result if it panics, which is a defect of this module. The panic's
/// message is in the server's log then (see `load`).
pub(super) fn caught<R>(otherwise: R, work: impl FnOnce() -> R) -> R {
    // AssertUnwindSafe: the library's operations decide before they change anything; a value that a
    // defect leaves half changed answers wrongly at worst, as the server has no way to do without it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}
