//! The program `coua`: prints each record the first time it is seen, in a few bytes an item.
//!
//! `args` describes the command line; each file of `commands` does one command, after the checks of
//! `preflight`. Records flow through `input` (bytes to blocks of records), `key` (records to hashes),
//! `pipeline` (threads), a command's own consumer (hashes to answers) and `output`.

mod args;
mod clock;
mod collisions;
mod commands;
mod estimate;
mod exit;
mod filter_file;
mod input;
mod key;
mod memory;
mod message;
mod output;
mod own_files;
mod pipeline;
mod preflight;
mod progress;
mod record;
mod remote;
mod resume;
mod session;
mod signals;
mod startup;
mod stats;

use clap::Parser;
use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|defect| {
        message::say(format_args!("defect in the program, please report it: {defect}"));
    }));
    let outcome = panic::catch_unwind(|| match args::Cli::try_parse() {
        Ok(line) => commands::run(line.command),
        Err(answer) => commands::answer(&answer),
    });
    outcome.unwrap_or(exit::Exit::Error).finish()
}
