//! In place of `server` in a program that is built without that feature: no address is valid.

use crate::filter::{FilterSpec, Op, RunFilter};
use crate::key::KeySpec;
use crate::terminal::{Report, Result, Verbosity};
use coua::window::Generations;
use std::fmt;

/// There are no addresses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Address {}

impl fmt::Display for Address {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Address {
    pub(crate) fn of(_text: &str) -> Result<Self, String> {
        Err("is a filter on a server, but this program was built without the feature `server` of coua-cli".to_owned())
    }
}

pub(crate) fn open(
    address: &Address,
    _op: Op,
    _spec: &FilterSpec,
    _verbosity: Verbosity,
) -> Result<Box<dyn RunFilter>> {
    match *address {}
}

pub(crate) fn report(address: &Address) -> Result<Report> {
    match *address {}
}

pub(crate) fn pull(
    address: &Address,
    _verbosity: Verbosity,
) -> Result<(Generations, Option<KeySpec>)> {
    match *address {}
}

pub(crate) fn push(
    _pushed: &Generations,
    _keys: Option<&KeySpec>,
    address: &Address,
    _verbosity: Verbosity,
) -> Result<()> {
    match *address {}
}
