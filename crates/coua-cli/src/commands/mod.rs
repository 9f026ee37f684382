//! One file a command; those that do nothing but their work have none.

pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod convert;
pub(crate) mod explore;
pub(crate) mod info;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod verify;

use crate::run::{Job, Run};
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;

/// Works records off: `dedup`, `add`, `remove` and `count`, which differ in their jobs alone.
pub(crate) fn work(job: Job) -> Result<Exit, Failure> {
    Run::of(job)?.finish(Exit::Success)
}
