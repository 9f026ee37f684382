//! Where records go: standard output or a file, in large writes; none, one, or one for each kind of answer.

mod begun;
mod file;
mod output_spec;
mod pack;

pub(crate) use file::{OutputFormat, Synced};
pub(crate) use output_spec::{Destination, Destinations, OutputSpec, UsedFiles, refuse_filter};
pub(crate) use pack::Packing;

use crate::key::{Answers, BlockKeys};
use crate::record::Block;
use crate::runs::Place;
use crate::terminal::{Failure, Result};
use file::Output;

/// Outputs that are open.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// The main one, and perhaps a second one.
    all: Vec<Output>,
    pub(crate) format: OutputFormat,
}

impl Outputs {
    /// New ones: files are emptied, once all of them are found to be good.
    pub(crate) fn open(spec: OutputSpec<'_>) -> Result<Self> {
        let mut outputs = Self::resume(&[], spec)?;
        let mut all = outputs.all.iter_mut();
        if spec.to.appends {
            all.try_for_each(|output| output.go_on(spec.format))?;
        } else {
            all.try_for_each(Output::empty)?;
        }
        Ok(outputs)
    }

    /// Those of an interrupted run, which ended at `places`, one for each; the others are opened as they are.
    pub(crate) fn resume(places: &[Place], spec: OutputSpec<'_>) -> Result<Self> {
        let mut outputs = Self { all: Vec::new(), format: OutputFormat::Selected };
        for (number, destination) in spec.to.all().enumerate() {
            let opened = match places.get(number) {
                Some(place) => Output::resume(place, spec),
                None => Output::open(destination, spec),
            };
            match opened.and_then(|output| outputs.check_apart(output)) {
                Ok(output) => outputs.all.push(output),
                Err(failure) => {
                    outputs.all.iter().for_each(Output::withdraw);
                    return Err(failure);
                }
            }
        }
        Ok(outputs)
    }

    /// Returns an error for an output that is the file of another one.
    fn check_apart(&self, output: Output) -> Result<Output> {
        let is_it = |other: &Output| other.regular.is_some() && other.regular == output.regular;
        if self.all.iter().any(is_it) {
            return Err(Failure::at(&output.name, "is the output as well: name another file"));
        }
        Ok(output)
    }

    /// Whether all of them are files with names, so that a run can be resumed.
    pub(crate) fn are_files(&self) -> bool {
        self.all.iter().all(|output| output.path.is_some() && output.regular.is_some())
    }

    /// Writes what was answered about a block.
    pub(crate) fn write(
        &mut self,
        block: &Block,
        keys: &BlockKeys,
        answers: &Answers,
    ) -> Result<()> {
        let format = self.format;
        let mut selected = [&answers.selected, &answers.also_selected].into_iter();
        self.each(|output| match (format, selected.next()) {
            (OutputFormat::Selected, Some(selected)) => output.write_selected(block, selected),
            (OutputFormat::Prefixed(separator), Some(selected)) => {
                output.write_prefixed(block, keys, answers, selected, separator)
            }
            _ => output.write_counted(block, keys, &answers.counts, format),
        })
    }

    /// Hands all to the operating system: nothing more comes for now.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.each(Output::flush)
    }

    /// Hands all to the operating system: nothing more comes at all.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.each(Output::finish)
    }

    /// Waits until all is on the disk, and says where it ends.
    pub(crate) fn sync(&mut self) -> Result<Synced> {
        let mut synced = Synced::default();
        self.each(|output| output.sync().map(|place| synced.extend(place)))?;
        Ok(synced)
    }

    /// Does something with each. If the reader of the only one goes away, there is nothing more to do; another
    /// output would end early without a word.
    fn each(&mut self, mut act: impl FnMut(&mut Output) -> Result<()>) -> Result<()> {
        let is_one = self.all.len() == 1;
        self.all.iter_mut().try_for_each(|output| match act(output) {
            Err(Failure::OutputClosed) if !is_one => {
                let reason = "was closed by its reader, so that neither output is complete";
                Err(Failure::at(&output.name, reason))
            }
            done => done,
        })
    }
}
