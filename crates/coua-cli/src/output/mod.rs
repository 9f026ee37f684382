//! The outputs: standard output or files, in large writes; none, one, or one per input.

mod compress;
mod file;
mod output_folder;
mod output_spec;
mod per_input;

pub(crate) use compress::OutputCompression;
pub(crate) use file::Synced;
pub(crate) use output_folder::OutputFolder;
pub(crate) use output_spec::{
    Destination, Destinations, OutputSpec, STANDARD_OUTPUT, UsedFiles, has_content, is_filter,
    is_same_place, refuse_filter,
};

use crate::key::{Answers, BlockKeys, COUNT, MissingKey, Reason};
use crate::record::{Block, BlockEnd, unmarked};
use crate::runs::Place;
use crate::terminal::Result;
use file::Output;
use per_input::PerInput;

/// Outputs that are open. If the run is refused before it begins to write, the files that it has created are removed.
#[derive(Debug)]
pub(crate) struct Outputs {
    /// The one that is written to.
    output: Option<Output>,
    /// All outputs, if there is one per input.
    per_input: Option<PerInput>,
    pub(crate) format: OutputFormat,
    /// Records may be written.
    has_begun: bool,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if !self.has_begun {
            self.output.iter().for_each(Output::withdraw);
            self.per_input.iter().for_each(PerInput::withdraw);
        }
    }
}

impl Outputs {
    /// Opens and locks the outputs. None is emptied or cut off yet.
    pub(crate) fn open(spec: OutputSpec<'_>) -> Result<Self> {
        let format = OutputFormat::Selected;
        let mut outputs = Self { output: None, per_input: None, format, has_begun: false };
        outputs.output = match &spec.to.records {
            None => None,
            Some(Destination::Folder(files)) if files.paths.is_empty() => None,
            Some(Destination::Folder(files)) => {
                Some(outputs.per_input.insert(PerInput::new(files, spec)).create(spec)?)
            }
            Some(to) => {
                let output = Output::open(to, spec)?;
                output.lock()?;
                Some(output)
            }
        };
        Ok(outputs)
    }

    /// Begins new outputs: goes to the ends of files if the run appends, or else empties them.
    pub(crate) fn begin(&mut self, to: &Destinations) -> Result<()> {
        if to.appends {
            self.output.iter_mut().try_for_each(Output::append)?;
        } else {
            self.per_input.iter().try_for_each(PerInput::empty)?;
            self.output.iter_mut().try_for_each(Output::empty)?;
        }
        self.has_begun = true;
        Ok(())
    }

    /// Continues the outputs of an interrupted run, which ended at `places`, one for each file.
    pub(crate) fn resume(&mut self, places: &[Place]) -> Result<()> {
        self.has_begun = true;
        if let Some(per_input) = &mut self.per_input {
            per_input.places = places.to_vec();
        }
        let mut first = self.output.iter_mut().zip(places);
        first.try_for_each(|(output, place)| output.truncate(place))
    }

    /// Writes the selected records of a block.
    pub(crate) fn write(
        &mut self,
        block: &Block,
        keys: &BlockKeys,
        answers: &Answers,
    ) -> Result<()> {
        self.with_per_input(|per_input, output| per_input.switch(output, block.input))?;
        let Some(output) = &mut self.output else { return Ok(()) };
        match self.format {
            OutputFormat::Selected => output.write_selected(block, &answers.selected),
            OutputFormat::Prefixed(separator) => {
                output.write_prefixed(block, keys, answers, separator)
            }
            format => output.write_counted(block, keys, &answers.counts, format),
        }
    }

    /// Passes all bytes to the operating system, because nothing more comes for now.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.output.iter_mut().try_for_each(Output::flush)
    }

    /// Passes all bytes to the operating system, because nothing more comes.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.output.iter_mut().try_for_each(Output::finish)
    }

    /// Completes the outputs after the last record, including those of inputs without records.
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.with_per_input(PerInput::complete)
    }

    /// Syncs all outputs, and returns their ends.
    pub(crate) fn sync(&mut self) -> Result<Synced> {
        let end = self.output.as_mut().map_or(Ok(None), Output::sync)?;
        let Some(per_input) = &mut self.per_input else { return Ok(end.into_iter().collect()) };
        per_input.sync()?;
        if let Some(place) = end {
            per_input.record(place);
        }
        Ok(per_input.places.clone())
    }

    fn with_per_input(
        &mut self,
        act: impl FnOnce(&mut PerInput, &mut Output) -> Result<()>,
    ) -> Result<()> {
        let mut both = self.per_input.iter_mut().zip(&mut self.output);
        both.next().map_or(Ok(()), |(per_input, output)| act(per_input, output))
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
        separator: u8,
    ) -> Result<()> {
        let (mut totals, mut missing) =
            (answers.totals.iter(), keys.missing_keys.iter().peekable());
        for (place, (record, selected)) in block.records().zip(&answers.selected).enumerate() {
            let without_key = missing.next_if(|it| it.record == place);
            let total = match without_key {
                None => totals.next().copied().unwrap_or(0),
                Some(_) => 1,
            };
            if !selected {
                continue;
            }
            match without_key.map(|it| &it.reason) {
                Some(Reason::Header(_)) if block.has_header_at(place) => {
                    // A byte order mark stays at the beginning.
                    let (mark, header) = record.split_at(record.len() - unmarked(record).len());
                    self.write(mark)?;
                    self.write_after(COUNT, separator, header)?;
                }
                Some(Reason::Header(_) | Reason::Comment) => self.write(record)?,
                _ => self.write_after(&total.to_string(), separator, record)?,
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

    /// Writes a record after its number.
    fn write_after(&mut self, number: &str, separator: u8, record: &[u8]) -> Result<()> {
        self.write(number.as_bytes())?;
        self.write(&[separator])?;
        self.write(record)
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
