//! The program `coua`: prints each record the first time it is seen, in a few bytes an item.
//!
//! `args` describes the command line; each file of `commands` does one command, after the checks of
//! `preflight`. Records flow through `input` (bytes to blocks of records), `key` (records to hashes),
//! `pipeline` (threads), a command's own consumer (hashes to answers) and `output`.

mod cli;
mod clock;
mod commands;
mod input;
mod key;
mod output;
mod pipeline;
mod record;
mod remote;
mod resume;
mod run;
mod target;
mod terminal;

use clap::Parser;
use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|defect| {
        terminal::message::say(format_args!("defect in the program, please report it: {defect}"));
    }));
    let outcome = panic::catch_unwind(|| match cli::Cli::try_parse() {
        Ok(line) => commands::run(line.command),
        Err(answer) => commands::answer(&answer),
    });
    outcome.unwrap_or(terminal::exit::Exit::Error).finish()
}
