//! What each thread does.

use super::ahead::{Next, answer_all};
use super::{Answer, Deliver, Flow, Help, Passed};
use crate::input::block::Block;
use crate::input::reader::BlockReader;
use crate::key::hashing::Hashing;
use crate::message::Failure;
use crate::output::Settled;
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

pub(super) fn read(reader: &mut BlockReader, empty: &Receiver<Block>) -> Option<Passed> {
    let mut block = empty.try_recv().unwrap_or_default();
    match reader.next_block(&mut block) {
        Ok(true) => Some(Ok(block)),
        Ok(false) => None,
        Err(failure) => Some(Err(failure)),
    }
}

pub(super) fn read_and_hash(
    reader: &mut BlockReader,
    hashing: &mut Hashing,
    empty: &Receiver<Block>,
) -> Option<Passed> {
    let mut passed = read(reader, empty)?;
    if let Ok(block) = &mut passed {
        hashing.hash(block);
    }
    Some(passed)
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
    help: Option<Help<'_>>,
) {
    for receiver in receivers.cycle() {
        let Some(passed) = next() else { return };
        let last = passed.as_ref().map_or(true, |block| block.failure.is_some());
        if !is_sent(receiver, passed, help) || last {
            return;
        }
    }
}

/// Sends a block on, with help if it has to wait. False if nobody takes it.
fn is_sent(receiver: &SyncSender<Passed>, passed: Passed, help: Option<Help<'_>>) -> bool {
    match receiver.try_send(passed) {
        Ok(()) => true,
        Err(TrySendError::Disconnected(_)) => false,
        Err(TrySendError::Full(mut passed)) => {
            if let (Ok(block), Some(help)) = (&mut passed, help) {
                help(block);
            }
            receiver.send(passed).is_ok()
        }
    }
}

pub(super) fn hash_only(
    mut hashing: Hashing,
    work: &Receiver<Passed>,
    full: &SyncSender<Passed>,
    help: Option<Help<'_>>,
) {
    for mut passed in work {
        if let Ok(block) = &mut passed {
            hashing.hash(block);
        }
        if !is_sent(full, passed, help) {
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
        // Nobody takes it any more when all is read.
        recycle.send(block).ok();
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
        // Nobody takes it any more when all is read.
        recycle.send(block).ok();
    }
    deliver.flush()
}

fn deliver_block(block: &mut Block, deliver: &mut impl Deliver) -> Result<(), Failure> {
    deliver.deliver(block)?;
    if block.drained { deliver.flush() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_would_have_to_wait_helps() {
        let (full, blocks) = mpsc::sync_channel(1);
        let (helped, has_helped) = mpsc::sync_channel(1);
        let help = |block: &mut Block| {
            block.is_looked_up = true;
            helped.send(()).unwrap();
        };
        assert!(is_sent(&full, Ok(Block::default()), Some(&help)));
        thread::scope(|scope| {
            let second = scope.spawn(|| is_sent(&full, Ok(Block::default()), Some(&help)));
            has_helped.recv().unwrap();
            let is_looked_up = || blocks.recv().unwrap().unwrap().is_looked_up;
            assert_eq!([is_looked_up(), is_looked_up()], [false, true]);
            assert!(second.join().unwrap());
        });
        drop(blocks);
        assert!(!is_sent(&full, Ok(Block::default()), Some(&help)));
    }
}
