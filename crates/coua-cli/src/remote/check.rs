//! `coua check` with a filter on a server.

use super::filter::Filter;
use super::question::Question;
use super::{MOST_ASKED, Task, Work, pipeline};
use crate::commands::check::{Findings, PrintArgs};
use crate::pipeline::{Answer as Answering, Flow};
use crate::record::block::Block;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;

pub(crate) fn run(task: Task<'_>, printing: PrintArgs) -> Result<Exit, Failure> {
    let ready = task.preflight.check()?;
    let (filter, _) = Filter::open(&task.address, ready.quiet)?;
    let mut output = ready.open_outputs()?;
    let session = ready.session(Counted::Found)?;
    let pipeline = pipeline(&session, ready.reading);
    let work = Work::new(filter, session, ready.quiet);
    let mut check = Check { work, findings: Findings::new(printing) };
    let read = pipeline.run(&mut check, &mut output);
    let read = check.work.session.end(read);
    match read {
        Ok(()) => check.finish(),
        Err(failure) => check.work.fail(failure),
    }
}

#[derive(Debug)]
struct Check {
    work: Work,
    findings: Findings,
}

impl Answering for Check {
    fn ask(&mut self, block: &Block) {
        self.work.ask(Question::Contains, block);
    }

    fn most_asked(&self) -> usize {
        MOST_ASKED
    }

    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.answers();
        asked?;
        let present = answers.iter().map(|answer| answer.number == Some(1));
        let flow = self.findings.note(&self.work.session, block, present);
        self.work.show(self.findings.found);
        Ok(flow)
    }
}

impl Check {
    fn finish(mut self) -> Result<Exit, Failure> {
        self.findings.print()?;
        self.work.print_figures(self.findings.answers())?;
        Ok(self.work.session.exit(self.findings.exit()))
    }
}
