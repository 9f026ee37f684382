//! Where records go: standard output or a file, in large writes.

mod destination;
mod file;
mod opening;
mod several;

pub(crate) use destination::{Destination, Destinations};
pub(crate) use file::{Form, Settled};
pub(crate) use opening::{Opening, UsedFiles, refuse_filter};
pub(crate) use several::Outputs;
