//! What stands in an output behind the last checkpoint of an interrupted run.

use super::job::{InputPlan, Job};
use crate::filter::{Profile, RunFilter};
use crate::input::{Coding, Means, bytes_from};
use crate::key::{Mixing, Reason, Seen};
use crate::pipeline::Batch;
use crate::record::RecordFormat;
use crate::runs::{Place, Run};
use crate::terminal::{Failure, Result, counted};
use coua::window::Clock;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::iter::zip;
use std::mem;
use std::path::PathBuf;

/// The first bytes of frames of gzip and zstd.
const MAGICS: [&[u8]; 2] = [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"];

/// The most bytes of frames that a decoder takes for more of one that is cut off.
const MOST_FRAMES: u64 = 1 << 18;

impl Job {
    /// Returns an error if an output of an interrupted run ends with bytes that may not be what the run has written.
    pub(super) fn check_rests(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        run: &Run,
    ) -> Result<()> {
        run.outputs.iter().try_for_each(|place| {
            let coding = self.to.coding(&place.path);
            self.reading.check_rest(filter, profile, run, place, coding)
        })
    }
}

impl InputPlan {
    /// Returns an error unless the bytes behind a place in an output are what the run has written there after its last
    /// checkpoint. Only such bytes may be cut off.
    fn check_rest(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        run: &Run,
        place: &Place,
        coding: Coding,
    ) -> Result<()> {
        let bytes = place.bytes_after();
        // Fewer bytes would not be recognized as compressed. What came from a stream cannot be compared.
        let is_short = bytes < 10 && (bytes == 0 || coding == Coding::Recognized);
        if is_short || run.is_stream() {
            return Ok(());
        }
        let is_of_run = self.is_rest_of(filter, profile, run, place, coding)?;
        if is_of_run {
            return Ok(());
        }
        let (bytes, offset) = (counted(bytes, "byte"), place.offset);
        let reason = format!(
            "{bytes} at its end may not all be what an interrupted {} wrote, and would be lost; keep yours in another \
             file, cut off all of them with `truncate -s {offset} FILE`, and try again",
            run.name()
        );
        Err(Failure::at(place.path.display(), reason))
    }

    /// Whether the run may have written all bytes behind a place in an output: they are records of its inputs, in the
    /// order of the inputs, and it [may have printed](Self::may_print) each of them.
    fn is_rest_of(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        run: &Run,
        place: &Place,
        coding: Coding,
    ) -> Result<bool> {
        let (means, format) = (Means::new()?, &self.hashing.format);
        let failed = |error| Failure::io(place.path.display(), &error);
        let bytes = bytes_from(&place.path, place.offset, coding, &means).map_err(failed)?;
        let mut rest = RestBytes { bytes, next: Vec::new(), at: 0, end: None };
        let inputs: Vec<PathBuf> = run.inputs.iter().map(|input| input.path.clone()).collect();
        let mut reader = self.reader(self.inputs.others(&inputs), Mixing::Allowed, means.clone());
        let mut batch = Batch::default();
        // A failure of an input is reported when the run comes there.
        while !rest.is_empty() && matches!(reader.next_block(&mut batch.block), Ok(true)) {
            let block = &batch.block;
            let Some(input) = run.inputs.get(block.input) else { break };
            // The last one may have grown since.
            let done = input.records.saturating_sub(u64::from(input.note > 0));
            let done = done.saturating_sub(block.records_before) as usize;
            // Nothing can be said of the last record if it is cut off.
            let mut is_there = |(nth, record): (usize, &[u8])| {
                nth >= done && rest.pass(record, format).is_some_and(|it| it >= record.len())
            };
            let are_there: Vec<bool> = block.records().enumerate().map(&mut is_there).collect();
            let is_last = block.failure.is_some();
            if are_there.contains(&true)
                && !self.may_print(filter, profile, &mut batch, &are_there, run)?
            {
                return Ok(false);
            }
            if is_last {
                break;
            }
        }
        let is_cut_off = rest.end == Some(RestEnd::CutOff);
        let has_others = is_cut_off && ends_with_frames(place, coding, &means).map_err(failed)?;
        Ok(rest.is_empty() && !has_others)
    }

    /// Whether a run may have printed these records of a block. It prints no record of another shard. If another run may
    /// have appended to the output, a record that the filter remembers may be of that run.
    fn may_print(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        batch: &mut Batch,
        places: &[bool],
        run: &Run,
    ) -> Result<bool> {
        // The run may have forgotten, and printed again, what a filter whose time is that of the records remembers.
        let forgets = profile.window.is_some_and(|window| window.clock() != Clock::Arrival);
        let is_new = run.others_print && !run.job.has("repeats") && !forgets;
        self.look_up(filter, profile, batch)?;
        let found = batch.answers.found.iter().map(|it| !is_new || *it != Seen::Repeat);
        let mut may_print = Vec::new();
        batch.keys.spread(found, |reason| *reason != Reason::OtherShard, &mut may_print);
        Ok(zip(places, may_print).all(|(is_there, may_print)| !is_there || may_print))
    }
}

/// Whether whole compressed frames stand at the end of a file, behind one that is cut off. Its decoder takes them for more
/// of it, if they are short.
fn ends_with_frames(place: &Place, coding: Coding, means: &Means) -> io::Result<bool> {
    let mut file = File::open(&place.path)?;
    let from = (place.offset + 1).max(file.metadata()?.len().saturating_sub(MOST_FRAMES));
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut bytes)?;
    let is_begin = |at: &usize| MAGICS.iter().any(|magic| bytes[*at..].starts_with(magic));
    Ok((0..bytes.len()).filter(is_begin).any(|at| {
        let frames = bytes_from(&place.path, from + at as u64, coding, means);
        frames.and_then(|mut frames| io::copy(&mut frames, &mut io::sink())).is_ok()
    }))
}

/// How decompressed bytes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestEnd {
    Whole,
    /// Within a compressed frame.
    CutOff,
    Damaged,
}

/// The bytes that are not known to be of the inputs.
struct RestBytes<R> {
    bytes: R,
    /// Those that were read: from `at` on.
    next: Vec<u8>,
    at: usize,
    /// Their end, once it was read.
    end: Option<RestEnd>,
}

impl<R: Read> RestBytes<R> {
    const PIECE: u64 = 1 << 16;

    /// The next bytes: this many, or all.
    fn next(&mut self, bytes: usize) -> &[u8] {
        while self.next.len() - self.at < bytes && self.end.is_none() {
            self.next.drain(..mem::take(&mut self.at));
            match (&mut self.bytes).take(Self::PIECE).read_to_end(&mut self.next) {
                Ok(0) => self.end = Some(RestEnd::Whole),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.end = Some(RestEnd::CutOff);
                }
                Err(_) => self.end = Some(RestEnd::Damaged),
            }
        }
        let next = &self.next[self.at..];
        &next[..bytes.min(next.len())]
    }

    fn is_empty(&mut self) -> bool {
        self.next(1).is_empty() && self.end != Some(RestEnd::Damaged)
    }

    /// Passes a record with its separator, if it comes next, and returns its bytes. The last one may be cut off.
    fn pass(&mut self, record: &[u8], format: &RecordFormat) -> Option<usize> {
        let separator = format.bytes();
        let content = record.strip_suffix(separator).unwrap_or(record);
        let next = self.next(content.len() + separator.len());
        let (start, end) = next.split_at(content.len().min(next.len()));
        let (is_start, passed) = (content.starts_with(start), next.len());
        let is_next = passed > 0 && is_start && separator.starts_with(end);
        self.at += if is_next { passed } else { 0 };
        is_next.then_some(passed)
    }
}
