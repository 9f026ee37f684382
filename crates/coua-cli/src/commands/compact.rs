//! `coua compact`.

use crate::cli::run::Manners;
use crate::cli::secret::SecretArgs;
use crate::cli::window::NowArgs;
use crate::commands::print;
use crate::run::preflight::{Report, check_filters};
use crate::target::file::FilterFile;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::text::size;
use coua::window::Generations;
use std::path::PathBuf;

/// Make a filter file as small as its items allow
///
/// Worth it after many removals. The file is replaced in one step.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    manners: Manners,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let is_quiet = args.manners.quiet.quiet;
    let report = if is_quiet { Report::None } else { Report::Printed };
    check_filters(report, &args.secret, [&*args.file], None)?;
    let file = FilterFile::lock_existing(&args.file, &args.manners)?;
    let name = file.name();
    let mut kept = file.open_whole(&args.secret, args.now)?;
    let before = kept.filter().memory_bytes() as u64;
    kept.store.rewrite(Generations::compact);
    let memory = kept.finish()?;
    if !is_quiet {
        let (before, after) = (size(before), size(memory.filter().memory_bytes() as u64));
        print(&format!("{name}: {before} before, {after} now\n"))?;
    }
    Ok(Exit::Success)
}
