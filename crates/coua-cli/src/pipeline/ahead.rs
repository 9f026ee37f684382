//! Blocks that are asked about ahead of their answers.
//!
//! A filter here answers at once. One on a server is far away: while an answer is on its way, others are
//! asked for.

use super::{Answer, Flow, Passed};
use crate::record::block::Block;
use crate::terminal::message::Failure;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Where the next block comes from.
pub(super) type Next<'a> = Box<dyn FnMut(Wait) -> Coming + Send + 'a>;

/// Whether to wait for the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    ForIt,
    Not,
}

/// What comes next.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are blocks")]
pub(super) enum Coming {
    Next(Passed),
    /// It would have to be waited for.
    NotYet,
    Nothing,
}

impl Coming {
    /// What another thread sends.
    pub(super) fn from(sender: &Receiver<Passed>, wait: Wait) -> Self {
        let received = match wait {
            Wait::ForIt => sender.recv().map_err(|_| TryRecvError::Disconnected),
            Wait::Not => sender.try_recv(),
        };
        match received {
            Ok(passed) => Self::Next(passed),
            Err(TryRecvError::Empty) => Self::NotYet,
            Err(TryRecvError::Disconnected) => Self::Nothing,
        }
    }
}

/// Answers for all blocks, in their order, and hands them on. Whatever happens: all that were asked
/// about are answered for, and nothing is asked any more after the end.
pub(super) fn answer_all<A: Answer>(
    mut next: Next<'_>,
    answer: &mut A,
    mut hand_on: impl FnMut(&mut A, Block) -> Result<Flow, Failure>,
) -> Result<(), Failure> {
    let mut asked = Asked::default();
    let (mut end, mut result) = (None, Ok(()));
    loop {
        if end.is_none() {
            end = asked.fill(&mut next, answer);
        }
        let Some(mut block) = asked.pop() else { break };
        let flow = answer.answer(&mut block);
        if matches!(flow, Ok(Flow::Enough)) {
            // What is wrong behind the record that was enough is not met.
            block.failure = None;
        }
        if result.is_err() {
            continue;
        }
        match flow.and_then(|flow| hand_on(answer, block).map(|then| then.max(flow))) {
            Ok(Flow::Continue) => continue,
            Ok(Flow::Enough) => {}
            Err(failure) => result = Err(failure),
        }
        end.get_or_insert(Ok(()));
    }
    result.and(end.unwrap_or(Ok(())))
}

/// Blocks without an answer, in their order.
#[derive(Debug, Default)]
struct Asked {
    blocks: VecDeque<Block>,
    bytes: usize,
    /// The next one, for which there was no room.
    held: Option<Block>,
}

impl Asked {
    /// Asks about as many blocks as may be, and are there. Waits only for the first. If there are no
    /// more, tells whether all is well.
    fn fill(
        &mut self,
        next: &mut Next<'_>,
        answer: &mut impl Answer,
    ) -> Option<Result<(), Failure>> {
        while self.blocks.is_empty() || self.bytes < answer.most_asked() {
            let wait = if self.blocks.is_empty() { Wait::ForIt } else { Wait::Not };
            let block = match self.held.take() {
                Some(block) => block,
                None => match next(wait) {
                    Coming::Next(Ok(block)) => block,
                    Coming::Next(Err(failure)) => return Some(Err(failure)),
                    Coming::NotYet => return None,
                    Coming::Nothing => return Some(Ok(())),
                },
            };
            if !self.blocks.is_empty() && self.bytes + block.size() > answer.most_asked() {
                self.held = Some(block);
                return None;
            }
            answer.ask(&block);
            let is_last = block.failure.is_some();
            self.bytes += block.size();
            self.blocks.push_back(block);
            if is_last {
                return Some(Ok(()));
            }
        }
        None
    }

    fn pop(&mut self) -> Option<Block> {
        let block = self.blocks.pop_front()?;
        self.bytes -= block.size();
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Notes what it is asked, and answers.
    #[derive(Default)]
    struct Script {
        most: usize,
        log: Vec<String>,
        enough_at: Option<u64>,
    }

    impl Answer for Script {
        fn ask(&mut self, block: &Block) {
            self.log.push(format!("?{}", block.records_before));
        }

        fn most_asked(&self) -> usize {
            self.most
        }

        fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure> {
            self.log.push(format!("!{}", block.records_before));
            let enough = self.enough_at == Some(block.records_before);
            Ok(if enough { Flow::Enough } else { Flow::Continue })
        }
    }

    fn block(number: u64, size: usize) -> Block {
        Block { records_before: number, ends: vec![size], ..Block::default() }
    }

    fn run(script: &mut Script, blocks: Vec<Passed>) -> Result<(), Failure> {
        let (sender, receiver) = mpsc::channel();
        for block in blocks {
            sender.send(block).unwrap();
        }
        drop(sender);
        let next = Box::new(move |wait| Coming::from(&receiver, wait));
        answer_all(next, script, |script, block| {
            script.log.push(format!(">{}", block.records_before));
            if block.records_before == 66 { Err(Failure::OutputClosed) } else { Ok(Flow::Continue) }
        })
    }

    fn four() -> Vec<Passed> {
        (1..5).map(|number| Ok(block(number, 10))).collect()
    }

    #[test]
    fn one_at_a_time_or_as_many_as_may_be() {
        let mut script = Script::default();
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 !1 >1 ?2 !2 >2 ?3 !3 >3 ?4 !4 >4");
        let mut script = Script { most: 25, ..Script::default() };
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 ?2 !1 >1 ?3 !2 >2 ?4 !3 >3 !4 >4");
        let mut script = Script { most: 25, ..Script::default() };
        run(&mut script, [block(1, 10), block(2, 99), block(3, 1)].map(Ok).into()).unwrap();
        assert_eq!(script.log.join(" "), "?1 !1 >1 ?2 !2 >2 ?3 !3 >3", "a giant goes alone");
    }

    #[test]
    fn what_was_asked_is_answered_whatever_happens() {
        let mut script = Script { most: 20, enough_at: Some(1), ..Script::default() };
        run(&mut script, four()).unwrap();
        assert_eq!(script.log.join(" "), "?1 ?2 !1 >1 !2 >2");
        let mut script = Script { most: 20, ..Script::default() };
        let blocks = [block(66, 10), block(2, 10), block(3, 10)].map(Ok).into();
        assert!(matches!(run(&mut script, blocks), Err(Failure::OutputClosed)));
        assert_eq!(script.log.join(" "), "?66 ?2 !66 >66 !2", "and handed on to nobody");
        let mut script = Script { most: 30, ..Script::default() };
        let blocks = vec![Ok(block(1, 10)), Err(Failure::at("in", "unreadable")), Ok(block(3, 10))];
        assert!(matches!(run(&mut script, blocks), Err(Failure::At { .. })));
        assert_eq!(script.log.join(" "), "?1 !1 >1", "all before what cannot be read");
    }
}
