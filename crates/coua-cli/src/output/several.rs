//! The outputs of a command: none, one, or one for each kind of answer.

use super::{Opening, Output, Settled};
use crate::input;
use crate::key::header::Mixing;
use crate::pipeline::Deliver;
use crate::record::block::Block;
use crate::terminal::message::Failure;
use crate::terminal::stream::Stream;
use coua_store::Place;
use std::path::{Path, PathBuf};

/// Where the selected records are to go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination<'a> {
    /// Standard output.
    Standard,
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// Of an option that says otherwise than standard output, which is also `-`.
    pub(crate) fn of(path: Option<&'a Path>) -> Self {
        match path {
            Some(path) if path != Path::new("-") => Self::File(path),
            _ => Self::Standard,
        }
    }

    pub(super) fn path(self) -> Option<&'a Path> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path),
        }
    }
}

/// What the command line says about the outputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Destinations<'a> {
    /// For the selected records; none if the command prints nothing.
    pub(crate) main: Option<Destination<'a>>,
    /// For the records that are selected for a second output as well.
    pub(crate) tee: Option<Destination<'a>>,
}

impl<'a> Destinations<'a> {
    /// Standard output.
    pub(crate) const STANDARD: Self = Self { main: Some(Destination::Standard), tee: None };

    /// Complains if standard output is one of them and was closed.
    pub(crate) fn check_open(self) -> Result<(), Failure> {
        let is_standard = |output: &Destination<'_>| output.path().is_none();
        self.all().find(is_standard).map_or(Ok(()), |_| Stream::Output.check_open())
    }

    /// Whether records are printed.
    pub(crate) fn mixing(self) -> Mixing {
        if self.main.is_some() { Mixing::Refused } else { Mixing::Allowed }
    }

    pub(super) fn all(self) -> impl Iterator<Item = Destination<'a>> {
        self.main.into_iter().chain(self.tee)
    }

    /// The names of the outputs; standard output has none.
    pub(crate) fn paths(self) -> Vec<&'a Path> {
        self.all().filter_map(Destination::path).collect()
    }

    /// Whether all of them are, or will be, files with names.
    pub(crate) fn are_files(self) -> bool {
        self.all().all(|output| {
            output.path().is_some_and(|path| !path.exists() || input::regular_file(path).is_some())
        })
    }
}

/// Outputs that are open.
#[derive(Debug)]
pub(crate) struct Outputs {
    main: Option<Output>,
    tee: Option<Output>,
    /// The name of each, in their order; standard output has none.
    paths: Vec<Option<PathBuf>>,
}

impl Outputs {
    /// New ones: files are emptied, once all of them are found to be good.
    pub(crate) fn open(
        destinations: Destinations<'_>,
        opening: Opening<'_>,
    ) -> Result<Self, Failure> {
        let mut outputs = Self::each_opened(destinations, |_, path| Output::open(path, opening))?;
        outputs
            .with_paths()
            .filter(|(_, path)| path.is_some())
            .try_for_each(|(it, _)| it.empty())?;
        Ok(outputs)
    }

    /// Those of an interrupted run, which ended at `places`, one for each.
    pub(crate) fn resume(
        destinations: Destinations<'_>,
        places: &[Place],
        opening: Opening<'_>,
    ) -> Result<Self, Failure> {
        Self::each_opened(destinations, |number, path| match places.get(number) {
            Some(place) => Output::resume(place, opening),
            None => Output::open(path, opening),
        })
    }

    fn each_opened(
        destinations: Destinations<'_>,
        open: impl Fn(usize, Option<&Path>) -> Result<Output, Failure>,
    ) -> Result<Self, Failure> {
        let paths = destinations.all().map(|output| output.path().map(Path::to_owned)).collect();
        let main = destinations.main.map(|main| open(0, main.path())).transpose()?;
        let behind = usize::from(main.is_some());
        let tee = destinations.tee.map(|tee| open(behind, tee.path())).transpose();
        let tee = tee.and_then(|tee| apart(main.as_ref(), tee));
        let path = destinations.main.and_then(Destination::path);
        if let (Err(_), Some(main), Some(path)) = (&tee, &main, path) {
            main.withdraw(path);
        }
        let tee = tee?;
        Ok(Self { main, tee, paths })
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Output> {
        self.main.iter_mut().chain(&mut self.tee)
    }

    fn with_paths(&mut self) -> impl Iterator<Item = (&mut Output, &Option<PathBuf>)> {
        self.main.iter_mut().chain(&mut self.tee).zip(&self.paths)
    }

    fn closing(&self) -> Closing {
        if self.main.is_some() && self.tee.is_some() { Closing::IsWrong } else { Closing::Ends }
    }

    /// Whether all of them are files with names, so that a run can be resumed.
    pub(crate) fn are_files(&mut self) -> bool {
        self.paths.iter().all(Option::is_some)
            && self.all().all(|output| output.identity().is_some())
    }
}

impl Deliver for Outputs {
    fn deliver(&mut self, block: &Block) -> Result<(), Failure> {
        let closing = self.closing();
        if let Some(main) = &mut self.main {
            told(closing, main, |main| main.write_selected(block, &block.selected))?;
        }
        match &mut self.tee {
            Some(tee) => told(closing, tee, |tee| tee.write_selected(block, &block.also_selected)),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let closing = self.closing();
        self.all().try_for_each(|output| told(closing, output, Output::flush))
    }

    fn settle(&mut self) -> Result<Settled, Failure> {
        let mut settled = Settled::default();
        let closing = self.closing();
        for (output, path) in self.with_paths() {
            told(closing, output, |output| match path {
                Some(path) => output.settle(path, &mut settled),
                None => output.sync(),
            })?;
        }
        Ok(settled)
    }
}

/// Complains about a second output that is the first one's file.
fn apart(main: Option<&Output>, tee: Option<Output>) -> Result<Option<Output>, Failure> {
    let identity = tee.as_ref().and_then(Output::identity);
    match &tee {
        Some(output) if identity.is_some() && identity == main.and_then(Output::identity) => {
            Err(Failure::at(&output.name, "is the output as well: name another file"))
        }
        _ => Ok(tee),
    }
}

/// What it means if the reader of an output goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// There is nothing more to do.
    Ends,
    /// Another output would end early without a word.
    IsWrong,
}

fn told(
    closing: Closing,
    output: &mut Output,
    act: impl FnOnce(&mut Output) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match act(output) {
        Err(Failure::OutputClosed) if closing == Closing::IsWrong => {
            let reason = "was closed by its reader, so that neither output is complete";
            Err(Failure::at(&output.name, reason))
        }
        done => done,
    }
}
