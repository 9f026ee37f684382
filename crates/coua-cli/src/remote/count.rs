//! `coua count` with a filter on a server.

use super::filter::Filter;
use super::question::Question;
use super::{MOST_ASKED, Task, Work, pipeline};
use crate::commands::count::Lines;
use crate::output::Output;
use crate::pipeline::{Answer as Answering, Flow};
use crate::record::block::Block;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;

pub(crate) fn run(task: Task<'_>) -> Result<Exit, Failure> {
    let ready = task.preflight.check()?;
    let (filter, _) = Filter::open(&task.address, ready.quiet)?;
    let output = Output::open(None, ready.opening())?;
    let session = ready.session(Counted::Found)?;
    let mut lines = Lines { output, keeps_keyless: session.keeps_keyless() };
    let pipeline = pipeline(&session, ready.reading);
    let work = Work::new(filter, session, ready.quiet);
    let mut count = Count { work, found: 0, not_found: 0 };
    let read = pipeline.run(&mut count, &mut lines);
    let read = count.work.session.end(read);
    match read {
        Ok(()) => count.finish(),
        Err(failure) => count.work.fail(failure),
    }
}

#[derive(Debug)]
struct Count {
    work: Work,
    found: u64,
    not_found: u64,
}

impl Answering for Count {
    fn ask(&mut self, block: &Block) {
        self.work.ask(Question::Count, block);
    }

    fn most_asked(&self) -> usize {
        MOST_ASKED
    }

    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.answers();
        asked?;
        let copies = answers.iter().map(|answer| answer.number.unwrap_or(0).max(0).unsigned_abs());
        block.counts.clear();
        block.counts.extend(copies);
        let found = block.counts.iter().filter(|count| **count > 0).count();
        self.found += found as u64;
        self.not_found += (block.counts.len() - found) as u64;
        self.work.show(self.found);
        Ok(Flow::Continue)
    }
}

impl Count {
    fn finish(mut self) -> Result<Exit, Failure> {
        let answers = Answers {
            found: Some(self.found),
            not_found: Some(self.not_found),
            ..Answers::default()
        };
        self.work.print_figures(answers)?;
        Ok(self.work.session.exit(Exit::Success))
    }
}
