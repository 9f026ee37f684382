//! `coua generate`.

use crate::terminal::{Failure, Result, print};
use clap::{Command, Subcommand};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Write manual pages or shell completions
#[derive(clap::Args, Debug)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

/// What to write.
#[derive(Subcommand, Debug)]
enum What {
    /// Write manual pages, one per command, to a folder
    Man {
        /// The folder; created if it does not exist
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Print completions on standard output
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
}

impl GenerateArgs {
    /// `command` describes the whole command line.
    pub(crate) fn run(&self, mut command: Command) -> Result<()> {
        match &self.what {
            What::Man { folder } => manual_pages(command, folder),
            What::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut command, "coua", &mut script);
                print(&String::from_utf8_lossy(&script))
            }
        }
    }
}

fn manual_pages(command: Command, folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Failure::io(folder.display(), &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Leaves out `help`, whose page would be empty.
    let command = command.disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).map_err(failed)
}
