//! One file a command; those that do nothing but their work have none.

pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod convert;
#[cfg(feature = "explore")]
pub(crate) mod explore;
pub(crate) mod info;
pub(crate) mod merge;
pub(crate) mod plan;
#[cfg(feature = "server")]
pub(crate) mod pull;
#[cfg(feature = "server")]
pub(crate) mod push;
pub(crate) mod verify;

use crate::filter::{Secret, filter_file};
use crate::output::UsedFiles;
use crate::run::{Job, Pass};
use crate::terminal::{Exit, Result};
use std::path::Path;

/// Works records off: `dedup`, `add`, `remove` and `count`, which differ in their jobs alone.
pub(crate) fn work(job: Job) -> Result<Exit> {
    Pass::of(job)?.finish(Exit::Success)
}

/// Checks a command that works on whole filters, before a file is made or changed: it reads `sources`, and
/// writes `output` if there is one.
fn check_files<'a>(
    secret: &Secret,
    sources: impl IntoIterator<Item = &'a Path>,
    output: Option<&Path>,
) -> Result<()> {
    secret.key()?;
    sources.into_iter().try_for_each(filter_file::check_there)?;
    output.map_or(Ok(()), |output| UsedFiles::check_made(output, secret.file()))
}
