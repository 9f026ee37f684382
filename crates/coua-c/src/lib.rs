//! `libcoua`: the library and the store for C, and for whatever speaks C.
//!
//! This crate only translates. A function of `exports` is one call of a helper: `pointer` turns what C points to into
//! slices, and `keys` keys into hashes; `state` is a filter, `verbs` what all kinds of filters do, `filter` what a handle
//! points to; `failure` turns errors and panics into a status and a message. `coua.h` is written from the documentation
//! of `exports`, `options`, `keys` and `status`; a test compares.

#![expect(non_camel_case_types, reason = "C sees these names")]
#![expect(
    clippy::missing_safety_doc,
    reason = "coua.h says once, at its top, what pointers must be"
)]
#![expect(unsafe_code, reason = "C passes pointers")]
#![expect(clippy::doc_markdown, reason = "coua.h shows these texts")]

mod describe;
pub mod exports;
mod failure;
pub mod filter;
pub mod keys;
pub mod options;
mod pointer;
mod state;
pub mod status;
mod verbs;
