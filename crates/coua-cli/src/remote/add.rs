//! `coua add` with a filter on a server.

use super::ending::Ending;
use super::filter::Filter;
use super::question::{Answer, ChangeLog, Question};
use super::{MOST_ASKED, Request, Task, Work, keys, pipeline};
use crate::commands::add::Copies;
use crate::pipeline::{Answer as Answering, Flow};
use crate::record::block::Block;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::Failure;
use crate::terminal::progress::Counted;

pub(crate) fn run(task: Task<'_>, request: &Request, copies: Copies) -> Result<Exit, Failure> {
    let ready = task.preflight.check()?;
    let (filter, _) = Filter::open_or_create(&task.address, request, ready.quiet)?;
    let session = ready.session(Counted::Added)?;
    let pipeline = pipeline(&session, ready.reading);
    let work = Work::new(filter, session, ready.quiet);
    let behind = ChangeLog::default();
    let mut add = Add { work, copies, added: 0, ending: Ending::Whole, behind };
    let read = pipeline.run(&mut add, &mut ());
    let read = add.work.session.end(read);
    add.finish(read)
}

#[derive(Debug)]
struct Add {
    work: Work,
    copies: Copies,
    added: u64,
    ending: Ending,
    /// What was added behind the record for which there was no room.
    behind: ChangeLog,
}

impl Answering for Add {
    fn ask(&mut self, block: &Block) {
        let question = match self.copies {
            Copies::Add => Question::Insert,
            Copies::Keep => Question::InsertNew,
        };
        self.work.ask(question, block);
    }

    fn most_asked(&self) -> usize {
        MOST_ASKED
    }

    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.answers();
        if self.ending.is_full() {
            self.refuse(block, &answers, 0);
            return Ok(Flow::Enough);
        }
        let full = self.ending.full(&answers, &asked);
        let good = &answers[..full.unwrap_or(answers.len())];
        self.added += good.iter().filter(|answer| answer.number == Some(1)).count() as u64;
        if let Err(failure) = asked {
            self.ending.give_up(&failure, &answers, block);
            return Ok(Flow::Enough);
        }
        if let Some(first) = full {
            self.ending = Ending::Full(block.record_name(block.record_of_hash(first)));
            self.refuse(block, &answers, first);
            return Ok(Flow::Enough);
        }
        self.ending.note(&answers, block);
        self.work.show(self.added);
        Ok(Flow::Continue)
    }
}

impl Add {
    /// Notes what was added from the `first` key on, to be taken out again.
    fn refuse(&mut self, block: &Block, answers: &[Answer], first: usize) {
        self.work.session.take_back(block, block.record_of_hash(first));
        let is_in = |answer: &Answer| answer.number == Some(1);
        self.behind.note_some(keys(block), answers, first, is_in);
    }

    fn finish(mut self, read: Result<(), Failure>) -> Result<Exit, Failure> {
        let taken_back = self.work.ask_at_once(Question::Remove, self.behind.keys()).1;
        read.and(taken_back)?;
        if let Ending::GaveUp(left) = &self.ending {
            let rest = format!("they may be in the filter or not; all before {} are", left.first);
            return self.work.fail(Failure::at(self.work.filter.name(), left.words(&rest)));
        }
        let consequence = match self.copies {
            Copies::Add => "each of which may have got a copy more than it should",
            Copies::Keep => "which are in the filter",
        };
        self.work.tell_doubts(consequence);
        let answers = Answers { added: Some(self.added), ..Answers::default() };
        let printed = self.work.print_figures(answers);
        let Ending::Full(record) = self.ending else {
            printed?;
            return Ok(self.work.session.exit(Exit::Success));
        };
        let reason = format!(
            "the filter is full; stopped before {record}: all records before it are in the filter, it \
             and those behind it are not{}",
            self.work.exceptions()
        );
        Err(Failure::Full { name: self.work.filter.name(), reason })
    }
}
