//! One output: standard output or a file, written in large pieces.

use super::output_spec::{Destination, OutputSpec};
use super::pack::{Due, FRAME, Packer};
use crate::key::{Answers, BlockKeys, COUNT, MissingKey, Reason};
use crate::output::begun::{lacks_end, lacks_separator};
use crate::platform::{self, Identity};
use crate::record::{Block, BlockEnd, RecordFormat, Separator};
use crate::runs::{Place, Role};
use crate::terminal::{Failure, Result, Stream, message};
use coua_store::{Folder, StoreError, folder_of};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Longer pieces are copied by `memcpy`.
const FEW_BYTES: usize = 256;

/// What is written of the records.
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

/// Writes records as they came. Where a record that lacks its separator (the last one of an input)
/// is followed by another, the separator is added between them; never at the end.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) name: String,
    /// Standard output has none, nor has another file that was open before.
    pub(super) path: Option<PathBuf>,
    /// The regular file that this is, if it is one.
    pub(super) regular: Option<Identity>,
    /// The folder in which it is new, or why that cannot be opened: its name there is not on the disk yet.
    new_in: Option<Result<Folder, StoreError>>,
    file: File,
    /// What compresses, if it is compressed.
    packer: Option<Packer>,
    /// Nothing is in it.
    is_empty: bool,
    buffer: Vec<u8>,
    /// So many bytes are gathered.
    most: usize,
    separator: Separator,
    owes_separator: bool,
}

/// Where the outputs end that are regular files with names, all of them on the disk. The note of a place is 1 if the
/// output still lacks the separator of its last record.
pub(crate) type Synced = Vec<Place>;

impl Output {
    /// A file that was [checked](OutputSpec::check_all), which is [emptied](Self::empty) once nothing can be refused any
    /// more; or standard output.
    pub(super) fn open(to: &Destination, spec: OutputSpec<'_>) -> Result<Self> {
        let Some(path) = to.path() else {
            Stream::Output.check_open()?;
            return Self::new(None, platform::standard_output(), spec);
        };
        if platform::descriptor(path).is_some() {
            // The process that opened the file decides what stays in it.
            let file = File::options().append(true).open(path);
            let output = Self::new(Some(path), file, spec)?;
            return Ok(Self { path: None, ..output });
        }
        let is_new = !path.exists();
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let mut output = Self::new(Some(path), file, spec)?;
        output.check_readable(path, spec)?;
        if is_new {
            output.record_folder(path, spec)?;
        }
        Ok(output)
    }

    /// Opens the folder of a new file, while it is not too late to complain; then the file goes.
    fn record_folder(&mut self, path: &Path, spec: OutputSpec<'_>) -> Result<()> {
        let folder = self.new_in.insert(folder_of(&resolved(path)));
        if let (Err(error), true) = (&*folder, spec.used.has_filter()) {
            let failure = Failure::at(&self.name, message::store_reason(error));
            self.withdraw();
            return Err(failure);
        }
        Ok(())
    }

    /// Removes the file if this run has made it: the run is refused, and nothing is in it yet.
    pub(super) fn withdraw(&self) {
        if let (Some(path), Some(_)) = (&self.path, &self.new_in) {
            fs::remove_file(resolved(path)).ok();
        }
    }

    /// Returns an error if a file cannot be read of which the end is to be noted.
    fn check_readable(&self, path: &Path, spec: OutputSpec<'_>) -> Result<()> {
        if !spec.used.has_filter() || self.regular.is_none() {
            return Ok(());
        }
        File::open(path).map(drop).map_err(|error| {
            let reason = message::reason(&error);
            let what = "cannot be read, as is needed where a filter file remembers what is in it";
            Failure::at(&self.name, format_args!("{what}: {reason}"))
        })
    }

    /// Drops what was in a file with a name.
    pub(super) fn empty(&mut self) -> Result<()> {
        let failed = |error| Failure::io(&self.name, &error);
        // A file that was emptied is written to the disk when it is closed, by ext4: 0.2 s for a gigabyte.
        let has_content = self.file.metadata().map_err(failed)?.len() > 0;
        let is_emptied = self.path.is_some() && self.regular.is_some() && has_content;
        if is_emptied { self.file.set_len(0).map_err(failed) } else { Ok(()) }
    }

    /// Writes after what is in a file with a name. If that lacks its last separator, it comes first.
    pub(super) fn go_on(&mut self, format: &RecordFormat) -> Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.regular.is_some()) else {
            return Ok(());
        };
        let failed = |error| Failure::io(&self.name, &error);
        let bytes = self.file.seek(SeekFrom::End(0)).map_err(failed)?;
        self.owes_separator = match self.packer {
            Some(_) => lacks_separator(path, format)?,
            None => lacks_end(path, bytes, self.separator.bytes()).map_err(failed)?,
        };
        Ok(())
    }

    /// Continues a file that an interrupted run has written: what it wrote later is cut off.
    pub(super) fn resume(place: &Place, spec: OutputSpec<'_>) -> Result<Self> {
        let file = File::options().append(true).open(&place.path);
        let mut output = Self::new(Some(&place.path), file, spec)?;
        output.owes_separator = place.note > 0;
        output.is_empty = place.offset == 0;
        let cut = output.file.set_len(place.offset);
        cut.map_err(|error| Failure::io(&output.name, &error))?;
        Ok(output)
    }

    /// Waits until all is on the disk, and says where it ends if that is a place.
    pub(super) fn sync(&mut self) -> Result<Option<Place>> {
        self.flush()?;
        if self.regular.is_none() {
            return Ok(None);
        }
        self.sync_file()?;
        let Some(path) = &self.path else { return Ok(None) };
        let failed = |error| Failure::io(&self.name, &error);
        let path = std::path::absolute(path).map_err(failed)?;
        let mut place = Place::start(Role::Output, &path);
        place.note = u64::from(self.owes_separator);
        place.move_to(self.file.metadata().map_err(failed)?.len()).map_err(failed)?;
        if Identity::at(&path) != self.regular {
            let reason = "was removed or replaced while it was written: name another output";
            return Err(Failure::at(&self.name, reason));
        }
        Ok(Some(place))
    }

    fn new(path: Option<&Path>, file: io::Result<File>, spec: OutputSpec<'_>) -> Result<Self> {
        let name = path.map_or(Stream::Output.name().to_owned(), |it| it.display().to_string());
        let failed = |error: io::Error| Failure::io(&name, &error);
        let file = file.map_err(failed)?;
        let regular = Identity::of(&file).map_err(failed)?;
        let packer = Packer::new(spec.to.packing(path), spec.threads)?;
        let most = if packer.is_some() { FRAME } else { BUFFER };
        let has_content = spec.to.appends && file.metadata().is_ok_and(|found| found.len() > 0);
        spec.used.refuse(&name, None, regular)?;
        Ok(Self {
            name,
            path: path.map(Path::to_owned),
            regular,
            new_in: None,
            file,
            packer,
            is_empty: !has_content,
            buffer: Vec::with_capacity(most),
            most,
            separator: spec.format.separator.clone(),
            owes_separator: false,
        })
    }

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
            let whole = selected.len() == block.len();
            self.owes_separator = whole && block.ending != BlockEnd::Separator;
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
            self.write(format!("{count}\t").as_bytes())?;
            self.write(record)?;
            self.owes_separator = place + 1 == block.len() && block.ending != BlockEnd::Separator;
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
                Some(Reason::Header(_)) => String::new(),
                _ => total.to_string(),
            };
            if !number.is_empty() {
                self.write(number.as_bytes())?;
                self.write(&[separator])?;
            }
            self.write(record)?;
            self.owes_separator = place + 1 == block.len() && block.ending != BlockEnd::Separator;
        }
        Ok(())
    }

    /// Writes bytes as they are.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.owes_separator {
            self.owes_separator = false;
            self.buffer.extend_from_slice(self.separator.bytes());
        }
        // A giant record goes in pieces.
        for piece in bytes.chunks(BUFFER) {
            if self.buffer.len() + piece.len() > self.most {
                self.hand_on(Due::Surplus)?;
            }
            append(piece, &mut self.buffer);
        }
        Ok(())
    }

    /// Hands everything to the operating system. A frame of compressed bytes ends here.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.hand_on(Due::All)
    }

    /// This is the end. Compressed output without a byte is a frame still: tools take an empty file for a broken one.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        if let (Some(packer), true) = (&mut self.packer, self.is_empty) {
            packer.push(Vec::new());
        }
        self.write_packed(Due::All)
    }

    /// Hands what was gathered to the operating system, or to what compresses.
    fn hand_on(&mut self, due: Due) -> Result<()> {
        let Some(packer) = &mut self.packer else {
            let written = platform::write_all(&mut self.file, &self.buffer);
            self.buffer.clear();
            return written.map_err(|error| Failure::write(&self.name, &error));
        };
        if !self.buffer.is_empty() {
            packer.push(mem::replace(&mut self.buffer, Vec::with_capacity(self.most)));
        }
        self.write_packed(due)
    }

    /// Hands compressed frames to the operating system.
    fn write_packed(&mut self, due: Due) -> Result<()> {
        while let Some(packed) = self.packer.as_mut().and_then(|packer| packer.next(due)) {
            let written = packed.and_then(|bytes| platform::write_all(&mut self.file, &bytes));
            written.map_err(|error| Failure::write(&self.name, &error))?;
            self.is_empty = false;
        }
        Ok(())
    }

    /// Waits until a regular file is on disk, and its name: what a filter remembers must be there.
    fn sync_file(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|error| Failure::write(&self.name, &error))?;
        let Some(folder) = self.new_in.take() else { return Ok(()) };
        let folder =
            folder.map_err(|error| Failure::at(&self.name, message::store_reason(&error)))?;
        folder.sync().map_err(|error| Failure::io(&self.name, &error))
    }
}

/// Appends bytes. Few of them are copied here, in pieces of a known length: a call of musl's `memcpy`, which a static
/// program has, takes longer than all else that is done to write a short line.
#[inline]
fn append(bytes: &[u8], to: &mut Vec<u8>) {
    if bytes.len() > FEW_BYTES {
        to.extend_from_slice(bytes);
        return;
    }
    let (sixteens, mut rest) = bytes.as_chunks::<16>();
    for piece in sixteens {
        to.extend_from_slice(piece);
    }
    if let Some((piece, after)) = rest.split_first_chunk::<8>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    if let Some((piece, after)) = rest.split_first_chunk::<4>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    for byte in rest {
        to.push(*byte);
    }
}

/// Where symbolic links lead.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Destinations, UsedFiles};
    use crate::record::RecordFormat;
    use std::io::{Read, Seek};

    #[test]
    fn bytes_of_any_length_are_appended() {
        let bytes: Vec<u8> = (0..2 * FEW_BYTES).map(|number| number as u8).collect();
        for length in 0..=bytes.len() {
            let mut to = b"before".to_vec();
            append(&bytes[..length], &mut to);
            assert_eq!(to.strip_prefix(b"before"), Some(&bytes[..length]), "{length}");
        }
    }

    fn block(text: &[u8], ending: BlockEnd) -> Block {
        let mut ends = Vec::new();
        let mut splitter = crate::record::Splitter::new(&Separator::Byte(b'\n'));
        splitter.split(text, 0, &mut ends);
        if ending != BlockEnd::Separator {
            ends.push(text.len());
        }
        Block { bytes: text.to_vec(), ends, ending, ..Block::default() }
    }

    fn written(blocks: &[(Block, &[bool])]) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let handle = file.try_clone().unwrap();
        let format = &RecordFormat { separator: Separator::Byte(b'\n'), crlf: false };
        let (to, used) = (&Destinations::default(), &UsedFiles::default());
        let threads = std::num::NonZeroUsize::MIN;
        let spec = OutputSpec { format, to, used, threads };
        let mut output = Output::new(None, Ok(handle), spec).unwrap();
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
    fn a_separator_is_added_only_between_records() {
        let open = || block(b"a\nb", BlockEnd::EndOfInput);
        assert_eq!(written(&[(open(), &[true, true])]), b"a\nb");
        assert_eq!(written(&[(open(), &[true, true]), (open(), &[false, true])]), b"a\nb\nb");
        assert_eq!(written(&[(open(), &[true, false]), (open(), &[true, false])]), b"a\na\n");
    }
}
