//! The outputs: standard output or files, in large writes; none, one, one per kind of answer, or one per input.

mod compress;
mod file;
mod output_folder;
mod output_spec;
mod per_input;

pub(crate) use compress::OutputCompression;
pub(crate) use file::Synced;
pub(crate) use output_folder::OutputFolder;
pub(crate) use output_spec::{
    Destination, Destinations, OutputSpec, UsedFiles, has_content, is_filter, refuse_filter,
};

use crate::key::{Answers, BlockKeys, COUNT, MissingKey, Reason};
use crate::record::{Block, BlockEnd, unmarked};
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

/// The form in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// The selected ones, as they came.
    Selected,
    /// The selected ones, each after the number of records with its key and this byte.
    Prefixed(u8),
    /// All, each after the number of its copies; those without a key as well.
    Counted,
    /// Those without a key are left out.
    CountedWithKey,
}

impl Output {
    /// Writes the selected records of the block.
    pub(super) fn write_selected(&mut self, block: &Block, selected: &[bool]) -> Result<()> {
        // Neighbours go out as one piece.
        let (mut start, mut previous_end, mut in_run) = (0, 0, false);
        for (&end, &take) in block.ends.iter().zip(selected) {
            if take != in_run {
                if in_run {
                    self.write(&block.bytes[start..previous_end])?;
                } else {
                    start = previous_end;
                }
                in_run = take;
            }
            previous_end = end;
        }
        if in_run {
            self.write(&block.bytes[start..previous_end])?;
            if selected.len() == block.len() {
                self.end_last_record(block)?;
            }
        }
        Ok(())
    }

    /// Writes records after the numbers of their copies: number, tab, record.
    pub(super) fn write_counted(
        &mut self,
        block: &Block,
        keys: &BlockKeys,
        counts: &[u64],
        format: OutputFormat,
    ) -> Result<()> {
        let (mut counts, mut missing) = (counts.iter(), keys.missing_keys.iter().peekable());
        for (place, record) in block.records().enumerate() {
            let count = match missing.next_if(|it| it.record == place) {
                None => counts.next().copied().unwrap_or(0),
                Some(MissingKey { reason: Reason::Missing(_), .. })
                    if format == OutputFormat::Counted =>
                {
                    0
                }
                Some(_) => continue,
            };
            self.write_after(&count.to_string(), b'\t', record)?;
            if place + 1 == block.len() {
                self.end_last_record(block)?;
            }
        }
        Ok(())
    }

    /// Writes the selected records after the numbers of those with their keys. A header's number has a name, the lines
    /// before a header have none, and a record without a key is one.
    pub(super) fn write_prefixed(
        &mut self,
        block: &Block,
        keys: &BlockKeys,
        answers: &Answers,
        selected: &[bool],
        separator: u8,
    ) -> Result<()> {
        let (mut totals, mut missing) =
            (answers.totals.iter(), keys.missing_keys.iter().peekable());
        for (place, (record, selected)) in block.records().zip(selected).enumerate() {
            let without_key = missing.next_if(|it| it.record == place);
            let total = match without_key {
                None => totals.next().copied().unwrap_or(0),
                Some(_) => 1,
            };
            if !selected {
                continue;
            }
            let number = match without_key.map(|it| &it.reason) {
                Some(Reason::Header(_)) if block.has_header_at(place) => COUNT.to_owned(),
                Some(Reason::Header(_) | Reason::Comment) => String::new(),
                _ => total.to_string(),
            };
            if number.is_empty() {
                self.write(record)?;
            } else {
                self.write_after(&number, separator, record)?;
            }
            if place + 1 == block.len() {
                self.end_last_record(block)?;
            }
        }
        Ok(())
    }

    /// Writes the separator that the last record of an input may lack.
    fn end_last_record(&mut self, block: &Block) -> Result<()> {
        match block.ending {
            BlockEnd::Separator => Ok(()),
            BlockEnd::OpenQuote if block.bytes[..block.size()].ends_with(b"\n") => Ok(()),
            BlockEnd::OpenQuote | BlockEnd::EndOfInput => self.write_separator(),
        }
    }

    /// Writes a record after its number. A byte order mark stays at the beginning of the line.
    fn write_after(&mut self, number: &str, separator: u8, record: &[u8]) -> Result<()> {
        let (mark, rest) = record.split_at(record.len() - unmarked(record).len());
        self.write(mark)?;
        self.write(number.as_bytes())?;
        self.write(&[separator])?;
        self.write(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Destinations, OutputCompression, OutputSpec, UsedFiles};
    use crate::record::RecordFormat;
    use std::io::{Read, Seek};

    fn block(text: &[u8], ending: BlockEnd) -> Block {
        let mut ends = Vec::new();
        let mut splitter = crate::record::Splitter::new(&RecordFormat::Byte(b'\n'));
        splitter.split(text, 0, &mut ends);
        if ending != BlockEnd::Separator {
            ends.push(text.len());
        }
        Block { bytes: text.to_vec(), ends, ending, ..Block::default() }
    }

    fn written(blocks: &[(Block, &[bool])]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let handle = file.try_clone().unwrap();
        let format = &RecordFormat::Byte(b'\n');
        let (to, used) = (&Destinations::default(), &UsedFiles::default());
        let threads = std::num::NonZeroUsize::MIN;
        let spec = OutputSpec { format, to, used, threads, is_followed: false };
        let mut output = Output::new(None, Ok(handle), OutputCompression::None, spec).unwrap();
        for (block, selected) in blocks {
            output.write_selected(block, selected).unwrap();
        }
        output.flush().unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn selected_records_are_written_as_they_came() {
        let text = b"a\nbb\n\nc\r\nd\n";
        let whole = |selected| written(&[(block(text, BlockEnd::Separator), selected)]);
        assert_eq!(whole(&[true; 5]), text);
        assert_eq!(whole(&[false; 5]), b"");
        assert_eq!(whole(&[true, false, true, true, false]), b"a\n\nc\r\n");
        assert_eq!(whole(&[false, true]), b"bb\n", "answers may end early");
    }

    #[test]
    fn every_record_is_written_with_its_separator() {
        let open = || block(b"a\nb", BlockEnd::EndOfInput);
        assert_eq!(written(&[(open(), &[true, true])]), b"a\nb\n");
        assert_eq!(written(&[(open(), &[true, true]), (open(), &[false, true])]), b"a\nb\nb\n");
        assert_eq!(written(&[(open(), &[true, false]), (open(), &[true, false])]), b"a\na\n");
    }
}
