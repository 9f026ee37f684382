//! What each thread does.

use super::ahead::{Next, answer_all};
use super::{Answer, Deliver, Flow, Help, Passed};
use crate::input::reader::BlockReader;
use crate::key::hashing::Hashing;
use crate::output::Settled;
use crate::record::block::Block;
use crate::terminal::message::Failure;
use std::panic;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::thread::ScopedJoinHandle;

/// What goes to the writing thread.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are blocks")]
pub(super) enum ToWrite {
    Block(Block),
    /// All before this is to be settled, and where it ends to be told.
    Settle(SyncSender<Settled>),
}

/// Where blocks are filled.
pub(super) struct Source {
    pub(super) reader: BlockReader,
    /// Those that were written, to be filled again.
    pub(super) empty: Receiver<Block>,
}

impl Source {
    pub(super) fn read(&mut self) -> Option<Passed> {
        let mut block = self.empty.try_recv().unwrap_or_default();
        match self.reader.next_block(&mut block) {
            Ok(true) => Some(Ok(block)),
            Ok(false) => None,
            Err(failure) => Some(Err(failure)),
        }
    }

    pub(super) fn read_and_hash(&mut self, hashing: &mut Hashing) -> Option<Passed> {
        let mut passed = self.read()?;
        hash_unhashed(&mut passed, hashing);
        Some(passed)
    }
}

pub(super) fn prepared(mut passed: Passed, prepare: &mut dyn FnMut(&mut Block)) -> Passed {
    if let Ok(block) = &mut passed {
        prepare(block);
    }
    passed
}

/// Passes blocks to the receivers in turn, until there are no more, or nobody takes them.
pub(super) fn pass_on<'a>(
    mut next: impl FnMut() -> Option<Passed>,
    receivers: impl Iterator<Item = &'a SyncSender<Passed>> + Clone,
    mut meanwhile: impl FnMut(&mut Block) -> More,
) {
    for receiver in receivers.cycle() {
        let Some(passed) = next() else { return };
        let last = passed.as_ref().map_or(true, |block| block.failure.is_some());
        if !is_sent(receiver, passed, &mut meanwhile) || last {
            return;
        }
    }
}

/// Whether there is more to be done for a block in the meantime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Perhaps,
    No,
}

/// Sends a block on. While it would have to wait, does something for it `meanwhile`. False if nobody takes it.
fn is_sent(
    receiver: &SyncSender<Passed>,
    mut passed: Passed,
    mut meanwhile: impl FnMut(&mut Block) -> More,
) -> bool {
    loop {
        match receiver.try_send(passed) {
            Ok(()) => return true,
            Err(TrySendError::Disconnected(_)) => return false,
            Err(TrySendError::Full(full)) => passed = full,
        }
        let more = passed.as_mut().map_or(More::No, &mut meanwhile);
        if more == More::No {
            return receiver.send(passed).is_ok();
        }
    }
}

/// Hashes the block, or else looks for the answers to it.
pub(super) fn do_more(block: &mut Block, hashing: &mut Hashing, help: Option<Help<'_>>) -> More {
    if !block.is_hashed {
        hashing.hash(block);
        return More::Perhaps;
    }
    if let Some(help) = help {
        help(block);
    }
    More::No
}

pub(super) fn hash_unhashed(passed: &mut Passed, hashing: &mut Hashing) {
    match passed {
        Ok(block) if !block.is_hashed => hashing.hash(block),
        _ => {}
    }
}

pub(super) fn hash_only(
    mut hashing: Hashing,
    work: &Receiver<Passed>,
    full: &SyncSender<Passed>,
    help: Option<Help<'_>>,
) {
    for mut passed in work {
        hash_unhashed(&mut passed, &mut hashing);
        if !is_sent(full, passed, |block| do_more(block, &mut hashing, help)) {
            return;
        }
    }
}

/// Answers and writes in one thread.
pub(super) fn together(
    next: Next<'_>,
    recycle: &Sender<Block>,
    answer: &mut impl Answer,
    deliver: &mut impl Deliver,
) -> Result<(), Failure> {
    let result = answer_all(next, answer, |answer, mut block| {
        deliver_block(&mut block, deliver)?;
        let failure = block.failure.take();
        send_back(block, recycle);
        if failure.is_none() && answer.checkpoint_is_due() {
            answer.checkpoint(deliver.settle()?)?;
        }
        failure.map_or(Ok(Flow::Continue), Err)
    });
    let flushed = deliver.flush();
    result.and(flushed)
}

/// Answers, and has another thread write.
pub(super) fn apart(
    next: Next<'_>,
    answered: SyncSender<ToWrite>,
    answer: &mut impl Answer,
    writer: ScopedJoinHandle<'_, Result<(), Failure>>,
) -> Result<(), Failure> {
    let result = answer_all(next, answer, |answer, mut block| {
        let failure = block.failure.take();
        if answered.send(ToWrite::Block(block)).is_err() {
            // The writer has ended, and will say why.
            return Ok(Flow::Enough);
        }
        if failure.is_none() && answer.checkpoint_is_due() {
            let (settled, reply) = mpsc::sync_channel(1);
            let asked = answered.send(ToWrite::Settle(settled));
            match asked.ok().and_then(|()| reply.recv().ok()) {
                Some(settled) => answer.checkpoint(settled)?,
                None => return Ok(Flow::Enough),
            }
        }
        failure.map_or(Ok(Flow::Continue), Err)
    });
    drop(answered);
    let written = writer.join().unwrap_or_else(|defect| panic::resume_unwind(defect));
    written.and(result)
}

/// The writing thread.
pub(super) fn write(
    blocks: &Receiver<ToWrite>,
    recycle: &Sender<Block>,
    deliver: &mut impl Deliver,
) -> Result<(), Failure> {
    for next in blocks {
        let mut block = match next {
            ToWrite::Block(block) => block,
            ToWrite::Settle(reply) => {
                // Whoever asked has gone if there is nobody to be told.
                reply.send(deliver.settle()?).ok();
                continue;
            }
        };
        deliver_block(&mut block, deliver)?;
        send_back(block, recycle);
    }
    deliver.flush()
}

fn deliver_block(block: &mut Block, deliver: &mut impl Deliver) -> Result<(), Failure> {
    deliver.deliver(block)?;
    if block.drained { deliver.flush() } else { Ok(()) }
}

/// Sends a block back to be filled again.
fn send_back(mut block: Block, recycle: &Sender<Block>) {
    block.shrink();
    // Nobody takes it any more when all is read.
    recycle.send(block).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_would_have_to_wait_does_more() {
        let (full, blocks) = mpsc::sync_channel(1);
        let (done, is_done) = mpsc::sync_channel(2);
        let more = |block: &mut Block| {
            block.records_before += 1;
            done.send(()).unwrap();
            if block.records_before < 2 { More::Perhaps } else { More::No }
        };
        assert!(is_sent(&full, Ok(Block::default()), more));
        thread::scope(|scope| {
            let second = scope.spawn(|| is_sent(&full, Ok(Block::default()), more));
            is_done.recv().unwrap();
            is_done.recv().unwrap();
            let done = || blocks.recv().unwrap().unwrap().records_before;
            assert_eq!([done(), done()], [0, 2]);
            assert!(second.join().unwrap());
        });
        drop(blocks);
        assert!(!is_sent(&full, Ok(Block::default()), more));
    }
}
