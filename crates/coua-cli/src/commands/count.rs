//! `coua count`.

use crate::cli::run::{Quiet, RunArgs};
use crate::cli::secret::SecretArgs;
use crate::cli::target::TargetArgs;
use crate::cli::window::NowArgs;
use crate::commands::lookup::Lookup;
use crate::output::Destinations;
use crate::output::Output;
use crate::pipeline::{Answer, Deliver, Early, Flow};
use crate::record::block::Block;
use crate::remote::{self, Address, Task};
use crate::run::preflight::{Preflight, Use};
use crate::run::session::Session;
use crate::target::file;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use coua::window::Generations;

/// Print each record behind the number of its copies in a filter file
///
/// Number, tab, record. The number is never below the truth, and above it only by the copies of a
/// false positive. CSV headers are left out; a record without a key has 0 copies, or is left out
/// with --on-missing=drop.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    quiet: Quiet,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let path = &args.target.filter_file;
    let preflight = Preflight::new(&args.target.input, &args.run, args.quiet);
    let preflight = preflight.to(Destinations::STANDARD);
    if let Some(address) = Address::of(path)? {
        remote::refuse_options_of_files(&args.secret, args.now, None)?;
        return remote::count::run(Task { address, preflight });
    }
    let ready = preflight.secret(&args.secret).filter(path, Use::Asked).check()?;
    let view = file::open(path, &args.secret, &ready.inputs)?;
    let now = args.now.for_window(view.filter.window())?;
    let output = Output::open(None, ready.opening())?;
    let session = ready.session(Counted::Found)?;
    let keeps_keyless = session.keeps_keyless();
    let pipeline = session.pipeline(ready.reading, view.filter.hasher());
    let mut lines = Lines { output, keeps_keyless };
    let lookup = Lookup::new(view, now, |filter: &Generations, block: &mut Block| {
        block.counts = filter.count_batch(&block.hashes);
    });
    let mut count = Count { lookup: &lookup, session, found: 0, not_found: 0 };
    let help = |block: &mut Block| lookup.help(block);
    let read = pipeline.run_early(Early::Help(&help), &mut count, &mut lines);
    count.session.end(read)?;
    let Count { session, found, not_found, .. } = count;
    let answers = Answers { found: Some(found), not_found: Some(not_found), ..Answers::default() };
    session.print_figures(answers, &lookup.into_filter())?;
    Ok(session.exit(Exit::Success))
}

#[derive(Debug)]
struct Count<'a> {
    lookup: &'a Lookup,
    session: Session,
    found: u64,
    not_found: u64,
}

impl Answer for Count<'_> {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.session.note(block);
        let load = self.lookup.look_up(block);
        let found = block.counts.iter().filter(|count| **count > 0).count();
        self.found += found as u64;
        self.not_found += (block.counts.len() - found) as u64;
        self.session.show(self.found, load);
        Ok(Flow::Continue)
    }
}

/// Numbers and records.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) output: Output,
    pub(crate) keeps_keyless: bool,
}

impl Deliver for Lines {
    fn deliver(&mut self, block: &Block) -> Result<(), Failure> {
        let mut counts = block.counts.iter();
        let mut keyless = block.keyless.iter().peekable();
        for (place, record) in block.records().enumerate() {
            let count = match keyless.next_if(|keyless| keyless.record == place) {
                None => counts.next().copied().unwrap_or(0),
                Some(without) if !without.why.is_record() => continue,
                Some(_) if self.keeps_keyless => 0,
                Some(_) => continue,
            };
            self.output.write(format!("{count}\t").as_bytes())?;
            self.output.write_record(block, place, record)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.output.flush()
    }
}
