//! `coua dedup`.

use crate::args::{FilterArgs, InputArgs, Word, WorkArgs, word};
use crate::filter::copies::{Keep, SecondPassPlan};
use crate::filter::{Location, Op, filter_file};
use crate::input::Inputs;
use crate::key::{COUNT, Seen};
use crate::output::{Destination, Destinations, OutputCompression, OutputFolder};
use crate::resume::{Mode, ResumeOptions};
use crate::run::Job;
use crate::runs::JobSpec;
use crate::terminal::{Exit, Failure, Result};
use clap::ArgGroup;
use std::path::{Path, PathBuf};

/// Print each record the first time it is seen
///
/// A record is a line, a CSV row or a JSON object; its key is the whole record,
/// or a part of it. A byte order mark before a record is ignored. Records keep
/// their order and are printed unchanged. Nothing is sorted, and the number of
/// records need not be known.
///
///   coua dedup log                                           each line once
///   coua dedup --filter seen log                             the same, over all runs with this filter
///   coua dedup --json /id -o out.jsonl.zst part-*.jsonl.zst  one record of each id, of many files
///   coua dedup --known a b                                   lines of b that are not in a
///   coua dedup --keep last --csv id changes.csv              the last row of each id
///
/// The filter remembers 64 bits of every key's hash, so of a billion different
/// records it drops 0.03 as wrong repeats (--stats prints this number). A warning
/// says if more than 2 % of the new records were probably dropped. At the end of
/// a file, a missing newline is added.
///
/// With --filter, records of earlier runs count as seen. The filter file is saved
/// at the end of the run, after the output is complete. After exit code 2, or if
/// the reader of the output goes away (| head), the file is as before the run, or
/// as at the last checkpoint. After exit code 4 everything is written, but fsync
/// failed, so a power cut may undo it. On SIGINT or SIGTERM the program finishes
/// the current block, saves, and dies by the signal.
///
/// With --filter, -o or --output-dir, and inputs that are files, the same command
/// with --resume continues a run that was killed, also after a full filter (exit
/// code 3), once there is room.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
#[command(group = ArgGroup::new("resumed").args(["resume"]).requires("written"))]
#[command(group = ArgGroup::new("written").args(["output", "output_dir"]))]
pub(crate) struct DedupArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Treat the records of FILE, or a filter's items, as seen
    ///
    /// `--known A B` prints the lines of B that are not in A. May be given several times. The files are not changed, and
    /// their records are not added to --filter. One of them may be the output only with --append.
    #[arg(long, value_name = "FILE", help_heading = "Which copy")]
    known: Vec<PathBuf>,

    /// Write to FILE instead of standard output
    ///
    /// While the filter holds items, an output is never emptied: the command adds to it with --append or --resume, or is
    /// refused. A window that has forgotten all its items holds none. The same command again, after its end, does nothing.
    /// To do a run again, take its records back with `coua remove FILTER FILE`, and delete FILE.
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write an output for each input into DIR
    ///
    /// Each output has its input's name, relative to the inputs' common folder, and is compressed like its input: the
    /// records of `a/1.zst` and `b/1.zst` go to `DIR/a/1.zst` and `DIR/b/1.zst`. coua does not write bzip2, xz and lz4:
    /// such inputs need --compress, which also changes the extension. All outputs are created at the start.
    #[arg(long, value_name = "DIR", help_heading = "Output", hide_short_help = true)]
    output_dir: Option<PathBuf>,

    /// Append to output files; a CSV header is written only to an empty one, or must be equal
    ///
    /// A last record without its end gets it first. A file of CSV must not end within quotes: what follows would be part
    /// of that row.
    #[arg(
        long,
        help_heading = "Output",
        hide_short_help = true,
        requires = "output",
        conflicts_with = "output_dir"
    )]
    append: bool,

    /// Compress the outputs: zst, gz or none, with a level such as zst:19 [default: by name]
    ///
    /// A name ending in `.zst` or `.gz` implies level 3 or 6. The output is a sequence of frames (zstd) or members (gzip)
    /// of about 1 MiB of records, which all threads compress, and which every decompressor reads.
    #[arg(long, value_name = "FORMAT[:LEVEL]", help_heading = "Output", hide_short_help = true)]
    compress: Option<OutputCompression>,

    /// Which of the records with the same key to print [default: first]
    ///
    /// For last and none (only records whose key occurs once), all inputs are read twice. A pipe is first copied to a
    /// temporary file (in TMPDIR). For last, a record takes 9 bytes of memory. An interrupted run starts over, also with
    /// --resume. Neither can be used with --filter or --window.
    #[arg(long, value_name = "WHICH", help_heading = "Which copy", hide_possible_values = true,
          value_parser = word(&KEEP))]
    keep: Option<Keep>,

    /// Print the records that would otherwise be dropped
    ///
    /// To get the others too, run the command without -d as well: with --filter, each on its own copy of the filter.
    #[arg(short = 'd', long, help_heading = "Which copy")]
    repeats: bool,

    /// Prefix each record with the number of records with its key
    ///
    /// A tab follows; with --csv the column separator, and the header gets a column `count`. Inputs are read twice.
    #[arg(short = 'c', long, help_heading = "Which copy")]
    count: bool,

    /// Remember seen records in FILE, for the next run
    ///
    /// FILE is created if it does not exist. If it exists, options that describe a filter must agree with it.
    ///
    /// The filter may also be on a server or cluster with Coua's module (docs/valkey.md):
    /// `valkey://[USER:PASSWORD@]HOST[:PORT]/NAME[?shards=N]`, or `redis://`; for TLS `valkeys://` or `rediss://`. The
    /// password may be in `COUA_SERVER_PASSWORD` instead. If the connection is lost, coua tries again (for
    /// &retry=SECONDS, default 60). Records whose replies were lost are printed whether they were seen before or not.
    /// --time-field, --secret, --resume and checkpoints are for files only.
    #[arg(long = "filter", value_name = "FILE", help_heading = "Memory")]
    filter_file: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    work: WorkArgs,
}

const KEEP: [Word<Keep>; 3] = [("first", Keep::First), ("last", Keep::Last), ("none", Keep::None)];

impl DedupArgs {
    /// How the run begins, or is resumed.
    fn resume_options(&self) -> ResumeOptions {
        let known: Vec<_> = self.known.iter().map(|path| path.to_string_lossy()).collect();
        let spec = JobSpec::new("dedup").with("repeats", self.repeats).with("known", known);
        let spec = spec.with("append", self.append).with("compress", self.compress);
        let spec = spec.with("output-dir", self.output_dir.is_some());
        let spec = self.filter.window.describe(spec);
        self.work.resume_options(self.input.describe(spec))
    }

    /// The plan for a second pass, if one is needed.
    fn second_pass(&self, resume: &ResumeOptions) -> Result<Option<SecondPassPlan>> {
        let (keep, counts) = (self.keep.unwrap_or(Keep::First), self.count);
        let option = match keep {
            Keep::First if !counts => return Ok(None),
            Keep::First => "-c",
            Keep::Last | Keep::None => "--keep",
        };
        // An interrupted run starts over.
        let resumes = resume.mode == Mode::Resume;
        let others = [
            (self.filter_file.is_some(), "--filter"),
            (!self.filter.spec().leaves_all_open(), "--capacity, --rate or --window"),
            (self.append && resumes, "--append and --resume"),
            (resume.every.is_some(), "--checkpoint-every"),
        ];
        if let Some((_, other)) = others.into_iter().find(|(is_given, _)| *is_given) {
            let reason = format!(
                "reads the inputs twice, with its own filter, so it cannot be used with {other}; drop \
                 one of them"
            );
            return Err(Failure::at(option, reason));
        }
        Ok(Some(SecondPassPlan { keep, counts }))
    }

    /// Returns an error if an input has no name for its output.
    fn destinations(&self, inputs: &Inputs) -> Result<Destinations> {
        let records = Some(match &self.output_dir {
            None => Destination::of(self.output.as_deref()),
            Some(folder) => self.output_folder(folder, inputs).map(Destination::Folder)?,
        });
        Ok(Destinations { records, appends: self.append, compression: self.compress })
    }

    fn output_folder(&self, folder: &Path, inputs: &Inputs) -> Result<OutputFolder> {
        let inputs = inputs.named().map_err(|name| {
            let reason =
                "--output-dir: has no file name for its output; name input files, or use -o";
            Failure::at(name, reason)
        })?;
        OutputFolder::new(folder, &inputs, self.compress)
    }

    /// Returns an error if a known file cannot be read beside the inputs.
    fn check_known(&self, inputs: &Inputs) -> Result<()> {
        self.known.iter().try_for_each(|path| filter_file::refuse_server(path))?;
        let used = if inputs.have_stdin() {
            Some("is already an input")
        } else {
            self.input.names_are_stdin().then_some("already supplies the file names")
        };
        let is_known = self.known.contains(&PathBuf::from("-"));
        used.filter(|_| is_known).map_or(Ok(()), |used| {
            let reason = format_args!("standard input {used}; use a file for one of them");
            Err(Failure::at("--known -", reason))
        })
    }

    pub(crate) fn run(&self) -> Result<Exit> {
        let (window, resume) = (&self.filter.window, self.resume_options());
        let file = self.filter_file.as_deref();
        let plan = self.second_pass(&resume)?;
        if file.is_none()
            && plan.is_none()
            && let Some(option) = resume.option()
        {
            return Err(Failure::at(option, "needs --filter"));
        }
        let mut reading = self.input.reading(window.time_source())?;
        let to = self.destinations(&reading.inputs)?;
        let begun = to.begun().filter(|_| self.append);
        reading.begin_headers(begun.map(|path| (path, to.coding(path))))?;
        if let Some(headers) = &mut reading.begun {
            headers.added = self.count.then_some(COUNT);
        }
        self.check_known(&reading.inputs)?;
        let comma = reading.hashing.keys.csv().map_or(b'\t', |columns| columns.dialect.comma);
        let location = file.map(Location::of).transpose()?;
        let job = Job {
            to,
            printed: Some(Seen::from(self.repeats)),
            prefix: self.count.then_some(comma),
            known: self.known.clone(),
            resume: Some(resume),
            ..Job::new(Op::Dedup, reading, location, self.filter.spec(), self.work.running())
        };
        match plan {
            Some(plan) => job.run_twice(plan),
            None => job.run(),
        }
    }
}
