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

mod stages;

use crate::input::block::Block;
use crate::input::reader::BlockReader;
use crate::key::hashing::Hashing;
use crate::message::Failure;
use crate::output::Settled;
use crate::signals::Stop;
use stages::{apart, hash_only, pass_on, read, read_and_hash, together, write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
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
