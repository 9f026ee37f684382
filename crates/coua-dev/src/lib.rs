//! Shared by the tests of several crates: which files may use which ([`check_layers`]), duplicate names
//! ([`check_names`]), random numbers, the processor's instructions, and samples of long lists.

pub mod cases;
pub mod instruction_sets;
mod layers;
mod names;
mod paths;
pub mod random;
mod sources;

pub use layers::check_layers;
pub use names::check_names;
