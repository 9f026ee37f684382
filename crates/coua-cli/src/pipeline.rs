//! The threads between input and output.
//!
//! ```text
//! -j 1   read + split + hash + answer + write
//! -j 2   read + split + hash  ->  answer + write
//! -j 3   read + split + hash  ->  answer  ->  write
//! -j N   read + split  ->  hash (N - 3 threads, in turn)  ->  answer  ->  write
//! ```
//!
//! Blocks go round: written, they come back to be filled again. Each stage takes them in the order of
//! the input, whatever N is.

use crate::input::block::Block;
use crate::input::reader::BlockReader;
use crate::key::hashing::Hashing;
use crate::message::Failure;
use crate::output::Settled;
use crate::signals::Stop;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, Scope, ScopedJoinHandle};

/// Blocks that may wait between two threads: enough that neither waits for the other's jitter, and
/// few enough to stay in the cache.
const WAITING_BLOCKS: usize = 4;

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// What a command finds out about records.
pub(crate) trait Answer {
    /// Answers for the records of a block, in the block.
    fn answer(&mut self, block: &mut Block) -> Result<Flow, Failure>;

    /// Whether it is time to make durable what was answered so far.
    fn checkpoint_is_due(&self) -> bool {
        false
    }

    /// Makes it durable; all of it is in the outputs, and settled there.
    fn checkpoint(&mut self, _settled: Settled) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a command shows of the answers.
pub(crate) trait Deliver {
    /// Writes what was answered about a block.
    fn deliver(&mut self, block: &Block) -> Result<(), Failure>;

    /// Hands all to the operating system: nothing more comes for now.
    fn flush(&mut self) -> Result<(), Failure>;

    /// Waits until all is on the disk, and says where it ends.
    fn settle(&mut self) -> Result<Settled, Failure> {
        self.flush()?;
        Ok(Settled::default())
    }
}

/// For commands that show nothing.
impl Deliver for () {
    fn deliver(&mut self, _block: &Block) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The first stages, and how many threads there may be.
pub(crate) struct Pipeline {
    pub(crate) reader: BlockReader,
    pub(crate) hashing: Hashing,
    pub(crate) threads: usize,
    pub(crate) stop: Arc<Stop>,
}

/// What goes to the writing thread.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are blocks")]
enum ToWrite {
    Block(Block),
    /// All before this is to be settled, and where it ends to be told.
    Settle(SyncSender<Settled>),
}

/// Blocks on their way, or why there are no more.
type Passed = Result<Block, Failure>;

/// Where the next block comes from.
type Next<'a> = Box<dyn FnMut() -> Option<Passed> + 'a>;

impl Pipeline {
    /// Reads to the end, or until there are enough answers, or a signal or an error. What was
    /// answered before is delivered in every case.
    pub(crate) fn run(
        self,
        answer: &mut impl Answer,
        deliver: &mut (impl Deliver + Send),
    ) -> Result<(), Failure> {
        let stop = self.stop.clone();
        thread::scope(|scope| {
            let result = self.stages(scope, answer, deliver);
            // However it ended: nobody waits for input any more.
            stop.cancel();
            result
        })
    }

    fn stages<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        answer: &mut impl Answer,
        deliver: &'s mut (impl Deliver + Send),
    ) -> Result<(), Failure> {
        let (threads, stop) = (self.threads, self.stop.clone());
        let (recycle, empty) = mpsc::channel();
        let next = self.blocks(scope, empty)?;
        if threads <= 2 {
            return together(next, &recycle, answer, deliver);
        }
        let (answered, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
        let write = move || {
            let written = write(&blocks, &recycle, deliver);
            if written.is_err() {
                // Without an output there is no need to read on, nor to wait for input.
                stop.cancel();
            }
            written
        };
        apart(next, answered, answer, start(scope, "output", write)?)
    }

    /// Starts the threads that read and hash.
    fn blocks<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        empty: Receiver<Block>,
    ) -> Result<Next<'s>, Failure> {
        let Self { mut reader, mut hashing, threads, .. } = self;
        match threads {
            0 | 1 => Ok(Box::new(move || read_and_hash(&mut reader, &mut hashing, &empty))),
            2 | 3 => {
                let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
                let next = move || read_and_hash(&mut reader, &mut hashing, &empty);
                start(scope, "reader", move || pass_on(next, [full].iter()))?;
                Ok(Box::new(move || blocks.recv().ok()))
            }
            _ => {
                let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
                for _ in 0..threads - 3 {
                    let (raw, work) = mpsc::sync_channel(WAITING_BLOCKS);
                    let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
                    let hashing = hashing.clone();
                    start(scope, "keys", move || hash_only(hashing, &work, &full))?;
                    to_workers.push(raw);
                    from_workers.push(blocks);
                }
                let next = move || read(&mut reader, &empty);
                start(scope, "reader", move || pass_on(next, to_workers.iter()))?;
                let mut turn = (0..from_workers.len()).cycle();
                Ok(Box::new(move || from_workers[turn.next()?].recv().ok()))
            }
        }
    }
}

/// Starts a thread. If it cannot be had, those before it find nobody to talk to, and end.
fn start<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 's,
) -> Result<ScopedJoinHandle<'s, T>, Failure> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    thread.map_err(|error| Failure::io("threads", &error))
}

fn read(reader: &mut BlockReader, empty: &Receiver<Block>) -> Option<Passed> {
    let mut block = empty.try_recv().unwrap_or_default();
    match reader.next_block(&mut block) {
        Ok(true) => Some(Ok(block)),
        Ok(false) => None,
        Err(failure) => Some(Err(failure)),
    }
}

fn read_and_hash(
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

/// Passes blocks to the receivers in turn, until there are no more, or nobody takes them.
fn pass_on<'a>(
    mut next: impl FnMut() -> Option<Passed>,
    receivers: impl Iterator<Item = &'a SyncSender<Passed>> + Clone,
) {
    for receiver in receivers.cycle() {
        let Some(passed) = next() else { return };
        let last = passed.as_ref().map_or(true, |block| block.failure.is_some());
        if receiver.send(passed).is_err() || last {
            return;
        }
    }
}

fn hash_only(mut hashing: Hashing, work: &Receiver<Passed>, full: &SyncSender<Passed>) {
    for mut passed in work {
        if let Ok(block) = &mut passed {
            hashing.hash(block);
        }
        if full.send(passed).is_err() {
            return;
        }
    }
}

/// Answers and writes in one thread.
fn together(
    next: Next<'_>,
    recycle: &Sender<Block>,
    answer: &mut impl Answer,
    deliver: &mut impl Deliver,
) -> Result<(), Failure> {
    let each = |mut block: Block| {
        let flow = answer.answer(&mut block)?;
        deliver_block(&mut block, deliver)?;
        let failure = block.failure.take();
        // Nobody takes it any more when all is read.
        recycle.send(block).ok();
        if failure.is_none() && answer.checkpoint_is_due() {
            answer.checkpoint(deliver.settle()?)?;
        }
        failure.map_or(Ok(flow), Err)
    };
    let result = until_enough(next, each);
    let flushed = deliver.flush();
    result.and(flushed)
}

/// Answers, and has another thread write.
fn apart(
    next: Next<'_>,
    answered: SyncSender<ToWrite>,
    answer: &mut impl Answer,
    writer: ScopedJoinHandle<'_, Result<(), Failure>>,
) -> Result<(), Failure> {
    let each = |mut block: Block| {
        let flow = answer.answer(&mut block)?;
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
        failure.map_or(Ok(flow), Err)
    };
    let result = until_enough(next, each);
    drop(answered);
    let written = writer.join().unwrap_or_else(|defect| panic::resume_unwind(defect));
    written.and(result)
}

fn until_enough(
    mut next: impl FnMut() -> Option<Passed>,
    mut each: impl FnMut(Block) -> Result<Flow, Failure>,
) -> Result<(), Failure> {
    while let Some(passed) = next() {
        if each(passed?)? == Flow::Enough {
            break;
        }
    }
    Ok(())
}

/// The writing thread.
fn write(
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
