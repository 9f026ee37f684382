//! The outputs: standard output or files, in large writes; none, one, one per kind of answer, or one per input.

mod compress;
mod file;
mod output_folder;
mod output_spec;
mod per_input;
mod records;

pub(crate) use compress::OutputCompression;
pub(crate) use file::Synced;
pub(crate) use output_folder::OutputFolder;
pub(crate) use output_spec::{
    Destination, Destinations, OutputSpec, UsedFiles, is_filter, refuse_filter,
};
pub(crate) use records::OutputFormat;

use crate::key::{Answers, BlockKeys};
use crate::record::Block;
use crate::runs::{Place, Role};
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
        if spec.to.appends {
            if let Err(failure) = outputs.all.iter_mut().try_for_each(Output::append) {
                outputs.withdraw();
                return Err(failure);
            }
            return Ok(outputs);
        }
        if let Some(per_input) = &outputs.per_input {
            per_input.empty()?;
        }
        outputs.all.iter_mut().try_for_each(Output::empty)?;
        Ok(outputs)
    }

    /// Removes the files that this run has created: it is refused, and they are empty.
    fn withdraw(&self) {
        self.all.iter().for_each(Output::withdraw);
        self.per_input.iter().for_each(PerInput::withdraw);
    }

    /// Opens the outputs of an interrupted run, which ended at `places`, one for each.
    pub(crate) fn resume(mut places: &[Place], spec: OutputSpec<'_>) -> Result<Self> {
        let mut outputs = Self { all: Vec::new(), per_input: None, format: OutputFormat::Selected };
        let is_any = |to: &&Destination| !matches!(to, Destination::Folder(it) if it.is_empty());
        for destination in spec.to.all().filter(is_any) {
            let own;
            (own, places) = places.split_at(places.len().min(destination.paths().len()));
            let opened = outputs.open_at(destination, own, spec);
            match opened.and_then(|output| outputs.check_apart(output)) {
                Ok(output) => outputs.all.push(output),
                Err(failure) => {
                    outputs.withdraw();
                    return Err(failure);
                }
            }
        }
        Ok(outputs)
    }

    /// Opens an output, or the first one of several.
    fn open_at(&mut self, to: &Destination, at: &[Place], spec: OutputSpec<'_>) -> Result<Output> {
        let (per_input, mut output) = match (to, at) {
            (Destination::Folder(files), places) => PerInput::open(files, places, spec)?,
            (_, [place]) => return Output::resume(place, spec),
            _ => return Output::open(to, spec),
        };
        if let [first, ..] = at {
            output.truncate(first)?;
        }
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
        let mut main_end = ends.next().flatten();
        if let Some(per_input) = &mut self.per_input {
            per_input.sync()?;
            main_end.take().into_iter().for_each(|place| per_input.record(place));
            synced.clone_from(&per_input.places);
        }
        synced.extend(main_end);
        synced.extend(ends.flatten().map(|place| Place { role: Role::Repeats, ..place }));
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
