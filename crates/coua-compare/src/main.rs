//! Coua beside its peers, measured in one process and one run.
//!
//! `cargo run --release -p coua-compare -- help` lists the comparisons. Each prints Markdown tables
//! with the command, the day and the machine, and leaves JSON and plots in `target/compare`.
//!
//! A comparison (`filters`, `growth`, `latency`, `space`) gives every contestant (`contestant`, one file
//! a family in `peers`) the same keys (`keys`) and takes the time (`measure`); `machine` tells what the
//! memory itself would take. Rounds run all contestants one after another, so that a disturbance hits
//! all of them: read medians and ratios, not single times. `dedup` does the same with whole programs on
//! lines from `generate`, and checks what they wrote.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program speaks to people")]

mod chart;
mod check;
mod contestant;
mod dedup;
mod filters;
mod generate;
mod growth;
mod guard;
mod host;
mod keys;
mod latency;
mod machine;
mod markdown;
mod measure;
mod output;
mod peers;
mod report;
mod space;
mod terms;
mod warmth;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use output::Failure;

/// Coua beside its peers, measured in one process and one run.
#[derive(Debug, Parser)]
#[command(version)]
enum Command {
    /// Write lines to de-duplicate to standard output.
    Generate(generate::Lines),
    Filters(filters::Filters),
    Dedup(dedup::Dedup),
    Growth(growth::Growth),
    Latency(latency::Latency),
    Space(space::Space),
    Check(check::Check),
    Guard(guard::Guard),
    Report(report::Tables),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Generate(lines) => lines.write_to(io::stdout().lock()).map_err(Failure::from),
        Command::Filters(filters) => filters.run(),
        Command::Dedup(dedup) => dedup.run(),
        Command::Growth(growth) => growth.run(),
        Command::Latency(latency) => latency.run(),
        Command::Space(space) => space.run(),
        Command::Check(check) => check.run(),
        Command::Guard(guard) => guard.run(),
        Command::Report(tables) => tables.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("coua-compare: {failure}");
            ExitCode::FAILURE
        }
    }
}
