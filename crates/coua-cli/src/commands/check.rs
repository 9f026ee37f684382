//! `coua check`.

use crate::args::filter::SecretArgs;
use crate::args::run::{Quiet, RunArgs};
use crate::args::target::TargetArgs;
use crate::args::window::NowArgs;
use crate::clock::Now;
use crate::commands::print;
use crate::exit::Exit;
use crate::filter_file;
use crate::input::block::{Block, Header, Why};
use crate::message::Failure;
use crate::output::{Destination, Destinations, Outputs};
use crate::pipeline::{Answer, Flow};
use crate::remote::{self, Address, Task};
use crate::session::Session;
use crate::stats::Answers;
use coua_store::View;

/// Print the records that are in a filter file
///
/// A record that was never added is printed with the filter's false-positive rate as probability.
/// Exit code 0 if records were printed (or counted), 1 if none, 2 after an error: as grep's.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    printing: PrintArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    run: RunArgs,
}

/// What to print.
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct PrintArgs {
    /// Print the records that are not in the filter
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,

    /// Print only how many records there are
    #[arg(short = 'c', long)]
    pub(crate) count: bool,

    /// Print nothing: stop with exit code 0 at the first record that would be printed
    #[arg(short = 'q', long, conflicts_with = "count")]
    pub(crate) quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(address) = Address::of(&args.target.filter_file)? {
        remote::refuse_options_of_files(&args.secret, args.now, None)?;
        let quiet = Quiet { quiet: args.printing.quiet };
        let task = Task { address, input: &args.target.input, run: &args.run, quiet };
        return remote::check::run(&task, args.printing);
    }
    let reading = args.target.input.check()?;
    let inputs = reading.inputs.survey()?;
    let view = filter_file::open(&args.target.filter_file, &args.secret, &inputs)?;
    let is_shown = !args.printing.count && !args.printing.quiet;
    let to = Destinations { main: is_shown.then_some(Destination::Standard), tee: None };
    let mut output = Outputs::open(to, reading.opening(&inputs, Some(&args.target.filter_file)))?;
    let quiet = Quiet { quiet: args.printing.quiet };
    let session = Session::begin(&args.run, quiet, reading.on_missing, &inputs)?;
    let pipeline = session.pipeline(reading, view.filter.hasher());
    let mut check = Check {
        view,
        now: args.now.now(),
        printing: args.printing,
        session,
        found: 0,
        not_found: 0,
        present: Vec::new(),
        printed: 0,
    };
    let read = pipeline.run(&mut check, &mut output);
    check.session.end();
    read?;
    check.finish()
}

#[derive(Debug)]
struct Check {
    view: View,
    now: Now,
    printing: PrintArgs,
    session: Session,
    found: u64,
    not_found: u64,
    present: Vec<bool>,
    printed: u64,
}

impl Answer for Check {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        filter_file::tell(self.now, &mut self.view.filter);
        self.view.asked(&block.hashes).contains_hash_batch(&block.hashes, &mut self.present);
        let found = self.present.iter().filter(|present| **present).count();
        self.found += found as u64;
        self.not_found += (self.present.len() - found) as u64;

        let wanted = !self.printing.invert;
        let keyless_pass = !wanted && self.session.keeps_keyless();
        let passes = |why: &Why| match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => keyless_pass,
        };
        let answers = self.present.iter().map(|present| *present == wanted);
        block.select(answers, passes);
        let printed = block.selected.iter().filter(|selected| **selected).count();
        // The header is printed, but is no record.
        let header = usize::from(block.header == Some(Header::First));
        self.printed += (printed - header) as u64;
        self.session.show(self.found, self.view.filter.load());
        let enough = self.printing.quiet && self.printed > 0;
        Ok(if enough { Flow::Enough } else { Flow::Continue })
    }
}

impl Check {
    fn finish(self) -> Result<Exit, Failure> {
        if self.printing.count {
            print(&format!("{}\n", self.printed))?;
        }
        let answers = Answers {
            found: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        self.session.print_figures(answers, &self.view.filter)?;
        let exit = if self.printed > 0 { Exit::Success } else { Exit::NothingFound };
        Ok(self.session.exit(exit))
    }
}
