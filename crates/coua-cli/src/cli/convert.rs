//! `coua convert`.

use super::filter::{LAYOUTS, SecretArgs, usual_slots};
use super::run::FileArgs;
use super::value;
use crate::commands::convert;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use coua::{Conversion, Layout};
use std::path::PathBuf;

/// Write a coarser and smaller copy of a filter file, or one in another layout
///
/// The copy remembers the runs that the filter remembers.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// The file to write; it may be the same
    ///
    /// It is replaced in one step, if it is a filter or empty.
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    work: FileArgs,
}

/// What the copy is to be; one of them.
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct TargetArgs {
    /// Highest false-positive rate of the copy, with the items it holds now
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// Bits of every key's hash that the copy remembers, 8 to 64
    ///
    /// Only for a filter that can grow.
    #[arg(long, value_name = "BITS", value_parser = value::hash_bits)]
    hash_bits: Option<u32>,

    /// Layout of the copy: `buckets` or `overlapping`
    ///
    /// Disjoint buckets of four slots, or overlapping buckets of two, for a filter that can grow.
    #[arg(long, hide_possible_values = true, value_name = "LAYOUT", value_parser = value::word(&LAYOUTS))]
    layout: Option<Layout>,
}

impl TargetArgs {
    fn conversion(&self) -> Option<Conversion> {
        let in_layout =
            |layout| Conversion::Layout { layout, slots_per_bucket: usual_slots(layout) };
        let layout = self.layout.map(in_layout);
        self.rate.map(Conversion::Rate).or(self.hash_bits.map(Conversion::HashBits)).or(layout)
    }
}

impl Args {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        // clap has seen to it that there is one.
        let Some(conversion) = self.target.conversion() else {
            return Ok(Exit::Error);
        };
        let secret = self.secret.secret();
        convert::run(
            &self.file,
            &self.output,
            (conversion, &secret),
            (self.work.manners(), &self.work.watch()),
        )
    }
}
