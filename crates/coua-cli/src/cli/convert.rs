//! `coua convert`.

use super::args::{FileArgs, LAYOUTS, SecretArgs, usual_slots, value};
use crate::commands::convert;
use crate::terminal::Result;
use clap::ArgGroup;
use coua::{Conversion, Layout};
use std::path::PathBuf;

/// Write a coarser and smaller copy of a filter file, or one in another layout
///
/// The copy remembers the runs that the filter remembers.
#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("target").args(["rate", "hash_bits", "layout"]).required(true))]
pub(crate) struct ConvertArgs {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// The file to write; it may be the same
    ///
    /// It is replaced in one step, if it is a filter or empty.
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    /// Highest false-positive rate of the copy, with the items it holds now
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// Bits of every key's hash that the copy remembers, 8 to 64
    ///
    /// Only for a filter that can grow.
    #[arg(long, value_name = "BITS", value_parser = value::between(8_u32, 64))]
    hash_bits: Option<u32>,

    /// Layout of the copy: `buckets` or `overlapping`
    ///
    /// Disjoint buckets of four slots, or overlapping buckets of two, for a filter that can grow.
    #[arg(long, hide_possible_values = true, value_name = "LAYOUT", value_parser = value::word(&LAYOUTS))]
    layout: Option<Layout>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    work: FileArgs,
}

impl ConvertArgs {
    pub(super) fn run(&self) -> Result<()> {
        let in_layout =
            |layout| Conversion::Layout { layout, slots_per_bucket: usual_slots(layout) };
        let by_rate = self.rate.map(Conversion::Rate);
        let by_bits = self.hash_bits.map(Conversion::HashBits);
        let conversion = by_rate.or(by_bits).or(self.layout.map(in_layout));
        let conversion = conversion.expect("clap demands one");
        let secret = self.secret.secret();
        let (options, progress) = (self.work.options(), self.work.progress());
        convert::run(&self.file, &self.output, conversion, &secret, options, &progress)
    }
}
