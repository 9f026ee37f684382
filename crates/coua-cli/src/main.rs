//! The program `coua`: prints each record the first time it is seen, in a few bytes per item.
//!
//! Here the command is found, or what clap says instead of running one. Each file of `commands` is a command: its
//! arguments and its work. A command that reads records is a `run`: they flow through `input` (bytes to blocks of
//! records), `key` (records to hashes), `pipeline` (threads), `filter` (the filter's answers) and `output`.

mod args;
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

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use commands::{
    add, check, compact, convert, count, dedup, explore, generate, info, merge, plan, pull, push,
    remove, verify,
};
use key::UrlForm;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::{env, panic, thread};
use terminal::{Exit, Failure, Result, Stream};

/// Bytes of stack that are certainly enough.
const STACK: usize = 1 << 20;

/// The environment variable with which tests set the present.
const PRESENT: &str = "COUA_NOW";

fn main() -> ExitCode {
    panic::set_hook(Box::new(|defect| {
        let defect = defect.to_string().replace('\n', " ");
        terminal::message::say(format_args!("internal error, please report it: {defect}"));
    }));
    // The system may leave the first thread little. Another one takes memory elsewhere, so only then.
    let thread = platform::has_less_stack(STACK as u64)
        .then(|| thread::Builder::new().stack_size(STACK).spawn(run));
    let ended = match thread {
        Some(Ok(program)) => program.join(),
        _ => panic::catch_unwind(run),
    };
    ended.unwrap_or(Exit::Error).finish()
}

/// Answers "have I seen this before?" for billions of records, in a few bytes each.
#[derive(Parser, Debug)]
#[command(name = "coua", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 nothing found (check), 2 error, 3 filter full, 4 done, but \
    fsync failed.\n\
    `coua help COMMAND` describes a command in full."
)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// One variant per command; the file of the same name holds its arguments.
#[derive(Subcommand, Debug)]
enum Command {
    Dedup(dedup::DedupArgs),
    Add(add::AddArgs),
    Remove(remove::RemoveArgs),
    Check(check::CheckArgs),
    Count(count::CountArgs),
    Info(info::InfoArgs),
    Verify(verify::VerifyArgs),
    Merge(merge::MergeArgs),
    Compact(compact::CompactArgs),
    Convert(convert::ConvertArgs),
    Pull(pull::PullArgs),
    Push(push::PushArgs),
    Plan(plan::PlanArgs),
    Explore(explore::ExploreArgs),
    Generate(generate::GenerateArgs),
}

/// Runs the command line.
fn run() -> Exit {
    let result = match Cli::try_parse_from(arguments(env::args_os())) {
        Err(answer) => print_answer(&answer),
        Ok(cli) => {
            let stated = env::var_os(PRESENT);
            let set = stated.map_or(Ok(()), |time| clock::set_present(PRESENT, &time));
            set.and_then(|()| cli.command.run())
        }
    };
    result.unwrap_or_else(|failure| failure.report())
}

impl Command {
    fn run(self) -> Result<Exit> {
        // A signal may have arrived too late to stop the work.
        let done = |()| Exit::Success.or_signal();
        match self {
            Command::Dedup(args) => args.run(),
            Command::Add(args) => args.run(),
            Command::Remove(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Count(args) => args.run(),
            Command::Info(args) => args.run().map(done),
            Command::Verify(args) => args.run(),
            Command::Merge(args) => args.run().map(done),
            Command::Compact(args) => args.run().map(done),
            Command::Convert(args) => args.run().map(done),
            Command::Pull(args) => args.run().map(done),
            Command::Push(args) => args.run().map(done),
            Command::Plan(args) => args.run().map(done),
            Command::Explore(args) => args.run().map(done),
            Command::Generate(args) => args.run(Cli::command()).map(done),
        }
    }
}

/// Turns `--stats json` into `--stats=json`, and likewise the options of `--url`: clap would read the second word as an
/// input. After `--` all are inputs.
fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut arguments, mut are_inputs): (Vec<OsString>, bool) = (Vec::new(), false);
    for argument in given {
        are_inputs |= argument == "--";
        let last = arguments.last_mut().filter(|last| !are_inputs && is_value(last, &argument));
        match last {
            Some(option) => {
                option.push("=");
                option.push(argument);
            }
            None => arguments.push(argument),
        }
    }
    arguments
}

/// Whether a word is the value of the option before it, which may also have none.
fn is_value(option: &OsStr, word: &OsStr) -> bool {
    match (option.to_str(), word.to_str()) {
        (Some("--stats"), Some(word)) => word == "json" || word == "text",
        (Some("--url"), Some(word)) => !word.is_empty() && word.parse::<UrlForm>().is_ok(),
        _ => false,
    }
}

/// Options of `uniq`, and what to use instead.
const OF_UNIQ: [(&str, &str); 5] = [
    ("-w", "to compare only the first 3 characters, use --regex '^.{0,3}'"),
    ("-s", "to skip the first 3 characters, use --regex '^.{0,3}(.*)'"),
    ("-f", "to skip the first field, use -k 2-"),
    ("-u", "to print only lines that occur once, use --keep none"),
    ("-D", "to print all lines that occur more than once, use -d --keep none"),
];

/// The failure to report if an unknown option is one of `uniq`.
fn option_of_uniq(answer: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(option)) = answer.get(ContextKind::InvalidArg) else {
        return None;
    };
    let (option, remedy) = OF_UNIQ.into_iter().find(|(name, _)| name == option)?;
    let is_unknown = answer.kind() == ErrorKind::UnknownArgument;
    is_unknown.then(|| Failure::at(option, format_args!("is no option of coua; {remedy}")))
}

/// The failure to report if the unknown command is the name of a file.
fn file_without_command(answer: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(name)) = answer.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let reason = format!(
        "is a file, not a command; to print each of its lines once, use `coua dedup {name}`"
    );
    Path::new(name).is_file().then(|| Failure::at(name, reason))
}

/// Lets clap print help, the version or a usage error.
fn print_answer(answer: &clap::Error) -> Result<Exit> {
    if answer.kind() == ErrorKind::InvalidUtf8 {
        return Err(not_text());
    }
    if let Some(failure) = file_without_command(answer).or_else(|| option_of_uniq(answer)) {
        return Err(failure);
    }
    if answer.use_stderr() {
        // If standard error is closed, the exit code still reports the error.
        answer.print().ok();
        return Ok(Exit::Error);
    }
    Stream::Output.check_open()?;
    answer.print().map_err(|error| Failure::write(Stream::Output.name(), &error))?;
    Ok(Exit::Success)
}

/// The failure for arguments that are not UTF-8. clap does not say which one it was.
fn not_text() -> Failure {
    let odd = env::args_os().filter(|argument| argument.to_str().is_none());
    let odd: Vec<_> = odd.map(|argument| argument.display().to_string()).collect();
    let reason = "is not UTF-8; only file names may contain other bytes";
    Failure::at(odd.join(" or "), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Columns of a screen, and lines that fit on one.
    const SCREEN: (usize, usize) = (100, 40);

    /// The command with most options.
    #[test]
    fn the_help_of_dedup_is_read_in_a_few_minutes() {
        let mut all = Cli::command().term_width(SCREEN.0);
        all.build();
        let dedup = all.find_subcommand_mut("dedup").expect("a command");
        let options = dedup.get_opts().count();
        let lines = dedup.render_long_help().to_string().lines().count();
        assert!(options <= 45 && lines <= 300, "{options} options, {lines} lines");
    }

    #[test]
    fn the_short_help_of_each_command_fits_a_screen() {
        let mut all = Cli::command().term_width(SCREEN.0);
        all.build();
        for command in all.get_subcommands_mut() {
            let help = command.render_help().to_string();
            assert!(help.lines().count() <= SCREEN.1, "{} lines: {help}", help.lines().count());
            let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
            for option in options {
                let of_option = help.lines().skip_while(|line| *line != option).nth(1);
                let is_wrapped = of_option.is_some_and(|next| next.starts_with("            "));
                assert!(!is_wrapped, "more than a line: {option}\n{help}");
            }
        }
    }
}
