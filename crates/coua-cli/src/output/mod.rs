//! Where records go: standard output or a file, in large writes.

mod destination;
mod file;
mod output_spec;
mod several;

pub(crate) use destination::{Destination, Destinations};
pub(crate) use file::{OutputFormat, Synced};
pub(crate) use output_spec::{OutputSpec, UsedFiles, refuse_filter};
pub(crate) use several::Outputs;
