//! The outputs: standard output or files, in large writes; none, one, one per kind of answer, or one per input.

mod begun;
mod file;
mod gather;
mod output_folder;
mod output_spec;
mod pack;
mod per_input;
mod records;

pub(crate) use file::Synced;
pub(crate) use output_folder::OutputFolder;
pub(crate) use output_spec::{
    Destination, Destinations, OutputSpec, UsedFiles, is_filter, refuse_filter,
};
pub(crate) use pack::Packing;
pub(crate) use records::OutputFormat;

use crate::key::{Answers, BlockKeys};
use crate::record::Block;
use crate::runs::Place;
use crate::terminal::{Failure, Result};
use file::Output;
use per_input::PerInput;

/// Outputs that are open.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// The main one, and perhaps a second one.
    all: Vec<Output>,
    /// All outputs, if the main one is one of several, one per input.
    per_input: Option<PerInput>,
    pub(crate) format: OutputFormat,
}

impl Outputs {
    /// Opens new outputs: files are emptied after all of them have passed the checks.
    pub(crate) fn open(spec: OutputSpec<'_>) -> Result<Self> {
        let mut outputs = Self::resume(&[], spec)?;
        let mut all = outputs.all.iter_mut();
        if let Some(per_input) = &outputs.per_input {
            per_input.empty()?;
        }
        if spec.to.appends {
            all.try_for_each(|output| output.go_on(spec.format))?;
        } else {
            all.try_for_each(Output::empty)?;
        }
        Ok(outputs)
    }

    /// Opens the outputs of an interrupted run, which ended at `places`, one for each.
    pub(crate) fn resume(mut places: &[Place], spec: OutputSpec<'_>) -> Result<Self> {
        let mut outputs = Self { all: Vec::new(), per_input: None, format: OutputFormat::Selected };
        for destination in spec.to.all() {
            let own;
            (own, places) = places.split_at(places.len().min(destination.paths().len()));
            let opened = outputs.open_at(destination, own, spec);
            match opened.and_then(|output| outputs.check_apart(output)) {
                Ok(output) => outputs.all.push(output),
                Err(failure) => {
                    outputs.all.iter().for_each(Output::withdraw);
                    outputs.per_input.iter().for_each(PerInput::withdraw);
                    return Err(failure);
                }
            }
        }
        Ok(outputs)
    }

    /// Opens an output, or the first one of several.
    fn open_at(&mut self, to: &Destination, at: &[Place], spec: OutputSpec<'_>) -> Result<Output> {
        let (per_input, output) = match (to, at) {
            (Destination::Folder(files), []) => PerInput::open(files, spec)?,
            (Destination::Folder(files), places) => PerInput::resume(files, places, spec)?,
            (_, [place]) => return Output::resume(place, spec),
            _ => return Output::open(to, spec),
        };
        self.per_input = Some(per_input);
        Ok(output)
    }

    /// Returns an error if an output is the same file as another one.
    fn check_apart(&self, output: Output) -> Result<Output> {
        let is_it = |other: &Output| other.regular.is_some() && other.regular == output.regular;
        let is_second = !self.all.is_empty();
        let per_input = self.per_input.as_ref().zip(output.regular).filter(|_| is_second);
        if self.all.iter().any(is_it) || per_input.is_some_and(|(all, file)| all.contains(file)) {
            return Err(Failure::at(&output.name, "is also the output; choose another file"));
        }
        Ok(output)
    }

    /// Whether all of them are files with names, so that a run can be resumed.
    pub(crate) fn are_files(&self) -> bool {
        self.all.iter().all(|output| output.path.is_some() && output.regular.is_some())
    }

    /// Writes the selected records of a block.
    pub(crate) fn write(
        &mut self,
        block: &Block,
        keys: &BlockKeys,
        answers: &Answers,
    ) -> Result<()> {
        self.with_per_input(|per_input, output| per_input.switch(output, block.input))?;
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

    /// Passes all bytes to the operating system, because nothing more comes for now.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.each(Output::flush)
    }

    /// Passes all bytes to the operating system, because nothing more comes.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.each(Output::finish)
    }

    /// Completes the outputs after the last record, including those of inputs without records.
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.with_per_input(PerInput::complete)
    }

    /// Syncs all outputs, and returns their ends.
    pub(crate) fn sync(&mut self) -> Result<Synced> {
        let mut ends = Vec::new();
        self.each(|output| output.sync().map(|place| ends.push(place)))?;
        let mut ends = ends.into_iter();
        let mut synced = Synced::default();
        if let Some(per_input) = &mut self.per_input {
            per_input.sync()?;
            ends.next().flatten().into_iter().for_each(|place| per_input.record(place));
            synced.clone_from(&per_input.places);
        }
        synced.extend(ends.flatten());
        Ok(synced)
    }

    fn with_per_input(
        &mut self,
        act: impl FnOnce(&mut PerInput, &mut Output) -> Result<()>,
    ) -> Result<()> {
        match (&mut self.per_input, &mut *self.all) {
            (Some(per_input), [output, ..]) => act(per_input, output),
            _ => Ok(()),
        }
    }

    /// Calls `act` on each output. If the reader of the only one goes away, the run ends without an error; with another
    /// output it is an error, because that would be incomplete.
    fn each(&mut self, mut act: impl FnMut(&mut Output) -> Result<()>) -> Result<()> {
        let is_one = self.all.len() == 1;
        self.all.iter_mut().try_for_each(|output| match act(output) {
            Err(Failure::OutputClosed) if !is_one => {
                let reason = "was closed by its reader, so neither output is complete";
                Err(Failure::at(&output.name, reason))
            }
            done => done,
        })
    }
}
