//! `coua info`.

use super::args::OpenArgs;
use super::line::Line;
use crate::commands::info;
use crate::terminal::{ReportFormat, Result};
use std::path::PathBuf;

/// Describe a filter file
///
/// Takes a moment for any size, because of a large file little more than the header is read. `coua verify` reads
/// and checks all of it.
///
/// docs/json.md describes the fields of the JSON object.
#[derive(clap::Args, Debug)]
pub(crate) struct InfoArgs {
    /// The filter: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    filter: OpenArgs,
}

impl InfoArgs {
    pub(super) fn run(&self, line: Line<'_>) -> Result<()> {
        let location = line.location(&self.file)?;
        let format = if self.json { ReportFormat::Json } else { ReportFormat::Text };
        info::run(&location, &self.filter.spec(), format)
    }
}
