//! `coua check`.

use crate::cli::run::{Quiet, RunArgs};
use crate::cli::secret::SecretArgs;
use crate::cli::target::TargetArgs;
use crate::cli::window::NowArgs;
use crate::commands::lookup::Lookup;
use crate::commands::print;
use crate::input::Faults;
use crate::output::{Destination, Destinations};
use crate::pipeline::{Answer, Early, Flow};
use crate::record::block::{Block, Header, Why};
use crate::remote::{self, Address, Task};
use crate::run::preflight::{Preflight, Report, Use};
use crate::run::session::Session;
use crate::target::file;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use coua::Insertion;
use coua::window::Generations;
use std::mem;

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
    let (path, printing) = (&args.target.filter_file, args.printing);
    let quiet = Quiet { quiet: printing.quiet };
    let preflight = Preflight::new(&args.target.input, &args.run, quiet)
        .to(printing.destinations())
        .report(printing.report())
        .faults(printing.faults());
    if let Some(address) = Address::of(path)? {
        remote::refuse_options_of_files(&args.secret, args.now, None)?;
        return remote::check::run(Task { address, preflight }, printing);
    }
    let ready = preflight.secret(&args.secret).filter(path, Use::Asked).check()?;
    let view = file::open(path, &args.secret, &ready.inputs)?;
    let now = args.now.for_window(view.filter.window())?;
    let mut output = ready.open_outputs()?;
    let session = ready.session(Counted::Found)?;
    let pipeline = session.pipeline(ready.reading, view.filter.hasher());
    let lookup = Lookup::new(view, now, |filter: &Generations, block: &mut Block| {
        block.present = filter.contains_batch(&block.hashes);
    });
    let findings = Findings::new(printing);
    let mut check = Check { lookup: &lookup, session, findings };
    let help = |block: &mut Block| lookup.help(block);
    let read = pipeline.run_early(Early::Help(&help), &mut check, &mut output);
    check.session.end(read)?;
    let Check { session, findings, .. } = check;
    findings.print()?;
    session.print_figures(findings.answers(), &lookup.into_filter())?;
    Ok(session.exit(findings.exit()))
}

impl PrintArgs {
    /// With -q a record that is there ends the run before the inputs after it are opened.
    fn faults(self) -> Faults {
        if self.quiet { Faults::InTurn } else { Faults::AtOnce }
    }

    fn report(self) -> Report {
        if self.count { Report::Printed } else { Report::None }
    }

    fn destinations(self) -> Destinations<'static> {
        let is_shown = !self.count && !self.quiet;
        Destinations { main: is_shown.then_some(Destination::Standard), tee: None }
    }
}

/// What was found, in a filter of any kind, and what is printed of it.
#[derive(Debug)]
pub(crate) struct Findings {
    printing: PrintArgs,
    pub(crate) found: u64,
    not_found: u64,
    printed: u64,
}

impl Findings {
    pub(crate) fn new(printing: PrintArgs) -> Self {
        Self { printing, found: 0, not_found: 0, printed: 0 }
    }

    /// Counts the records of a block with a key, `present` or not, and selects those to print.
    pub(crate) fn note(
        &mut self,
        session: &Session,
        block: &mut Block,
        present: impl Iterator<Item = bool> + Clone,
    ) -> Flow {
        let found = present.clone().filter(|present| *present).count();
        self.found += found as u64;
        self.not_found += (block.hashes.len() - found) as u64;

        let wanted = !self.printing.invert;
        let answer = if wanted { Insertion::AlreadyPresent } else { Insertion::Inserted };
        block.select(present.map(|present| present == wanted), |why| session.passes(why, answer));
        let printed = block.selected.iter().filter(|selected| **selected).count();
        // The header is printed, but is no record.
        let headers = block.keyless.iter().filter(|it| it.why == Why::Header(Header::First));
        self.printed += (printed - headers.count()) as u64;
        if self.printing.quiet && self.printed > 0 { Flow::Enough } else { Flow::Continue }
    }

    /// Prints how many there are, if that is wanted.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        if self.printing.count { print(&format!("{}\n", self.printed)) } else { Ok(()) }
    }

    pub(crate) fn answers(&self) -> Answers {
        let (found, not_found) = (Some(self.found), Some(self.not_found));
        Answers { found, not_found, ..Answers::default() }
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.printed > 0 { Exit::Success } else { Exit::NothingFound }
    }
}

#[derive(Debug)]
struct Check<'a> {
    lookup: &'a Lookup,
    session: Session,
    findings: Findings,
}

impl Answer for Check<'_> {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let load = self.lookup.look_up(block);
        let present = mem::take(&mut block.present);
        let flow = self.findings.note(&self.session, block, present.iter().copied());
        block.present = present;
        self.session.show(self.findings.found, load);
        Ok(flow)
    }
}
