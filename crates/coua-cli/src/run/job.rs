//! The job of a command with records.

use crate::filter::filter_file::{self, ReadOnlyFile};
use crate::filter::memory::{MemoryFilter, ShardedMemory};
use crate::filter::{FilterSpec, Location, LockedFile, Op, Profile, RunFilter, Stop, server};
use crate::input::{BlockReader, Coding, Inputs, Means, Survey};
use crate::key::{Hashing, Headers, KeySpec, Known, Mixing, OnMissing, Reason, Seen};
use crate::output::{Destinations, OutputSpec, Outputs, UsedFiles};
use crate::pipeline::Batch;
use crate::record::Block;
use crate::resume::{Mode, Recorder, ResumeJob, ResumeOptions};
use crate::runs::Runs;
use crate::terminal::{Failure, ReportFormat, Result, Stream, Verbosity};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// The options of a command's execution, apart from its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// The number of threads that process the records, if it is given.
    pub(crate) threads: Option<NonZeroUsize>,
    /// The format of the figures to print at the end.
    pub(crate) figures: Option<ReportFormat>,
    pub(crate) verbosity: Verbosity,
}

/// The most threads by default: more take memory, and help only where keys are expensive to find.
const MOST_BY_DEFAULT: usize = 16;

/// Bytes of records per useful thread: for fewer, starting a thread takes longer than it saves.
const BYTES_FOR_ONE: u64 = 16 << 20;

impl Running {
    /// The number of threads for these inputs.
    pub(super) fn threads(&self, inputs: &Survey) -> NonZeroUsize {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(|| processors().min(useful_threads(inputs.total_bytes)))
    }
}

fn useful_threads(bytes: Option<u64>) -> NonZeroUsize {
    let more = bytes.map_or(MOST_BY_DEFAULT, |bytes| (bytes / BYTES_FOR_ONE) as usize);
    NonZeroUsize::MIN.saturating_add(more.min(MOST_BY_DEFAULT - 1))
}

/// The job of a command.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) op: Op,
    pub(crate) reading: InputPlan,
    /// The location of the filter; `None` for a temporary filter.
    pub(crate) location: Option<Location>,
    pub(crate) filter: FilterSpec,
    pub(crate) to: Destinations,
    /// Files of records, and filters, whose keys count as seen.
    pub(crate) known: Vec<PathBuf>,
    /// The records that go to the main output; the others go to the second one, if there is one.
    pub(crate) printed: Option<Seen>,
    /// The separator between the number of records with the same key and each written record, if that number is
    /// printed.
    pub(crate) prefix: Option<u8>,
    /// The options for resuming and recording the run, if it can be resumed.
    pub(crate) resume: Option<ResumeOptions>,
    pub(crate) running: Running,
}

impl Job {
    /// A job that prints nothing, and cannot be resumed.
    pub(crate) fn new(
        op: Op,
        reading: InputPlan,
        location: Option<Location>,
        filter: FilterSpec,
        running: Running,
    ) -> Self {
        Self {
            op,
            reading,
            location,
            filter,
            to: Destinations::default(),
            known: Vec::new(),
            printed: None,
            prefix: None,
            resume: None,
            running,
        }
    }

    /// Refuses impossible jobs before a file is created or changed: checks the standard streams first, then the files
    /// to read, then those to write.
    pub(super) fn prepare(&self) -> Result<UsedFiles> {
        if let Some(location) = &self.location {
            let option = self
                .filter
                .secret
                .option()
                .or(self.resume.as_ref().and_then(ResumeOptions::option));
            let of_times = self.filter.window.has_times.then_some("--time-field");
            location.refuse_on_server(option.or(of_times))?;
        }
        if self.running.figures.is_some() {
            Stream::Error.check_open()?;
        }
        self.to.check_open()?;
        self.filter.secret.key()?;
        let inputs = self.reading.survey(self.to.mixing())?;
        let filter_file = self.location.as_ref().and_then(Location::file);
        let (key, known) = (self.filter.secret.file(), self.unchanged_known());
        let used = UsedFiles::of(inputs, filter_file, key, known)?;
        if self.op.changes() {
            used.refuse_changed_input()?;
        }
        self.output_spec(&used).check_all()?;
        Ok(used)
    }

    /// Opens the filter. Without a location, builds one that is dropped at the end.
    pub(super) fn open_filter(&self, used: &UsedFiles) -> Result<Box<dyn RunFilter>> {
        let (op, spec, verbosity) = (self.op, &self.filter, self.running.verbosity);
        let path = match &self.location {
            Some(Location::File(path)) => path,
            Some(Location::Server(address)) => return server::open(address, op, spec, verbosity),
            None => {
                let threads = self.running.threads(&used.inputs);
                let is_sharded = threads.get() > 1 && spec.leaves_all_open();
                return Ok(if is_sharded {
                    Box::new(Arc::new(ShardedMemory::new(spec, threads)?))
                } else {
                    Box::new(MemoryFilter::new(spec)?)
                });
            }
        };
        let expecting = filter_file::expecting(&used.inputs);
        if !op.changes() {
            let view = filter_file::view(path, expecting, &spec.secret)?;
            let file = ReadOnlyFile::new(path.display().to_string(), view, op);
            return Ok(Box::new(Arc::new(file)));
        }
        let lock = if op.inserts() { LockedFile::lock } else { LockedFile::lock_existing };
        let file = lock(path, verbosity)?;
        Ok(Box::new(if op.inserts() {
            file.open_or_build(spec, &used.inputs)?
        } else {
            file.open(expecting, &spec.secret)?
        }))
    }

    /// The known files that must not be outputs. All are read before the run appends to one; but a resumed run would
    /// know records that the interrupted one has printed and not committed.
    fn unchanged_known(&self) -> Vec<PathBuf> {
        let is_new = self.resume.as_ref().is_none_or(|it| it.mode != Mode::Resume);
        if self.to.appends && is_new { Vec::new() } else { self.known.clone() }
    }

    /// The options for the outputs.
    pub(super) fn output_spec<'a>(&'a self, used: &'a UsedFiles) -> OutputSpec<'a> {
        let format = &self.reading.hashing.format;
        let threads = self.running.threads(&used.inputs);
        OutputSpec { format, to: &self.to, used, threads, is_followed: self.location.is_some() }
    }

    /// Whether the command is about records in the filter, and does not print its answer as a number.
    pub(super) fn wants_found(&self) -> bool {
        let prints_found = self.to.records.is_some() && self.printed != Some(Seen::New);
        self.op == Op::Remove || self.op == Op::Check && prints_found
    }

    /// Begins or resumes the run with its outputs. The filter then records that they are being written.
    pub(super) fn begin(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        spec: OutputSpec<'_>,
        outputs: &mut Outputs,
    ) -> Result<Option<Recorder>> {
        let Some(options) = &self.resume else {
            return outputs.begin(&self.to).map(|()| None);
        };
        let inputs = self.reading.inputs.files();
        let job = ResumeJob::new(profile, options, inputs, spec, self.running.verbosity);
        let Some(runs) = filter.runs() else {
            // A filter in memory is empty. One on a server remembers no runs.
            if profile.items > 0 {
                job.check_outputs(&Runs::default())?;
            }
            return outputs.begin(&self.to).map(|()| None);
        };
        let plan = job.plan(runs)?;
        if plan.is_continued {
            self.check_rests(filter, profile, &plan.run)?;
        }
        job.begin(filter, plan, outputs)
    }
}

/// The inputs, and how to read them.
#[derive(Clone, Debug)]
pub(crate) struct InputPlan {
    pub(crate) inputs: Inputs,
    /// The hashing options before the filter is known.
    pub(crate) hashing: Hashing,
    /// The headers known before the first input.
    pub(crate) begun: Option<Headers>,
    /// The options that select keys.
    pub(crate) find: BTreeMap<String, Vec<String>>,
    /// The key options that the filter stores, if it does.
    pub(crate) stored: Option<KeySpec>,
}

impl InputPlan {
    /// Adopts the normalization of the filter `name`. A filter without items stores how this run makes keys, with its own
    /// normalization if none is given. Returns an error if the keys can never be equal, or the records
    /// were read in a way that this run leaves open.
    pub(super) fn agree_with(&mut self, filter: &mut dyn RunFilter, name: &str) -> Result<()> {
        let mut own = self.key_spec();
        self.stored = filter.key_spec(None)?;
        if let Some(stored) = self.stored.as_ref().filter(|_| own.normalize.does_nothing()) {
            own.normalize = stored.normalize.clone();
        }
        let agrees =
            |stored: &KeySpec| own.normalize == stored.normalize && own.parts == stored.parts;
        if !self.stored.as_ref().is_some_and(agrees) {
            self.stored = filter.key_spec(Some(&own))?;
        }
        let Some(stored) = &self.stored else { return Ok(()) };
        own.check_parts(stored, name)?;
        own.check_records(stored, name)?;
        let given = &mut self.hashing.keys.normalize;
        if !given.does_nothing() {
            given.check_same(&stored.normalize, name)?;
        }
        given.clone_from(&stored.normalize);
        Ok(())
    }

    /// How this run makes keys.
    pub(super) fn key_spec(&self) -> KeySpec {
        let keys = &self.hashing.keys;
        KeySpec { find: self.find.clone(), parts: keys.parts(), normalize: keys.normalize.clone() }
    }

    /// Surveys all inputs, and checks the headers of CSV files.
    pub(super) fn survey(&self, mixing: Mixing) -> Result<Survey> {
        let inputs = self.inputs.survey()?;
        if self.begun.is_some() {
            self.reader(self.inputs.clone(), mixing, Means::new()?).check_headers()?;
        }
        Ok(inputs)
    }

    /// Reads files as the inputs are read.
    pub(super) fn reader(&self, files: Inputs, mixing: Mixing, means: Means) -> BlockReader {
        let mut headers = self.begun.clone();
        if let Some(headers) = &mut headers {
            headers.mixing = mixing;
        }
        BlockReader::new(files, self.hashing.format.clone(), headers, means)
    }

    /// Reads the headers of CSV files. If records are appended to a file, the inputs must have its header.
    pub(crate) fn begin_headers(&mut self, file: Option<(&Path, Coding)>) -> Result<()> {
        let Some(columns) = self.hashing.keys.csv() else { return Ok(()) };
        let comment = self.hashing.comment.clone();
        self.begun = Some(Headers::new(columns.clone(), Mixing::Refused, comment));
        if let Some((file, coding)) = file.filter(|_| self.prints_headers()) {
            let inputs = Inputs::new(&[file.to_path_buf()], coding);
            let mut reader = self.reader(inputs, Mixing::Refused, Means::new()?);
            let mut block = Block::default();
            reader.next_block(&mut block)?;
            if let Some(failure) = block.failure {
                return Err(failure);
            }
            self.begun = reader.into_headers().map(Headers::of_inputs);
        }
        Ok(())
    }

    /// Whether the run prints headers. With `--shard`, only the run of the first shard does.
    fn prints_headers(&self) -> bool {
        self.hashing.shard.is_none_or(|shard| shard.has(None))
    }

    /// Whether the output has a header or a record, so that it gets no header.
    pub(super) fn has_begun_output(&self, to: &Destinations) -> Result<bool> {
        let Some(path) = to.begun().filter(|_| self.prints_headers()) else { return Ok(false) };
        let inputs = Inputs::new(&[path.to_path_buf()], to.coding(path));
        let mut reader = self.reader(inputs, Mixing::Allowed, Means::new()?);
        let mut block = Block::default();
        while reader.next_block(&mut block)? {
            if block.header_again.is_some() || block.leading < block.len() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a record without an answer is printed where records with the answer `wanted` are: a record without a key
    /// counts as new.
    pub(super) fn passes(&self, reason: &Reason, wanted: Seen) -> bool {
        match reason {
            Reason::Missing(_) => wanted == Seen::New && self.keeps_missing(),
            Reason::Known => wanted == Seen::Repeat,
            Reason::Header(_) | Reason::Comment | Reason::Done | Reason::OtherShard => false,
        }
    }

    /// Whether a record without a key passes.
    pub(super) fn keeps_missing(&self) -> bool {
        matches!(self.hashing.on_missing, None | Some(OnMissing::Keep | OnMissing::Value))
    }

    /// Looks up the records of a block.
    pub(super) fn look_up(
        &self,
        filter: &mut dyn RunFilter,
        profile: &Profile,
        batch: &mut Batch,
    ) -> Result<()> {
        let mut hashing = Hashing {
            hasher: profile.hasher,
            wanted: profile.wanted,
            // The list may have grown since the records were printed.
            known: Known::default(),
            on_missing: Some(OnMissing::Keep),
            ..self.hashing.clone()
        };
        hashing.hash(&mut batch.block, &mut batch.keys);
        batch.answers.clear();
        filter.answer(Op::Check, batch).map_err(|stop| match stop {
            Stop::Lost { failure, .. } => failure,
            Stop::Full { no_room, .. } => Failure::at(&profile.name, no_room.why),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_inputs_get_few_threads() {
        for (megabytes, expected) in
            [(Some(0), 1), (Some(15), 1), (Some(16), 2), (Some(50), 4), (Some(999), 16), (None, 16)]
        {
            let useful = useful_threads(megabytes.map(|it: u64| it << 20));
            assert_eq!(useful.get(), expected, "{megabytes:?}");
        }
    }
}
