//! The Python package `coua`: the library and the store for Python, numpy and Arrow.
//!
//! This crate only translates. A Python object becomes [`coua::KeyHash`]es in `key` (one) or `batch` (many), which go
//! to the filter in `state` behind the lock in `shared`; the answers come back as `bool` or a numpy array.
//! `python/coua` has the parts written in Python, and the type stubs.

#![expect(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "Python shows these texts to its users"
)]
#![expect(clippy::needless_pass_by_value, reason = "Python hands arguments on by value")]

mod array;
mod batch;
mod collect;
mod column;
mod cuckoo;
mod error;
mod file;
mod filter;
mod fork;
mod key;
mod loss;
mod methods;
mod options;
mod plan;
mod shards;
mod shared;
mod signals;
mod state;
mod values;
mod whole;
mod window;

use pyo3::prelude::*;

// Nothing here needs the interpreter's lock for its own safety, but that was never run without it.
#[pymodule(gil_used = true)]
mod _coua {
    #[pymodule_export]
    use crate::cuckoo::CuckooFilter;
    #[pymodule_export]
    use crate::file::{File, open};
    #[pymodule_export]
    use crate::filter::Filter;
    #[pymodule_export]
    use crate::fork::after_fork;
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::shards::shards;
    #[pymodule_export]
    use crate::window::Window;

    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}
