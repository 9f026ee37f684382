//! The command line, described for clap.

pub(crate) mod checkpoint;
pub(crate) mod filter;
pub(crate) mod generate;
pub(crate) mod input;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod target;
pub(crate) mod value;
pub(crate) mod window;

use crate::commands::{
    add, check, compact, convert, count, dedup, explore, info, merge, plan, pull, push, remove,
    verify,
};
use clap::{Parser, Subcommand};

/// Answers "have I seen this before?" for billions of records, in a few bytes each.
#[derive(Parser, Debug)]
#[command(name = "coua", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 nothing found (check), 2 error, 3 filter full, 4 done, but the \
    disk did not confirm it.\n\
    `coua help COMMAND` tells all about a command."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant a command; the file of the same name holds its arguments and its work.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Dedup(dedup::Args),
    Add(add::Args),
    Remove(remove::Args),
    Check(check::Args),
    Count(count::Args),
    Info(info::Args),
    Verify(verify::Args),
    Merge(merge::Args),
    Compact(compact::Args),
    Convert(convert::Args),
    Pull(pull::Args),
    Push(push::Args),
    Plan(plan::Args),
    Explore(explore::Args),
    Generate(generate::Args),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn description_is_consistent() {
        Cli::command().debug_assert();
    }
}
