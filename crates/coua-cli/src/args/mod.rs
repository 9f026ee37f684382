//! Options that several commands have.

mod filter_args;
mod input_args;
mod key_args;
mod run_args;
pub(crate) mod value;

pub(crate) use filter_args::{FilterArgs, SecretArgs};
pub(crate) use input_args::{InputArgs, TargetArgs};
pub(crate) use run_args::{Quiet, RunArgs, WorkArgs};
