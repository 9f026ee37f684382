//! The program `coua`: prints each record the first time it is seen, in a few bytes per item.
//!
//! `cli` finds the command, and each file of `commands` is one: its arguments and its work. A command that
//! reads records is a `run`: they flow through `input` (bytes to blocks of records), `key` (records to hashes),
//! `pipeline` (threads), `filter` (the filter's answers) and `output`.

mod args;
mod cli;
mod clock;
mod commands;
mod filter;
mod input;
mod key;
mod output;
mod pipeline;
mod platform;
mod record;
mod resume;
mod run;
mod runs;
mod terminal;

use std::process::ExitCode;
use std::{panic, thread};

/// Bytes of stack that are certainly enough.
const STACK: usize = 1 << 20;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|defect| {
        let defect = defect.to_string().replace('\n', " ");
        terminal::message::say(format_args!("internal error, please report it: {defect}"));
    }));
    // The system may leave the first thread little. Another one takes memory elsewhere, so only then.
    let thread = platform::has_less_stack(STACK as u64)
        .then(|| thread::Builder::new().stack_size(STACK).spawn(cli::run));
    let ended = match thread {
        Some(Ok(program)) => program.join(),
        _ => panic::catch_unwind(cli::run),
    };
    ended.unwrap_or(terminal::Exit::Error).finish()
}
