//! `coua dedup` with a filter on a server.

use super::ending::Ending;
use super::filter::Filter;
use super::question::{ALREADY_THERE, Answer, ChangeLog, FULL, Question};
use super::{MOST_ASKED, Request, Task, Work, keys, pipeline};
use crate::output::Settled;
use crate::pipeline::{Answer as Answering, Deliver, Flow};
use crate::record::block::Block;
use crate::target::collisions::{self, Answered};
use crate::terminal::exit::Exit;
use crate::terminal::figures::Answers;
use crate::terminal::message::{self, Failure};
use crate::terminal::progress::Counted;
use crate::terminal::text::grouped;
use coua::Insertion;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long what was recorded may wait to be surely in the output, and how many bytes of it.
const BETWEEN_SETTLEMENTS: Duration = Duration::from_secs(5);
const MOST_UNSETTLED: usize = 32 << 20;

/// `wanted` is what goes to the main output.
pub(crate) fn run(task: Task<'_>, request: &Request, wanted: Insertion) -> Result<Exit, Failure> {
    let ready = task.preflight.check()?;
    let (filter, before) = Filter::open_or_create(&task.address, request, ready.quiet)?;
    let mut outputs = ready.open_outputs()?;
    let session = ready.session(Counted::Unique)?;
    let tee = ready.to.tee.is_some();
    let pipeline = pipeline(&session, ready.reading);
    let mut dedup = Dedup {
        work: Work::new(filter, session, ready.quiet),
        wanted,
        tee,
        items_before: before.items,
        fresh: Vec::new(),
        passed: HashSet::new(),
        unsettled: ChangeLog::default(),
        settled: Instant::now(),
        unique: 0,
        repeats: 0,
        ending: Ending::Whole,
        behind: ChangeLog::default(),
    };
    let read = pipeline.run(&mut dedup, &mut outputs);
    let read = dedup.work.session.end(read);
    match read.and_then(|()| outputs.settle()) {
        Ok(_) => dedup.finish(),
        Err(failure) => {
            dedup.take_back_all();
            Err(failure)
        }
    }
}

#[derive(Debug)]
struct Dedup {
    work: Work,
    wanted: Insertion,
    tee: bool,
    items_before: u64,
    /// Of the present block: which keys count as never seen before.
    fresh: Vec<bool>,
    /// Keys that passed because nobody knows whether they were seen, since the last block of which, and
    /// behind which, all was known.
    passed: HashSet<Vec<u8>>,
    /// What is recorded, but perhaps not in the output.
    unsettled: ChangeLog,
    settled: Instant,
    unique: u64,
    repeats: u64,
    ending: Ending,
    /// What was recorded behind the record for which there was no room.
    behind: ChangeLog,
}

impl Answering for Dedup {
    fn ask(&mut self, block: &Block) {
        self.work.ask(Question::InsertNew, block);
    }

    fn most_asked(&self) -> usize {
        MOST_ASKED
    }

    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
        self.work.session.note(block);
        let (answers, asked) = self.work.answers();
        if self.ending.is_full() {
            self.refuse(block, &answers, 0);
            block.select_nothing();
            return Ok(Flow::Enough);
        }
        let full = self.ending.full(&answers, &asked);
        self.judge(&answers[..full.unwrap_or(answers.len())], block);
        let fresh = self.fresh.iter().filter(|fresh| **fresh).count();
        self.unique += fresh as u64;
        self.repeats += (self.fresh.len() - fresh) as u64;
        self.select(block);
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
        self.work.show(self.unique);
        Ok(Flow::Continue)
    }

    fn checkpoint_is_due(&self) -> bool {
        let is_late = self.settled.elapsed() > BETWEEN_SETTLEMENTS;
        (is_late && !self.unsettled.is_empty()) || self.unsettled.size() > MOST_UNSETTLED
    }

    fn checkpoint(&mut self, _settled: Settled) -> Result<(), Failure> {
        self.unsettled.clear();
        self.settled = Instant::now();
        Ok(())
    }
}

impl Dedup {
    /// Decides which keys count as never seen.
    ///
    /// One that was there at the second asking may have been put there by the first, whose answer was
    /// lost: it counts as new, once as long as answers are in doubt. So does what was not answered at all.
    fn judge(&mut self, answers: &[Answer], block: &Block) {
        self.fresh.clear();
        let mut all_is_known = true;
        let all = answers.iter().zip(keys(block).bytes.iter().zip(&block.hashes));
        for (answer, (key, hash)) in all {
            let is_fresh = if let Answer { number: Some(number @ 0..), in_doubt: false } = answer {
                *number > 0 && !self.passed.contains(key)
            } else {
                all_is_known = false;
                self.passed.insert(key.to_vec())
            };
            if is_fresh {
                self.unsettled.note(key, *hash);
            }
            self.fresh.push(is_fresh);
        }
        if all_is_known && !self.work.filter.has_doubts() {
            self.passed.clear();
        }
    }

    fn select(&self, block: &mut Block) {
        let with = |is_fresh| self.fresh.iter().map(move |fresh| *fresh == is_fresh);
        let is_fresh = self.wanted == Insertion::Inserted;
        block.select(with(is_fresh), |why| self.work.session.passes(why, self.wanted));
        if self.tee {
            block.also_select(with(false), |why| {
                self.work.session.passes(why, Insertion::AlreadyPresent)
            });
        }
    }

    /// Notes what may be recorded from the `first` key on, to be taken back.
    fn refuse(&mut self, block: &Block, answers: &[Answer], first: usize) {
        self.work.session.take_back(block, block.record_of_hash(first));
        let may_be_in = |answer: &Answer| {
            answer.in_doubt || !matches!(answer.number, Some(ALREADY_THERE | FULL))
        };
        self.behind.note_some(keys(block), answers, first, may_be_in);
    }

    /// Takes back what is recorded and perhaps not in the output, and what was recorded behind it.
    fn take_back_all(&mut self) {
        if matches!(self.ending, Ending::GaveUp(_)) {
            // There is nobody to take anything back from.
            return;
        }
        self.unsettled.append(&self.behind);
        let keys = self.unsettled.keys();
        if let (answers, Err(failure)) = self.work.ask_at_once(Question::Remove, keys) {
            let left = answers.iter().filter(|answer| answer.number.is_none()).count();
            let (name, left) = (self.work.filter.name(), grouped(left as u64));
            let reason = failure.reason();
            message::say(format_args!(
                "{name}: {left} records remain recorded that may not be in the output: {reason}"
            ));
        }
    }

    fn finish(mut self) -> Result<Exit, Failure> {
        self.work.ask_at_once(Question::Remove, self.behind.keys()).1?;
        if let Ending::GaveUp(left) = &self.ending {
            let rest = format!(
                "they are in the output whether seen before or not, and may not be recorded; stopped \
                 after {}",
                left.last
            );
            return self.work.fail(Failure::at(self.work.filter.name(), left.words(&rest)));
        }
        self.work.tell_doubts("and printed whether seen before or not");
        let answers = self.answers()?;
        let printed = self.work.print_figures(answers);
        let Ending::Full(record) = self.ending else {
            printed?;
            return Ok(self.work.session.exit(Exit::Success));
        };
        let reason = format!(
            "the filter is full; stopped before {record}: all records before it are recorded in the \
             filter{} and in the output, it and those behind it are neither",
            self.work.exceptions()
        );
        Err(Failure::Full { name: self.work.filter.name(), reason })
    }

    fn answers(&mut self) -> Result<Answers, Failure> {
        let mut answers = Answers {
            unique: Some(self.unique),
            repeats: Some(self.repeats),
            ..Answers::default()
        };
        if !self.work.session.wants_figures() {
            return Ok(answers);
        }
        let now = self.work.filter.describe()?.unwrap_or_default();
        if let Some(bits) = now.hash_bits {
            // Every new record met the items of its shard alone.
            let shards = self.work.filter.shards() as u64;
            let items = [self.items_before, now.items].map(|items| items / shards);
            let answered = Answered { new: self.unique, repeats: self.repeats };
            let expected = collisions::among_repeats(answered, items, bits);
            answers.expected_wrongly_dropped = Some(expected.min(self.repeats as f64));
        }
        Ok(answers)
    }
}
