//! Options that several commands have.

mod filter;
mod input;
mod run;
pub(crate) mod value;
mod window;

pub(crate) use filter::{FilterArgs, LAYOUTS, OpenArgs, SecretArgs, usual_slots};
pub(crate) use input::{InputArgs, TargetArgs};
pub(crate) use run::{FileArgs, ProgressArgs, Quiet, RunArgs, WorkArgs};
