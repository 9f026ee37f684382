//! The filter of a run: in memory, in a file, or on a server. The callers do not know which.

pub(crate) mod collisions;
pub(crate) mod copies;
mod counts;
mod file_filter;
pub(crate) mod filter_file;
mod memory;
mod run_filter;
pub(crate) mod server;
pub(crate) mod spec;

pub(crate) use counts::Counts;
pub(crate) use filter_file::{LockedFile, check_files};
pub(crate) use run_filter::{NoRoom, Op, Profile, RunFilter, Stop, Summary};
pub(crate) use server::Address;
pub(crate) use spec::{FilterSpec, Location, OnFull, Secret, WindowLength, WindowSpec};

use crate::input::Survey;
use crate::terminal::{Result, Verbosity};
use file_filter::ReadOnlyFile;
use memory::{MemoryFilter, ShardedMemory};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Opens the filter at this location. Without a location, builds one that is dropped at the end.
pub(crate) fn open(
    location: Option<&Location>,
    op: Op,
    spec: &FilterSpec,
    inputs: &Survey,
    threads: NonZeroUsize,
    verbosity: Verbosity,
) -> Result<Box<dyn RunFilter>> {
    let is_sharded = threads.get() > 1 && spec.leaves_all_open();
    Ok(match location {
        None if is_sharded => Box::new(Arc::new(ShardedMemory::new(spec, threads)?)),
        None => Box::new(MemoryFilter::new(spec)?),
        Some(Location::Server(address)) => server::open(address, op, spec, verbosity)?,
        Some(Location::File(path)) if op.inserts() => {
            let file = LockedFile::lock(path, verbosity)?;
            file.report_links(verbosity);
            let filter = file.open_or_build(spec, inputs)?;
            Box::new(filter)
        }
        Some(Location::File(path)) if op.changes() => {
            let file = LockedFile::lock_existing(path, verbosity)?;
            file.report_links(verbosity);
            let filter = file.open(filter_file::expecting(inputs), &spec.secret)?;
            Box::new(filter)
        }
        Some(Location::File(path)) => {
            let view = filter_file::view(path, filter_file::expecting(inputs), &spec.secret)?;
            Box::new(Arc::new(ReadOnlyFile::new(path.display().to_string(), view, op)))
        }
    })
}
