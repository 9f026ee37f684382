//! Cuts inputs into blocks of whole records.

use crate::input::opened::{Means, Opened, ends_before_others};
use crate::input::{Coding, Inputs, Source};
use crate::key::Headers;
use crate::record::{
    BLOCK, Block, BlockEnd, GIANT_BLOCK, Places, RecordFormat, Splitter, no_memory, unmarked,
};
use crate::terminal::{Failure, Result};
use memchr::memchr;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{iter, vec};

/// Reads all inputs, one after the other.
pub(crate) struct BlockReader {
    sources: iter::Peekable<vec::IntoIter<Source>>,
    coding: Coding,
    pub(crate) means: Means,
    format: RecordFormat,
    splitter: Splitter,
    headers: Option<Headers>,
    current: Option<Current>,
    /// Number of inputs that were opened.
    opened: usize,
    /// The beginning of a record whose end has not been read yet.
    carry: Vec<u8>,
    /// The number of bytes of `carry` that were searched already.
    searched: usize,
    /// Records were passed on since the last `drained` block.
    undrained: bool,
    /// After this time without input an empty block is returned, so that earlier records can be saved.
    pub(crate) pause: Option<Duration>,
    /// Records were passed on since the last empty block.
    unpaused: bool,
    /// Bytes in a block, unless a record is longer.
    pub(crate) block_bytes: usize,
    /// A warning of the syntax of an input was given.
    has_warned: bool,
}

impl BlockReader {
    /// `headers` is given if the inputs have headers.
    pub(crate) fn new(
        inputs: Inputs,
        format: RecordFormat,
        headers: Option<Headers>,
        means: Means,
    ) -> Self {
        Self {
            sources: inputs.sources.into_iter().peekable(),
            coding: inputs.coding,
            means,
            splitter: Splitter::new(&format),
            format,
            headers,
            current: None,
            opened: 0,
            carry: Vec::new(),
            searched: 0,
            undrained: false,
            pause: None,
            unpaused: false,
            block_bytes: BLOCK,
            has_warned: false,
        }
    }

    /// Fills a block. Returns false at the end of all inputs, or when the program must stop.
    pub(crate) fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if self.means.stop.is_cancelled() {
                return Ok(false);
            }
            let Some(mut current) = self.current.take() else {
                if self.undrained && self.sources.peek().is_some_and(Source::may_wait) {
                    self.undrained = false;
                    block.begin(&"".into(), self.block_bytes)?;
                    block.drained = true;
                    return Ok(true);
                }
                let Some(source) = self.sources.next() else {
                    return Ok(false);
                };
                self.current = self.open(&source)?;
                continue;
            };
            let room =
                (self.carry.len() + self.block_bytes / 2 + 1).next_multiple_of(self.block_bytes);
            block.begin(&current.name, room)?;
            (block.input, block.consumed_before) = (current.number, current.consumed_before);
            block.records_before = current.records;
            let has_more = self.fill(&mut current, block)?;
            let sum = current.bytes.sum();
            if has_more {
                self.current = Some(current);
            }
            if !block.ends.is_empty() || block.drained || block.failure.is_some() {
                block.consumed = self.means.consumed.load(Ordering::Relaxed);
                block.sum = sum;
                return Ok(true);
            }
        }
    }

    /// The headers after what was read.
    pub(crate) fn into_headers(self) -> Option<Headers> {
        self.headers
    }

    /// Checks the headers of all regular files before anything is written.
    pub(crate) fn check_headers(mut self) -> Result<()> {
        let mut block = Block::default();
        while let Some(source) = self.sources.next() {
            let failed = |error| Failure::io(source.name(), &error);
            let (metadata, begin) = source.look().map_err(failed)?;
            if metadata.is_file() {
                self.check_header(&source, &mut block)?;
                source.return_to(begin).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Opens an input. None if the program must stop before its first bytes arrive.
    fn open(&mut self, source: &Source) -> Result<Option<Current>> {
        let current = Current::open(source, self.opened, self.coding, &self.means)?;
        if current.is_some() {
            self.splitter = Splitter::new(&self.format);
            self.opened += 1;
        }
        Ok(current)
    }

    fn check_header(&mut self, source: &Source, block: &mut Block) -> Result<()> {
        let Some(mut current) = self.open(source)? else { return Ok(()) };
        block.begin(&current.name, self.block_bytes)?;
        self.fill(&mut current, block)?;
        self.carry.clear();
        self.searched = 0;
        block.failure.take().map_or(Ok(()), Err)
    }

    /// Reads until the block is full, reading would wait, or the input ends. Returns whether the input has
    /// more.
    fn fill(&mut self, current: &mut Current, block: &mut Block) -> Result<bool> {
        let mut filled = self.carry.len();
        block.bytes[..filled].copy_from_slice(&self.carry);
        let mut searched = self.searched;
        let more = loop {
            // The room of a giant record is not filled with later records: for empty records, the data per record
            // would take twenty times the room.
            let is_full = filled == block.bytes.len();
            if !block.ends.is_empty() && (is_full || block.bytes.len() > self.block_bytes) {
                break true;
            }
            if is_full {
                block.grow(&current.name)?;
            }
            let end = block.bytes.len().min(filled + self.block_bytes);
            let has_news = self.undrained || !block.ends.is_empty();
            if has_news && !current.bytes.comes_within(Duration::ZERO) {
                block.drained = true;
                break true;
            }
            if let Some(pause) = self.pause.filter(|_| self.unpaused)
                && !current.bytes.comes_within(pause)
            {
                self.unpaused = false;
                block.drained = true;
                break true;
            }
            match current.read(&mut block.bytes[filled..end], &self.means) {
                Ok(0) => {
                    self.end_of_input(current, block, filled);
                    break false;
                }
                Ok(read) => filled += read,
                Err(failure) => {
                    // The records before the failure come first.
                    block.failure = failure;
                    break false;
                }
            }
            searched = self.splitter.split(&block.bytes[..filled], searched, &mut block.ends);
        };
        self.warn_of_other_syntax(current, &block.bytes[..filled]);
        let start = block.size();
        self.carry.clear();
        self.carry.shrink_to(GIANT_BLOCK);
        if more {
            let rest = &block.bytes[start..filled];
            let room = self.carry.try_reserve(rest.len());
            room.map_err(|_| no_memory(&current.name, rest.len()))?;
            self.carry.extend_from_slice(rest);
        }
        self.searched = if more { searched.saturating_sub(start) } else { 0 };
        self.undrained = !block.drained && (self.undrained || !block.ends.is_empty());
        self.unpaused |= !block.ends.is_empty();
        self.take_header(current, block)?;
        current.records += block.len() as u64;
        Ok(more)
    }

    /// Warns once if records of an input seem to end in another way, or quotes in it to have another meaning.
    fn warn_of_other_syntax(&mut self, current: &Current, bytes: &[u8]) {
        let stray = self.splitter.take_stray();
        if self.has_warned {
            return;
        }
        let has_zeros = || self.format.bytes() == b"\n" && memchr(0, bytes).is_some();
        let warning = match stray {
            Some(record) => format!(
                "record {}: a blank precedes the quotes of a field, or other characters follow them; remove blanks, \
                 and write quotes within quotes twice: a backslash does not escape them, so rows may be joined or \
                 have other columns",
                current.records + record as u64 + 1
            ),
            None if current.records == 0 && has_zeros() => {
                "contains NUL bytes, as no text does; use -0 if they end records, or pipe in the output of `iconv -f \
                 UTF-16 -t UTF-8`"
                    .to_owned()
            }
            None => return,
        };
        self.has_warned = true;
        self.means.verbosity.say(format_args!("{}: {warning}", current.name));
    }

    /// Makes a record of the remaining bytes, unless they are only the mark before the first record.
    fn end_of_input(&self, current: &Current, block: &mut Block, filled: usize) {
        let is_first = current.records == 0 && block.ends.is_empty();
        let is_mark = is_first && unmarked(&block.bytes[..filled]).is_empty();
        let filled = filled - self.format.cut_separator(&block.bytes[block.size()..filled]);
        if filled > block.size() && !is_mark {
            block.ends.push(filled);
            let open = self.splitter.inside_quotes();
            block.ending = if open { BlockEnd::OpenQuote } else { BlockEnd::EndOfInput };
        }
    }

    /// Finds the columns in the header, if this block has the first record of the input.
    fn take_header(&mut self, current: &mut Current, block: &mut Block) -> Result<()> {
        if let Some(headers) = &mut self.headers {
            block.header = headers.next();
            let mut start = 0;
            while !current.is_begun
                && let Some(&end) = block.ends.get(block.leading)
            {
                let record = self.format.content(&block.bytes[start..end]);
                if headers.is_before(&current.name, record)? {
                    (start, block.leading) = (end, block.leading + 1);
                    continue;
                }
                let room = headers.columns.make_room(end - start);
                room.map_err(|_| no_memory(&current.name, end - start - 1))?;
                current.is_begun = true;
                let record = unmarked(record);
                if let Some((places, header)) = headers.take(&current.name, record)? {
                    current.columns = Some(places.into());
                    current.header = Some(record.into());
                    block.header = header;
                    block.leading += 1;
                }
            }
        }
        block.columns.clone_from(&current.columns);
        block.header_again.clone_from(&current.header);
        Ok(())
    }
}

/// The input being read.
pub(super) struct Current {
    pub(super) name: Arc<str>,
    /// Its number, from 0.
    pub(super) number: usize,
    /// Raw bytes read before its first.
    pub(super) consumed_before: u64,
    pub(super) bytes: Opened,
    pub(super) records: u64,
    pub(super) columns: Option<Arc<Places>>,
    /// The content of its header, if it has one.
    pub(super) header: Option<Arc<[u8]>>,
    /// Its first record, header or not, has been read.
    pub(super) is_begun: bool,
}

impl Current {
    /// Opens the input with this number. None if the program must stop before its first bytes arrive.
    pub(super) fn open(
        source: &Source,
        number: usize,
        coding: Coding,
        means: &Means,
    ) -> Result<Option<Self>> {
        let consumed_before = means.consumed.load(Ordering::Relaxed);
        let bytes = match Opened::new(source, 0, coding, means) {
            Ok(bytes) => bytes,
            Err(_) if means.stop.is_cancelled() => return Ok(None),
            Err(error) => return Err(Failure::io(source.name(), &error)),
        };
        Ok(Some(Self {
            name: source.name().into(),
            number,
            consumed_before,
            bytes,
            records: 0,
            columns: None,
            header: None,
            is_begun: false,
        }))
    }

    /// Reads some bytes; none at the end. The failure is none if the program must stop.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        means: &Means,
    ) -> Result<usize, Option<Failure>> {
        match self.bytes.read(buffer) {
            Err(error) if ends_before_others(&error) => {
                let what = "other bytes follow the end of the gzip data, and are ignored";
                means.verbosity.say(format_args!("{}: {what}", self.name));
                Ok(0)
            }
            Err(_) if means.stop.is_cancelled() => Err(None),
            read => read.map_err(|error| Some(Failure::io(&self.name, &error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs::File;
    use std::io::Write;

    /// Reads files with these contents, block by block.
    fn each_block(
        files: &[Vec<u8>],
        format: RecordFormat,
        block_bytes: usize,
        mut see: impl FnMut(&Block),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let write = |(number, content): (usize, &Vec<u8>)| {
            let path = folder.path().join(number.to_string());
            File::create(&path).unwrap().write_all(content).unwrap();
            path
        };
        let paths: Vec<_> = files.iter().enumerate().map(write).collect();
        let inputs = Inputs::new(&paths, Coding::Raw);
        let mut reader = BlockReader::new(inputs, format, None, Means::new().unwrap());
        reader.block_bytes = block_bytes;
        let mut block = Block::default();
        while reader.next_block(&mut block).unwrap() {
            assert!(block.failure.is_none() && !block.drained);
            see(&block);
        }
    }

    /// All records of files with these contents, and those without an end.
    fn records(files: &[Vec<u8>], format: RecordFormat, block: usize) -> (Vec<Vec<u8>>, u64) {
        let (mut all, mut open) = (Vec::new(), 0);
        each_block(files, format, block, |block| {
            all.extend(block.records().map(<[u8]>::to_vec));
            open += u64::from(block.ending != BlockEnd::Separator);
        });
        (all, open)
    }

    fn plain_split(text: &[u8], separator: &[u8]) -> Vec<Vec<u8>> {
        let mut records = vec![Vec::new()];
        for byte in text {
            let last = records.last_mut().unwrap();
            last.push(*byte);
            if last.ends_with(separator) {
                records.push(Vec::new());
            }
        }
        records.retain(|record| !record.is_empty());
        records
    }

    proptest! {
        /// Blocks of any size hold the records that a plain split finds, file by file.
        #[test]
        fn blocks_hold_all_records(
            files in proptest::collection::vec(
                proptest::collection::vec(prop::sample::select(b"ab\n".as_slice()), 0..60), 1..4),
            separator in prop::sample::select(vec![b"\n".to_vec(), b"ab".to_vec(), b"aab".to_vec()]),
            block in 1_usize..40,
        ) {
            let (found, open) = records(&files, RecordFormat::of(&separator), block);
            let expected: Vec<Vec<u8>> =
                files.iter().flat_map(|file| plain_split(file, &separator)).collect();
            prop_assert_eq!(found, expected);
            let ends_open = |file: &&Vec<u8>| !file.is_empty() && !file.ends_with(&separator);
            prop_assert_eq!(open, files.iter().filter(ends_open).count() as u64);
        }
    }

    #[test]
    fn the_room_of_a_giant_record_is_not_filled_with_short_ones() {
        let text = [[b"a\n".to_vec(), vec![b'x'; 9_000]].concat(), vec![b'\n'; 9_000]].concat();
        let mut records = 0;
        each_block(&[text], RecordFormat::Byte(b'\n'), 64, |block| {
            assert!(block.len() <= 64, "{} records in a block", block.len());
            records += block.len();
        });
        assert_eq!(records, 9_001);
    }
}
