//! What the tests of several crates share: which file depends on which ([`Layers`]), and names that stand twice
//! ([`check_names`]).

mod calls;
mod graph;
mod index;
mod map;
mod names;
mod paths;
mod source;
mod types;

pub use graph::{Graph, Layers};
pub use map::{Step, Walk, missing_files, walks};
pub use names::{check_names, name_faults};
pub use source::Sources;
