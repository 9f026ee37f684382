//! What is written of the records of a block.

use super::file::Output;
use crate::key::{Answers, BlockKeys, COUNT, MissingKey, Reason};
use crate::record::{Block, BlockEnd, unmarked};
use crate::terminal::Result;

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
