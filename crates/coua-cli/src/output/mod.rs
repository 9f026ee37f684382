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
    Destination, Destinations, OutputSpec, UsedFiles, has_content, is_filter, refuse_filter,
};
pub(crate) use records::OutputFormat;

use crate::key::{Answers, BlockKeys};
use crate::record::Block;
use crate::runs::{Place, Role};
use crate::terminal::{Failure, Result};
use file::Output;
use per_input::PerInput;

/// Outputs that are open. If the run is refused before it begins to write, the files that it has created are removed.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// The main one, and perhaps a second one.
    all: Vec<Output>,
    /// All outputs, if the main one is one of several, one per input.
    per_input: Option<PerInput>,
    pub(crate) format: OutputFormat,
    /// Records may be written.
    has_begun: bool,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if !self.has_begun {
            self.all.iter().for_each(Output::withdraw);
            self.per_input.iter().for_each(PerInput::withdraw);
        }
    }
}

impl Outputs {
    /// Opens and locks the outputs. None is emptied or cut off yet.
    pub(crate) fn open(spec: OutputSpec<'_>) -> Result<Self> {
        let format = OutputFormat::Selected;
        let mut outputs = Self { all: Vec::new(), per_input: None, format, has_begun: false };
        let is_any = |to: &&Destination| !matches!(to, Destination::Folder(it) if it.is_empty());
        let mut destinations = spec.to.all().filter(is_any);
        destinations.try_for_each(|to| outputs.open_one(to, spec))?;
        Ok(outputs)
    }

    fn open_one(&mut self, to: &Destination, spec: OutputSpec<'_>) -> Result<()> {
        let output = if let Destination::Folder(files) = to {
            self.per_input.insert(PerInput::new(files, spec)).create(spec)?
        } else {
            let output = Output::open(to, spec)?;
            self.check_apart(&output)?;
            output.lock()?;
            output
        };
        self.all.push(output);
        Ok(())
    }

    /// Returns an error if an output is the same file as another one.
    fn check_apart(&self, output: &Output) -> Result<()> {
        let is_it = |other: &Output| other.regular.is_some() && other.regular == output.regular;
        let per_input = self.per_input.as_ref().zip(output.regular);
        if self.all.iter().any(is_it) || per_input.is_some_and(|(all, file)| all.contains(file)) {
            return Err(Failure::at(&output.name, "is also the output; choose another file"));
        }
        Ok(())
    }

    /// Begins new outputs: goes to the ends of files if the run appends, or else empties them.
    pub(crate) fn begin(&mut self, to: &Destinations) -> Result<()> {
        if to.appends {
            self.all.iter_mut().try_for_each(Output::append)?;
        } else {
            self.per_input.iter().try_for_each(PerInput::empty)?;
            self.all.iter_mut().try_for_each(Output::empty)?;
        }
        self.has_begun = true;
        Ok(())
    }

    /// Continues the outputs of an interrupted run, which ended at `places`, one for each file.
    pub(crate) fn resume(&mut self, places: &[Place]) -> Result<()> {
        self.has_begun = true;
        let of_main = self.per_input.as_ref().map_or(1, |it| it.places.len());
        let (main, tee) = places.split_at(of_main.min(places.len()));
        if let Some(per_input) = &mut self.per_input {
            per_input.places = main.to_vec();
        }
        let mut firsts = self.all.iter_mut().zip([main, tee]);
        firsts.try_for_each(|(output, at)| at.first().map_or(Ok(()), |it| output.truncate(it)))
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
