//! `coua remove` with a filter on a server.

use super::ending::Ending;
use super::filter::Filter;
use super::question::Question;
use super::{MOST_ASKED, Task, Work, pipeline};
use crate::pipeline::{Answer as Answering, Deliver, Flow};
use crate::record::block::Block;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;
use coua::Insertion;

/// `report` says which records to print, if any: those that were found, or the others.
pub(crate) fn run(task: Task<'_>, report: Option<bool>) -> Result<Exit, Failure> {
    let ready = task.preflight.check()?;
    let (filter, _) = Filter::open(&task.address, ready.quiet)?;
    let mut outputs = ready.open_outputs()?;
    let session = ready.session(Counted::Removed)?;
    let pipeline = pipeline(&session, ready.reading);
    let work = Work::new(filter, session, ready.quiet);
    let mut remove = Remove { work, report, found: 0, not_found: 0, ending: Ending::Whole };
    let read = pipeline.run(&mut remove, &mut outputs);
    remove.work.session.end(read)?;
    outputs.settle()?;
    remove.finish()
}

#[derive(Debug)]
struct Remove {
    work: Work,
    report: Option<bool>,
    found: u64,
    not_found: u64,
    ending: Ending,
}

impl Answering for Remove {
    fn ask(&mut self, block: &Block) {
        self.work.ask(Question::Remove, block);
    }

    fn most_asked(&self) -> usize {
        MOST_ASKED
    }

    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.answers();
        let found = answers.iter().filter(|answer| answer.number == Some(1)).count();
        let unanswered = answers.iter().filter(|answer| answer.number.is_none()).count();
        self.found += found as u64;
        self.not_found += (answers.len() - found - unanswered) as u64;
        if let Some(wanted) = self.report {
            let (number, session) = (Some(i64::from(wanted)), &self.work.session);
            let answer = if wanted { Insertion::AlreadyPresent } else { Insertion::Inserted };
            let answers = answers.iter().map(|answer| answer.number == number);
            block.select(answers, |why| session.passes(why, answer));
        }
        if let Err(failure) = asked {
            self.ending.give_up(&failure, &answers, block);
            return Ok(Flow::Enough);
        }
        self.ending.note(&answers, block);
        self.work.show(self.found);
        Ok(Flow::Continue)
    }
}

impl Remove {
    fn finish(mut self) -> Result<Exit, Failure> {
        if let Ending::GaveUp(left) = &self.ending {
            let rest = "they may have been removed or not, and are in no report";
            return self.work.fail(Failure::at(self.work.filter.name(), left.words(rest)));
        }
        self.work
            .tell_doubts("each of which may have lost two copies; they count as answered last");
        let answers = Answers {
            removed: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        self.work.print_figures(answers)?;
        Ok(self.work.session.exit(Exit::Success))
    }
}
