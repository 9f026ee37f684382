//! Shared by the tests of several crates: dependencies between files ([`Layers`]), duplicate names ([`check_names`]),
//! the map of the code ([`walks`]), random numbers, the processor's instructions, and samples of long lists.

mod calls;
pub mod cases;
mod graph;
mod index;
pub mod instruction_sets;
mod map;
mod names;
mod paths;
pub mod random;
mod source;
mod types;

pub use graph::{Graph, Layers};
pub use map::{Step, Walk, missing_files, walks};
pub use names::{check_names, name_faults};
pub use source::Sources;
