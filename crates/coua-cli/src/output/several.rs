//! The outputs of a command: none, one, or one for each kind of answer.

use super::file::{Form, Output, Settled};
use super::{Destination, Destinations, Opening};
use crate::key::answers::Answers;
use crate::key::keyed::Keyed;
use crate::record::block::Block;
use crate::terminal::message::Failure;
use coua_store::Place;
use std::path::{Path, PathBuf};

/// Outputs that are open.
#[derive(Debug)]
pub(crate) struct Outputs {
    main: Option<Output>,
    tee: Option<Output>,
    /// The name of each, in their order; standard output has none.
    paths: Vec<Option<PathBuf>>,
    pub(crate) form: Form,
}

impl Outputs {
    /// New ones: files are emptied, once all of them are found to be good.
    pub(crate) fn open(destinations: &Destinations, opening: Opening<'_>) -> Result<Self, Failure> {
        let mut outputs = Self::each_opened(destinations, |_, path| Output::open(path, opening))?;
        outputs
            .with_paths()
            .filter(|(_, path)| path.is_some())
            .try_for_each(|(it, _)| it.empty())?;
        Ok(outputs)
    }

    /// Those of an interrupted run, which ended at `places`, one for each.
    pub(crate) fn resume(
        destinations: &Destinations,
        places: &[Place],
        opening: Opening<'_>,
    ) -> Result<Self, Failure> {
        Self::each_opened(destinations, |number, path| match places.get(number) {
            Some(place) => Output::resume(place, opening),
            None => Output::open(path, opening),
        })
    }

    fn each_opened(
        destinations: &Destinations,
        open: impl Fn(usize, Option<&Path>) -> Result<Output, Failure>,
    ) -> Result<Self, Failure> {
        let paths = destinations.all().map(|output| output.path().map(Path::to_owned)).collect();
        let main_path = destinations.main.as_ref().and_then(Destination::path);
        let main = destinations.main.as_ref().map(|_| open(0, main_path)).transpose()?;
        let after_main = usize::from(main.is_some());
        let tee = destinations.tee.as_ref().map(|tee| open(after_main, tee.path())).transpose();
        let tee = tee.and_then(|tee| apart(main.as_ref(), tee));
        if let (Err(_), Some(main), Some(path)) = (&tee, &main, main_path) {
            main.withdraw(path);
        }
        Ok(Self { main, tee: tee?, paths, form: Form::Selected })
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

impl Outputs {
    /// Writes what was answered about a block.
    pub(crate) fn write(
        &mut self,
        block: &Block,
        keyed: &Keyed,
        answers: &Answers,
    ) -> Result<(), Failure> {
        let (closing, form) = (self.closing(), self.form);
        if let Some(main) = &mut self.main {
            told(closing, main, |main| match form {
                Form::Selected => main.write_selected(block, &answers.selected),
                _ => main.write_counted(block, keyed, &answers.counts, form),
            })?;
        }
        match &mut self.tee {
            Some(tee) => {
                told(closing, tee, |tee| tee.write_selected(block, &answers.also_selected))
            }
            None => Ok(()),
        }
    }

    /// Hands all to the operating system: nothing more comes for now.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let closing = self.closing();
        self.all().try_for_each(|output| told(closing, output, Output::flush))
    }

    /// Waits until all is on the disk, and says where it ends.
    pub(crate) fn settle(&mut self) -> Result<Settled, Failure> {
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
