//! `coua check` with a filter on a server.

use super::filter::Filter;
use super::question::Question;
use super::{Task, Work, keys, pipeline};
use crate::commands::check::PrintArgs;
use crate::commands::print;
use crate::exit::Exit;
use crate::input::block::{Block, Header, Why};
use crate::message::Failure;
use crate::output::{Destination, Destinations, Outputs};
use crate::pipeline::{Answer as Answering, Flow};
use crate::session::Session;
use crate::stats::Answers;

pub(crate) fn run(task: &Task<'_>, printing: PrintArgs) -> Result<Exit, Failure> {
    let reading = task.input.check()?;
    let inputs = reading.inputs.survey()?;
    let (mut filter, _) = Filter::open(&task.address, task.quiet)?;
    let is_shown = !printing.count && !printing.quiet;
    let to = Destinations { main: is_shown.then_some(Destination::Standard), tee: None };
    let mut output = Outputs::open(to, reading.opening(&inputs, None))?;
    let session = Session::begin(task.run, task.quiet, reading.on_missing, &inputs)?;
    filter.heed(&session);
    let pipeline = pipeline(&session, reading);
    let work = Work { filter, session, quiet: task.quiet };
    let mut check = Check { work, printing, found: 0, not_found: 0, printed: 0 };
    let read = pipeline.run(&mut check, &mut output);
    check.work.session.end();
    read?;
    check.finish()
}

#[derive(Debug)]
struct Check {
    work: Work,
    printing: PrintArgs,
    found: u64,
    not_found: u64,
    printed: u64,
}

impl Answering for Check {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.filter.ask(Question::Contains, keys(block));
        asked?;
        let is_there = |number: Option<i64>| number.is_some_and(|number| number > 0);
        let found = answers.iter().filter(|answer| is_there(answer.number)).count();
        self.found += found as u64;
        self.not_found += (answers.len() - found) as u64;

        let wanted = !self.printing.invert;
        let keyless_pass = !wanted && self.work.session.keeps_keyless();
        let passes = |why: &Why| match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => keyless_pass,
        };
        block.select(answers.iter().map(|answer| is_there(answer.number) == wanted), passes);
        let printed = block.selected.iter().filter(|selected| **selected).count();
        // The header is printed, but is no record.
        let header = usize::from(block.header == Some(Header::First));
        self.printed += (printed - header) as u64;
        self.work.show(self.found);
        let enough = self.printing.quiet && self.printed > 0;
        Ok(if enough { Flow::Enough } else { Flow::Continue })
    }
}

impl Check {
    fn finish(mut self) -> Result<Exit, Failure> {
        if self.printing.count {
            print(&format!("{}\n", self.printed))?;
        }
        let answers = Answers {
            found: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        self.work.print_figures(answers)?;
        let exit = if self.printed > 0 { Exit::Success } else { Exit::NothingFound };
        Ok(self.work.session.exit(exit))
    }
}
