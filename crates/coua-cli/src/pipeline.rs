//! The threads between input and answers.
//!
//! ```text
//! -j 1   read + split + hash + answer + write
//! -j 2   read + split + hash  ->  answer + write
//! -j 3   read + split + hash  ->  answer  ->  write
//! -j N   read + split  ->  hash (N - 3 threads, in turn)  ->  answer  ->  write
//! ```
//!
//! Writing is the business of `sink`. The thread that answers takes the blocks in the order of the input, whatever N is.

use crate::args::input::OnMissing;
use crate::input::block::{Block, Ending, Keyless, Why};
use crate::input::reader::BlockReader;
use crate::key::{Keys, Missing};
use crate::message::Failure;
use crate::record::Format;
use crate::signals::Stop;
use coua::{KeyHash, KeyHasher};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, Scope};

/// Blocks that may wait between two threads: enough that neither waits for the other's jitter, and
/// few enough to stay in the cache.
const WAITING_BLOCKS: usize = 4;

/// Whether more blocks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Enough,
}

/// What a command does with blocks.
pub(crate) trait Consumer {
    /// Answers for the records of a block.
    fn block(&mut self, block: &Block) -> Result<Flow, Failure>;

    /// Shows what is known: nothing more comes for now.
    fn drained(&mut self) -> Result<(), Failure>;
}

/// Finds and hashes the keys of a block's records.
#[derive(Clone, Debug)]
pub(crate) struct Hashing {
    pub(crate) format: Format,
    pub(crate) keys: Keys,
    pub(crate) hasher: KeyHasher,
    pub(crate) on_missing: OnMissing,
}

impl Hashing {
    fn hash(&mut self, block: &mut Block) {
        // The vectors are lent out, because the records borrow the block.
        let mut hashes = std::mem::take(&mut block.hashes);
        if self.keys.is_whole_record() {
            let hash = |record| self.hasher.hash(self.format.content(record));
            hashes.extend(block.records().map(hash));
        } else {
            let mut keyless = std::mem::take(&mut block.keyless);
            let broken = self.hash_keys(block, &mut hashes, &mut keyless);
            block.keyless = keyless;
            if let Some((place, missing)) = broken {
                let number = block.record_number(place);
                let what = format_args!("record {number}: {missing}");
                block.failure = Some(Failure::at(&block.name, what));
                block.cut(place);
            }
        }
        block.hashes = hashes;
    }

    /// Stops at a record without a key if such are errors, and tells where and why.
    fn hash_keys(
        &mut self,
        block: &Block,
        hashes: &mut Vec<KeyHash>,
        keyless: &mut Vec<Keyless>,
    ) -> Option<(usize, Missing)> {
        if let Some(columns) = &block.columns {
            self.keys.use_columns(columns);
        }
        for (place, record) in block.records().enumerate() {
            match self.hash_record(block, place, record) {
                Ok(hash) => hashes.push(hash),
                Err(Why::Missing(missing)) if self.on_missing == OnMissing::Error => {
                    return Some((place, missing));
                }
                Err(why) => keyless.push(Keyless { record: place, why }),
            }
        }
        None
    }

    fn hash_record(&mut self, block: &Block, place: usize, record: &[u8]) -> Result<KeyHash, Why> {
        match block.header {
            Some(header) if place == 0 => return Err(Why::Header(header)),
            _ => {}
        }
        if block.ending == Ending::OpenQuote && place + 1 == block.len() {
            return Err(Why::Missing(Missing::OpenQuote));
        }
        self.keys.hash(self.format.content(record), self.hasher).map_err(Why::Missing)
    }
}

/// Reads to the end, or until the consumer has enough, or `stop` says so.
pub(crate) fn run(
    reader: BlockReader,
    hashing: Hashing,
    threads: usize,
    stop: &Stop,
    consumer: &mut impl Consumer,
) -> Result<(), Failure> {
    match threads {
        0 | 1 => alone(reader, hashing, consumer),
        2 | 3 => thread::scope(|scope| {
            let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
            let (recycle, empty) = mpsc::channel();
            start(scope, "reader", move || {
                read_and_hash(reader, hashing, &full, &empty);
            })?;
            let result = consume(|| blocks.recv().ok(), &recycle, consumer);
            drop(blocks);
            stop.cancel();
            result
        }),
        _ => many(reader, &hashing, threads - 3, stop, consumer),
    }
}

fn alone(
    mut reader: BlockReader,
    mut hashing: Hashing,
    consumer: &mut impl Consumer,
) -> Result<(), Failure> {
    let mut block = Block::default();
    while reader.next_block(&mut block)? {
        hashing.hash(&mut block);
        if answer(&mut block, consumer)? == Flow::Enough {
            break;
        }
    }
    Ok(())
}

fn many(
    reader: BlockReader,
    hashing: &Hashing,
    workers: usize,
    stop: &Stop,
    consumer: &mut impl Consumer,
) -> Result<(), Failure> {
    thread::scope(|scope| {
        let (recycle, empty) = mpsc::channel();
        let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (raw, work) = mpsc::sync_channel(WAITING_BLOCKS);
            let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
            let hashing = hashing.clone();
            start(scope, "keys", move || hash_only(hashing, &work, &full))?;
            to_workers.push(raw);
            from_workers.push(blocks);
        }
        start(scope, "reader", move || {
            read_in_turn(reader, &to_workers, &empty);
        })?;
        let mut turn = (0..workers).cycle();
        let next = || turn.next().and_then(|worker| from_workers[worker].recv().ok());
        let result = consume(next, &recycle, consumer);
        drop(from_workers);
        stop.cancel();
        result
    })
}

/// Starts a thread; if it cannot be, the threads before it find nobody to talk to, and end.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() + Send + 'scope,
) -> Result<(), Failure> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    thread.map(drop).map_err(|error| Failure::io("threads", &error))
}

/// Blocks on their way, or why there are no more.
type Passed = Result<Block, Failure>;

fn read_and_hash(
    mut reader: BlockReader,
    mut hashing: Hashing,
    full: &SyncSender<Passed>,
    empty: &Receiver<Block>,
) {
    while let Some(passed) = read(&mut reader, empty) {
        let hashed = passed.map(|mut block| {
            hashing.hash(&mut block);
            block
        });
        if is_last(&hashed) | full.send(hashed).is_err() {
            return;
        }
    }
}

fn read_in_turn(mut reader: BlockReader, workers: &[SyncSender<Passed>], empty: &Receiver<Block>) {
    for worker in workers.iter().cycle() {
        let Some(passed) = read(&mut reader, empty) else {
            return;
        };
        if is_last(&passed) | worker.send(passed).is_err() {
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

/// Whether nothing comes after it.
fn is_last(passed: &Passed) -> bool {
    passed.as_ref().map_or(true, |block| block.failure.is_some())
}

fn read(reader: &mut BlockReader, empty: &Receiver<Block>) -> Option<Passed> {
    let mut block = empty.try_recv().unwrap_or_default();
    match reader.next_block(&mut block) {
        Ok(true) => Some(Ok(block)),
        Ok(false) => None,
        Err(failure) => Some(Err(failure)),
    }
}

fn consume(
    mut next: impl FnMut() -> Option<Passed>,
    recycle: &Sender<Block>,
    consumer: &mut impl Consumer,
) -> Result<(), Failure> {
    while let Some(passed) = next() {
        let mut block = passed?;
        if answer(&mut block, consumer)? == Flow::Enough {
            break;
        }
        // The reader is gone when it has read all: then nobody needs the block.
        recycle.send(block).ok();
    }
    Ok(())
}

fn answer(block: &mut Block, consumer: &mut impl Consumer) -> Result<Flow, Failure> {
    let flow = consumer.block(block)?;
    if block.drained {
        consumer.drained()?;
    }
    match block.failure.take() {
        Some(failure) if flow == Flow::Continue => Err(failure),
        _ => Ok(flow),
    }
}
