//! Where records go: standard output or a file, in large writes.

use crate::input::block::{Block, Ending};
use crate::input::{Identity, Survey};
use crate::message::Failure;
use crate::record::Separator;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Writes records as they came. Where a record that lacks its separator (the last one of an input)
/// is followed by another, the separator is added between them; never at the end.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    name: String,
    buffer: Vec<u8>,
    separator: Separator,
    owes_separator: bool,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout(separator: &Separator) -> Result<Self, Failure> {
        let name = "standard output";
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let file = file.map_err(|error| Failure::io(name, &error))?;
        Ok(Self::new(file, name.to_owned(), separator))
    }

    /// A file, emptied if it exists.
    pub(crate) fn create(
        path: &Path,
        separator: &Separator,
        inputs: &Survey,
    ) -> Result<Self, Failure> {
        let name = path.display().to_string();
        if crate::input::regular_file(path).is_some_and(|file| inputs.contains(file)) {
            return Err(Failure::at(
                name,
                "is an input as well: name another output",
            ));
        }
        let file = File::create(path).map_err(|error| Failure::io(&name, &error))?;
        Ok(Self::new(file, name, separator))
    }

    /// Standard output, or the file if there is one.
    pub(crate) fn open(
        path: Option<&Path>,
        separator: &Separator,
        inputs: &Survey,
    ) -> Result<Self, Failure> {
        if let Some(path) = path {
            return Self::create(path, separator, inputs);
        }
        let output = Self::stdout(separator)?;
        if output.identity().is_some_and(|file| inputs.contains(file)) {
            return Err(Failure::at(
                &output.name,
                "is an input as well: it would be read as fast as it is written",
            ));
        }
        Ok(output)
    }

    fn new(file: File, name: String, separator: &Separator) -> Self {
        let separator = separator.clone();
        Self {
            file,
            name,
            buffer: Vec::with_capacity(BUFFER),
            separator,
            owes_separator: false,
        }
    }

    /// Which regular file this is, if it is one.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let metadata = self.file.metadata().ok()?;
        metadata.is_file().then(|| Identity::of(&metadata))
    }

    /// Writes the selected records of the block.
    pub(crate) fn write_selected(
        &mut self,
        block: &Block,
        selected: &[bool],
    ) -> Result<(), Failure> {
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
            let whole = selected.len() == block.len();
            self.owes_separator = whole && block.ending != Ending::Separator;
        }
        Ok(())
    }

    /// Writes the record at this place of a block.
    pub(crate) fn write_record(
        &mut self,
        block: &Block,
        place: usize,
        record: &[u8],
    ) -> Result<(), Failure> {
        self.write(record)?;
        self.owes_separator = place + 1 == block.len() && block.ending != Ending::Separator;
        Ok(())
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.owes_separator {
            self.owes_separator = false;
            self.buffer.extend_from_slice(self.separator.bytes());
        }
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
            if bytes.len() >= BUFFER {
                let written = self.file.write_all(bytes);
                return written.map_err(|error| Failure::write(&self.name, &error));
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|error| Failure::write(&self.name, &error))
    }

    /// Waits until a regular file is on disk: what a filter remembers must be there.
    pub(crate) fn sync(&mut self) -> Result<(), Failure> {
        self.flush()?;
        if self.identity().is_some() {
            self.file
                .sync_data()
                .map_err(|error| Failure::write(&self.name, &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn block(text: &[u8], ending: Ending) -> Block {
        let mut ends = Vec::new();
        let mut splitter = crate::record::Splitter::new(&Separator::Byte(b'\n'));
        splitter.split(text, 0, &mut ends);
        if ending != Ending::Separator {
            ends.push(text.len());
        }
        Block {
            bytes: text.to_vec(),
            ends,
            ending,
            ..Block::default()
        }
    }

    fn written(blocks: &[(Block, &[bool])]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let handle = file.try_clone().unwrap();
        let mut output = Output::new(handle, "test".to_owned(), &Separator::Byte(b'\n'));
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
        let whole = |selected| written(&[(block(text, Ending::Separator), selected)]);
        assert_eq!(whole(&[true; 5]), text);
        assert_eq!(whole(&[false; 5]), b"");
        assert_eq!(whole(&[true, false, true, true, false]), b"a\n\nc\r\n");
        assert_eq!(whole(&[false, true]), b"bb\n", "answers may end early");
    }

    #[test]
    fn a_separator_is_added_only_between_records() {
        let open = || block(b"a\nb", Ending::EndOfInput);
        assert_eq!(written(&[(open(), &[true, true])]), b"a\nb");
        assert_eq!(
            written(&[(open(), &[true, true]), (open(), &[false, true])]),
            b"a\nb\nb"
        );
        assert_eq!(
            written(&[(open(), &[true, false]), (open(), &[true, false])]),
            b"a\na\n"
        );
    }
}
