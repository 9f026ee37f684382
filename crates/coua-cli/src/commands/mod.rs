//! One file per command.

pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod dedup;
pub(crate) mod explore;

pub(crate) mod info;
mod lookup;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod remove;
pub(crate) mod verify;

use crate::cli::Command;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::stream::Stream;
use clap::error::ErrorKind;
use std::env;
use std::io::{self, Write};

/// Does what the command line says.
pub(crate) fn run(command: Command) -> Exit {
    let result = match command {
        Command::Dedup(args) => dedup::run(&args),
        Command::Add(args) => add::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Pull(args) => pull::run(&args),
        Command::Push(args) => push::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Generate(args) => crate::cli::generate::run(&args),
    };
    result.unwrap_or_else(|failure| failure.report())
}

/// Says what clap has to say instead of running a command: help, the version, what is wrong.
pub(crate) fn answer(answer: &clap::Error) -> Exit {
    if answer.kind() == ErrorKind::InvalidUtf8 {
        return not_text().report();
    }
    if answer.use_stderr() {
        // If standard error is closed there is nobody left to tell.
        answer.print().ok();
        return Exit::Error;
    }
    let printed = Stream::Output.check_open().and_then(|()| {
        let printed = answer.print().and_then(|()| io::stdout().flush());
        printed.map_err(|error| Failure::write(Stream::Output.name(), &error))
    });
    printed.map_or_else(|failure| failure.report(), |()| Exit::Success)
}

/// The failure to say about arguments that must be text and are not. Which of them must, clap does not tell.
fn not_text() -> Failure {
    let odd = env::args_os().filter(|argument| argument.to_str().is_none());
    let odd: Vec<_> = odd.map(|argument| argument.display().to_string()).collect();
    let reason = "is not UTF-8, as all arguments but the names of files must be";
    Failure::at(odd.join(" or "), reason)
}

/// Prints a report on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    Stream::Output.check_open()?;
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| Failure::write(Stream::Output.name(), &error))
}
