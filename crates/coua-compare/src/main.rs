//! Coua beside its peers, measured in one process and one run.
//!
//! `cargo run --release -p coua-compare -- help` lists the comparisons.

#![expect(clippy::print_stderr, reason = "a program speaks to people")]

mod generate;

use std::io;
use std::process::ExitCode;

use clap::Parser;

/// Coua beside its peers, measured in one process and one run.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = false)]
enum Command {
    /// Write lines to de-duplicate to standard output.
    Generate(generate::Lines),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Generate(lines) => lines.write_to(io::stdout().lock()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("coua-compare: {error}");
            ExitCode::FAILURE
        }
    }
}
