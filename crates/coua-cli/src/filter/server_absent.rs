//! In place of `server` in a program that is built without that feature.

use crate::filter::address::Address;
use crate::filter::op::Op;
use crate::filter::run_filter::RunFilter;
use crate::filter::spec::FilterSpec;
use crate::key::KeySpec;
use crate::terminal::{Failure, Report, Result, Verbosity};
use coua::window::Generations;

fn absent<T>(address: &Address) -> Result<T> {
    let reason = "is a filter on a server, but this program was built without the feature `server` of coua-cli";
    Err(Failure::at(address, reason))
}

pub(crate) fn open(
    address: &Address,
    _op: Op,
    _spec: &FilterSpec,
    _verbosity: Verbosity,
) -> Result<Box<dyn RunFilter>> {
    absent(address)
}

pub(crate) fn report(address: &Address) -> Result<Report> {
    absent(address)
}

pub(crate) fn pull(
    address: &Address,
    _verbosity: Verbosity,
) -> Result<(Generations, Option<KeySpec>)> {
    absent(address)
}

pub(crate) fn push(
    _pushed: &Generations,
    _keys: Option<&KeySpec>,
    address: &Address,
    _verbosity: Verbosity,
) -> Result<()> {
    absent(address)
}
