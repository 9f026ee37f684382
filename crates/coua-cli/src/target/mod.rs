//! The filter of a run, wherever it lives: in memory, in a file, on a server. Nothing above knows where.

pub(crate) mod collisions;
mod divided;
mod division;
mod estimate;
pub(crate) mod file;
mod kept;
mod lookup;
mod memory;
mod op;
mod parts;
mod request;
pub(crate) mod secret;
mod server;
pub(crate) mod server_report;
pub(crate) mod spec;
mod window;

pub(crate) use file::{FilterFile, Manners};
pub(crate) use kept::{Kept, Stage};
pub(crate) use op::{Location, Op, Stop};
pub(crate) use secret::Secret;
pub(crate) use spec::FilterSpec;
pub(crate) use window::WindowSpec;

use crate::input::Survey;
use crate::key::{Hashing, Keyed, Wanted};
use crate::pipeline::{Batch, Early};
use crate::record::BlockSize;
use crate::terminal::{FilterFigures, Notes, Result, counted};
use collisions::Answered;
use coua::KeyHasher;
use coua::window::{Generations, Window};
use lookup::Lookup;
use memory::Memory;
use parts::Parts;
use server::Server;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The filter of a run.
#[derive(Debug)]
pub(crate) enum Target {
    Memory(Box<Memory>),
    /// In memory, asked by several threads.
    Parts(Arc<Parts>),
    /// In a file, to be changed.
    File(Box<Kept>),
    /// In a file, only asked.
    Read(Arc<Lookup>),
    Server(Box<Server>),
    /// Of a file whose changes are all kept.
    Done(Box<Generations>),
}

impl Target {
    /// Opens the filter at this location; if there is none, makes one that is forgotten at the end.
    pub(crate) fn open(
        (location, op): (Option<&Location>, Op),
        spec: &FilterSpec,
        inputs: &Survey,
        threads: NonZeroUsize,
        manners: Manners,
    ) -> Result<Self> {
        let is_divided = threads.get() > 1 && spec.leaves_all_open();
        Ok(match location {
            None if is_divided => Self::Parts(Parts::new(spec, inputs, threads)?.into()),
            None => Self::Memory(Memory::new(spec, inputs)?.into()),
            Some(Location::Server(address)) => {
                Self::Server(Server::open(address, op, spec, manners.notes)?.into())
            }
            Some(Location::File(path)) if op.inserts() => {
                let kept = FilterFile::lock(path, manners)?.open_or_build(spec, inputs)?;
                Self::File(kept.for_threads(op, threads).into())
            }
            Some(Location::File(path)) if op.changes() => {
                let file = FilterFile::lock_existing(path, manners)?;
                Self::File(file.open(file::expecting(inputs), spec)?.into())
            }
            Some(Location::File(path)) => {
                let view = file::view(path, file::expecting(inputs), &spec.secret)?;
                spec.now.check_for(view.filter.window())?;
                Self::Read(Lookup::new(view, spec.now, op).into())
            }
        })
    }

    /// What may be asked of it before a block's turn.
    pub(crate) fn early(&self) -> Arc<dyn Early> {
        match self {
            Self::Parts(parts) => parts.clone(),
            Self::Read(lookup) => lookup.clone(),
            Self::File(kept) => kept.early(),
            _ => Arc::new(()),
        }
    }

    /// How large the blocks are that it is asked about. Those of a file are the same for any number of threads: where a
    /// run that stops early was is kept there.
    pub(crate) fn block_size(&self) -> BlockSize {
        match self {
            Self::Parts(_) => BlockSize::LARGE,
            Self::File(_) => BlockSize::FEW_RECORDS,
            _ => BlockSize::USUAL,
        }
    }

    /// Complains if the file of a filter that was asked is not what it was.
    pub(crate) fn check_origin(&self) -> Result<()> {
        match self {
            Self::Read(lookup) => Ok(lookup.view().check_origin()?),
            _ => Ok(()),
        }
    }

    /// Whether what a server has recorded is to be brought into the output.
    pub(crate) fn settlement_is_due(&self) -> bool {
        matches!(self, Self::Server(server) if server.settlement_is_due())
    }

    /// All that was answered is in the output.
    pub(crate) fn note_settled(&mut self) {
        if let Self::Server(server) = self {
            server.note_settled();
        }
    }

    /// Takes back what a server has recorded and the run cannot bring into the output.
    pub(crate) fn take_back(&mut self) {
        if let Self::Server(server) = self {
            server.take_back();
        }
    }

    /// Takes back what a server has recorded after the record for which there was no room.
    pub(crate) fn take_back_after_full(&mut self) -> Result<()> {
        match self {
            Self::Server(server) => server.finish(),
            _ => Ok(()),
        }
    }

    /// Tells of lost connections, and what they may have done; and of records that came too late to be remembered.
    pub(crate) fn tell_doubts(&self, op: Op, notes: Notes) {
        if let Self::Server(server) = self {
            server.tell_doubts();
        }
        let outdated = self.with_filter(Generations::outdated).unwrap_or(0);
        if op.inserts() && outdated > 0 {
            let records = counted(outdated, "record");
            notes.say(format_args!("not remembered, because older than the window: {records}"));
        }
    }

    /// What a message that says what is in the filter has to add; none if it is forgotten.
    pub(crate) fn exceptions(&self) -> Option<&'static str> {
        match self {
            Self::Server(server) => Some(server.exceptions()),
            _ => self.is_lasting().then_some(""),
        }
    }

    /// The filter in a file that is changed.
    pub(crate) fn kept(&mut self) -> Option<&mut Kept> {
        match self {
            Self::File(kept) => Some(kept),
            _ => None,
        }
    }

    /// Whether it outlives the run: then what it remembers must be in the output first.
    pub(crate) fn is_lasting(&self) -> bool {
        !matches!(self, Self::Memory(_) | Self::Parts(_))
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(kept) => kept.name(),
            Self::Server(server) => server.filter.name(),
            _ => "filter".to_owned(),
        }
    }

    /// How keys are hashed that are otherwise found like this: a server gets the keys themselves and hashes by itself,
    /// and its shards go by the default.
    pub(crate) fn hashing(&self, found: &Hashing) -> Hashing {
        let (hasher, wanted) = match self {
            Self::Server(_) => (KeyHasher::default(), Wanted::Key),
            Self::Parts(parts) => (parts.hasher(), Wanted::Hash),
            _ => (self.with_filter(Generations::hasher).unwrap_or_default(), Wanted::Hash),
        };
        Hashing { hasher, wanted, ..found.clone() }
    }

    pub(crate) fn window(&self) -> Option<Window> {
        self.with_filter(Generations::window).flatten()
    }

    /// How full it is, if that is known.
    pub(crate) fn load(&self) -> Option<f64> {
        match self {
            Self::Parts(parts) => Some(parts.load()),
            Self::File(kept) => Some(kept.load()),
            // It is not asked for its load all the time.
            _ => self.with_filter(Generations::load_factor),
        }
    }

    fn with_filter<T>(&self, look: impl FnOnce(&Generations) -> T) -> Option<T> {
        match self {
            Self::Memory(memory) => Some(look(&memory.filter)),
            Self::File(kept) => Some(look(kept.filter())),
            Self::Read(lookup) => Some(look(&lookup.view().filter)),
            Self::Done(filter) => Some(look(filter)),
            Self::Parts(_) | Self::Server(_) => None,
        }
    }

    /// Asks about a block, if answers take their time.
    pub(crate) fn ask(&mut self, keyed: &Keyed) {
        if let Self::Server(server) = self {
            server.ask(keyed);
        }
    }

    /// Bytes of input about which may have been asked and not answered yet.
    pub(crate) fn most_asked(&self) -> usize {
        if let Self::Server(_) = self { server::MOST_ASKED } else { 0 }
    }

    /// Does with the keys of a block what is to be done, apart from the first `known` of them, which were done
    /// before.
    pub(crate) fn answer(&mut self, op: Op, batch: &mut Batch, known: usize) -> Result<(), Stop> {
        let Batch { block, keyed, answers } = batch;
        match self {
            Self::Memory(memory) => memory.insert_unique(keyed, block.consumed, answers),
            Self::Parts(parts) => parts.answer(keyed, answers),
            Self::File(kept) => kept.change(op, (keyed, known), answers),
            Self::Read(lookup) => {
                lookup.answer(keyed, answers);
                Ok(())
            }
            Self::Server(server) => server.answer(keyed, answers),
            Self::Done(_) => Ok(()),
        }
    }

    /// Lets several threads insert, if blocks of so many keys are worth it, and none of them was done before.
    pub(crate) fn divide(&mut self, keys: usize) {
        if let Self::File(kept) = self {
            kept.divide(keys);
        }
    }

    /// How many of the repeats are expected to be new records, as far as that is known without asking a server,
    /// and how many bits of each hash are remembered. So many were expected in the answers, if these told it.
    pub(crate) fn expected(&self, (answered, told): (Answered, f64)) -> [Option<f64>; 2] {
        match self {
            Self::Server(server) => [server.expected(answered, None), server.hash_bits],
            _ => [Some(told), self.with_filter(Generations::hash_bits)],
        }
    }

    /// What there is to say of it at the end, and how many of the repeats are expected to be new records.
    pub(crate) fn describe(
        &mut self,
        (answered, told): (Answered, f64),
    ) -> Result<(FilterFigures, Option<f64>)> {
        if let Self::Server(server) = self {
            let found = server.describe()?;
            let expected = server.expected(answered, Some(found.items));
            return Ok((server_report::figures(&found), expected));
        }
        let figures = match self {
            Self::Parts(parts) => parts.figures(),
            _ => self.with_filter(|filter| FilterFigures::from(filter)).unwrap_or_default(),
        };
        Ok((figures, Some(told)))
    }
}
