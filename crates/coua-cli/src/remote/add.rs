//! `coua add` with a filter on a server.

use super::filter::Filter;
use super::question::{Answer, Ledger, Question};
use super::{Request, Task, Work, keys, pipeline, record_name, refused, stopped};
use crate::exit::Exit;
use crate::input::block::Block;
use crate::message::Failure;
use crate::pipeline::{Answer as Answering, Flow};
use crate::session::Session;
use crate::stats::Answers;

/// Whether a record that is there already gets another copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    Add,
    Keep,
}

pub(crate) fn run(task: &Task<'_>, request: &Request, copies: Copies) -> Result<Exit, Failure> {
    let reading = task.input.check()?;
    let inputs = reading.inputs.survey()?;
    let (mut filter, _) = Filter::open_or_create(&task.address, request, task.quiet)?;
    let session = Session::begin(task.run, task.quiet, reading.on_missing, &inputs)?;
    filter.heed(&session);
    let pipeline = pipeline(&session, reading);
    let work = Work { filter, session, quiet: task.quiet };
    let mut add = Add { work, copies, added: 0, refused: None };
    let read = pipeline.run(&mut add, &mut ());
    add.work.session.end();
    read?;
    add.finish()
}

#[derive(Debug)]
struct Add {
    work: Work,
    copies: Copies,
    added: u64,
    refused: Option<String>,
}

impl Answering for Add {
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let question = match self.copies {
            Copies::Add => Question::Insert,
            Copies::Keep => Question::InsertNew,
        };
        let (answers, asked) = self.work.filter.ask(question, keys(block));
        let full = refused(&answers);
        let good = &answers[..full.unwrap_or(answers.len())];
        self.added += good.iter().filter(|answer| answer.number == Some(1)).count() as u64;
        if let Err(failure) = asked {
            let first = record_name(block, 0);
            let rest = format!("they may be in the filter or not; all before {first} are");
            let reason = stopped(&failure, &answers, &rest);
            return Err(Failure::at(self.work.filter.name(), reason));
        }
        if let Some(first) = full {
            self.refuse(block, &answers, first)?;
            return Ok(Flow::Enough);
        }
        self.work.show(self.added);
        Ok(Flow::Continue)
    }
}

impl Add {
    /// Takes out again what was added behind the record for which there was no room.
    fn refuse(&mut self, block: &Block, answers: &[Answer], first: usize) -> Result<(), Failure> {
        let place = block.record_of_hash(first);
        self.work.session.take_back(block, place);
        self.refused = Some(record_name(block, place));
        let mut behind = Ledger::default();
        let all = answers.iter().zip(keys(block).bytes.iter().zip(&block.hashes));
        for (answer, (key, hash)) in all.skip(first) {
            if answer.number == Some(1) {
                behind.note(key, *hash);
            }
        }
        self.work.filter.ask(Question::Remove, behind.keys()).1
    }

    fn finish(mut self) -> Result<Exit, Failure> {
        let consequence = match self.copies {
            Copies::Add => "each of which may have got a copy more than it should",
            Copies::Keep => "which are in the filter",
        };
        self.work.tell_doubts(consequence);
        let answers = Answers { added: Some(self.added), ..Answers::default() };
        let printed = self.work.print_figures(answers);
        let Some(record) = self.refused else {
            printed?;
            return Ok(self.work.session.exit(Exit::Success));
        };
        let reason = format!(
            "the filter is full; stopped before {record}: all records before it are in the filter, it \
             and those behind it are not"
        );
        Err(Failure::Full { name: self.work.filter.name(), reason })
    }
}
