//! `coua compact`.

use super::filter::SecretArgs;
use super::run::FileArgs;
use super::window::NowArgs;
use crate::commands::compact;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
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
    work: FileArgs,
}

impl Args {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (secret, present) = (self.secret.secret(), self.now.present());
        compact::run(&self.file, &secret, present, (self.work.manners(), &self.work.watch()))
    }
}
