//! What the tests of several crates share: which file depends on which ([`Layers`]).

mod calls;
mod graph;
mod index;
mod source;
mod types;

pub use graph::{Graph, Layers};
pub use source::Sources;
