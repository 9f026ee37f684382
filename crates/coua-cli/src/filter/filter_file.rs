//! A filter in a file, opened for writing or only read: `coua-store`, with the program's options and messages.
//!
//! Readers need no lock: they see the last commit. Writers lock the file, one at a time.

use crate::clock::{self, moment_text, time_for};
use crate::filter::spec::{FilterSpec, Location, Secret};
use crate::filter::{Counts, FilterFigures, Op, Profile, RunFilter, Stop, Summary, outdated_note};
use crate::input::Survey;
use crate::key::{Answers, BlockKeys, KeySpec, Seen};
use crate::output::UsedFiles;
use crate::pipeline::{Batch, Prefetch};
use crate::platform::{self, Identity};
use crate::record::LARGE_BLOCK;
use crate::runs::Runs;
use crate::terminal::message::store_reason;
use crate::terminal::{Exit, Failure, ReportFormat, Result, Verbosity, message};
use coua::window::Generations;
use coua::{BatchFull, Filter, KeyHasher, LoadError};
use coua_store::{
    Access, Lock, Notes as FilterNotes, Options, Reason, Store, StoreError, Verified, View, Wait,
};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::{fs, io};

/// The usual bytes of a record. If an input has more records than this suggests, the store notices in time.
const USUAL_RECORD: u64 = 32;

/// Checks every byte of a filter, with little memory.
pub(crate) fn verify(path: &Path, secret: &Secret) -> Result<Verified> {
    check_there(path)?;
    platform::explain_shortened(path);
    let name = path.display().to_string();
    let found = Options::new().key(secret.key()?).verify(path);
    let found = found.map_err(|error| failed(name.clone(), &error))?;
    check_key(secret, found.hasher, &name)?;
    Ok(found)
}

/// Opens a filter read-only, and checks every byte of it.
pub(crate) fn read(path: &Path, secret: &Secret) -> Result<View> {
    view(path, Options::new().access(Access::Load), secret)
}

/// Opens a filter read-only.
pub(crate) fn view(path: &Path, options: Options, secret: &Secret) -> Result<View> {
    check_there(path)?;
    platform::explain_shortened(path);
    let view = options.key(secret.key()?).read(path);
    let view = view.map_err(|error| failed(path.display().to_string(), &error))?;
    check_key(secret, view.filter.hasher(), &path.display().to_string())?;
    Ok(view)
}

/// Returns an error if the system's clock is so far behind the filter's that one of them must be wrong. If it is a
/// little behind, the filter keeps its own time.
fn check_clock(filter: &Generations, name: &str) -> Result<()> {
    let (Some(time), Some(window)) = (time_for(filter), filter.window()) else { return Ok(()) };
    if filter.clock() <= time.saturating_add(window.length()) {
        return Ok(());
    }
    let moment = moment_text(filter.clock());
    let reason = format_args!(
        "was written at {moment}, more than a window after the present; set the clock, or use another filter"
    );
    Err(Failure::at(name, reason))
}

/// Returns an error if a key is given for a filter without one: it would protect nothing.
fn check_key(secret: &Secret, hasher: KeyHasher, name: &str) -> Result<()> {
    let is_keyed = matches!(hasher, KeyHasher::SipHash13 { .. });
    if secret.file().is_none() || is_keyed {
        return Ok(());
    }
    let reason =
        "the filter was created without a secret key; drop --secret, or use another filter";
    Err(Failure::at(name, reason))
}

/// Options for a filter that the records of `inputs` look up or change.
pub(crate) fn expecting(inputs: &Survey) -> Options {
    let expecting = |bytes| Options::new().expecting(bytes / USUAL_RECORD);
    inputs.total_bytes.map_or_else(Options::new, expecting)
}

/// Checks the files of a command on whole filters before any file is created or changed: it reads `sources`, and writes
/// `output` if there is one.
pub(crate) fn check_files<'a>(
    secret: &Secret,
    sources: impl IntoIterator<Item = &'a Path>,
    output: Option<&Path>,
) -> Result<()> {
    secret.key()?;
    sources.into_iter().try_for_each(check_there)?;
    output.map_or(Ok(()), |output| UsedFiles::check_made(output, secret.file()))
}

/// Returns an error unless there is a file that may contain a filter.
fn check_there(path: &Path) -> Result<()> {
    let missing = |error| Err(Failure::io(path.display(), &error));
    refuse_others(path)?.map_or(Ok(()), missing)
}

/// Returns an error if `path` cannot contain a filter, and the system's error as a value if nothing is there.
fn refuse_others(path: &Path) -> Result<Option<io::Error>> {
    refuse_address(path)?;
    let name = path.display();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::at(name, "is a directory, not a filter file")),
        Ok(found) if !found.is_file() => {
            Err(Failure::at(name, "is not a regular file, so it cannot hold a filter"))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(error)),
        Err(error) => Err(Failure::io(name, &error)),
    }
}

/// Returns an error for a stream where only a file is possible, and for an address.
fn refuse_address(argument: &Path) -> Result<()> {
    if argument == Path::new("-") {
        let reason = "a filter cannot be a stream; for a file named -, write ./-";
        return Err(Failure::at("-", reason));
    }
    refuse_server(argument)
}

/// Returns an error for an address where only a file is possible.
pub(crate) fn refuse_server(argument: &Path) -> Result<()> {
    match Location::of(argument)? {
        Location::File(_) => Ok(()),
        Location::Server(address) => {
            let reason = "is a filter on a server, but only a file is possible here; copy it to one with \
                          `coua pull`";
            Err(Failure::at(address, reason))
        }
    }
}

/// A filter file that is locked for writing.
#[derive(Debug)]
pub(crate) struct LockedFile {
    lock: Lock,
    /// The name that the user gave.
    name: String,
}

impl LockedFile {
    /// Waits for other writers to finish. The filter need not exist yet.
    ///
    /// Must be called before signal handlers are installed, so that signals end the wait.
    pub(crate) fn lock(path: &Path, verbosity: Verbosity) -> Result<Self> {
        refuse_others(path)?;
        let name = path.display().to_string();
        let taken = match Lock::take(path, Wait::No) {
            Err(StoreError { reason: Reason::Busy, .. }) => {
                verbosity.say(format_args!("{name}: waiting for another process"));
                Lock::take(path, Wait::UntilFree)
            }
            taken => taken,
        };
        match taken {
            Ok(lock) => Ok(Self { lock, name }),
            Err(error) => Err(failed(name, &error)),
        }
    }

    /// [`lock`](Self::lock) for a file that does not exist.
    pub(crate) fn lock_new(path: &Path, verbosity: Verbosity) -> Result<Self> {
        let exists =
            || Failure::at(path.display(), "already exists; choose another file, or delete it");
        refuse_others(path)?.ok_or_else(exists)?;
        let file = Self::lock(path, verbosity)?;
        if file.lock.is_new() { Ok(file) } else { Err(exists()) }
    }

    /// [`lock`](Self::lock) for an existing filter.
    pub(crate) fn lock_existing(path: &Path, verbosity: Verbosity) -> Result<Self> {
        check_there(path)?;
        Self::lock(path, verbosity)
    }

    /// Opens the filter in the file, which must agree with `wanted`; without a file, builds a new filter from `wanted`.
    pub(crate) fn open_or_build(self, wanted: &FilterSpec, inputs: &Survey) -> Result<FileFilter> {
        if self.lock.is_new() {
            let options = Options::new().key(wanted.secret.key()?);
            let store = options.write_locked(self.lock, Some(wanted.build()?));
            let store = store.map_err(|error| failed(self.name.clone(), &error))?;
            return FileFilter::new(store, self.name);
        }
        let name = self.name();
        let filter = self.open(expecting(inputs), &wanted.secret)?;
        wanted.agree_with(filter.content(), &name)?;
        Ok(filter)
    }

    /// Opens the filter in the file for writing.
    pub(crate) fn open(self, options: Options, secret: &Secret) -> Result<FileFilter> {
        platform::explain_shortened(self.lock.target());
        let options = options.key(secret.key()?);
        let (store, name) = (options.write_locked(self.lock, None), self.name);
        let store = store.map_err(|error| failed(name.clone(), &error))?;
        let mut filter = FileFilter::new(store, name.clone())?;
        check_key(secret, filter.content().hasher(), &name)?;
        check_clock(filter.content(), &name)?;
        filter.advance_clock();
        Ok(filter)
    }

    /// Replaces the filter in the file with this one and these notes.
    pub(crate) fn save(self, filter: Generations, notes: FilterNotes) -> Result<()> {
        let replaced = Options::new().replace(self.lock, filter, notes);
        replaced.map_err(|error| not_saved(&self.name, &error))
    }

    /// Prepares to replace the file by what is in `sources`, to which nobody gets more rights by it. Returns an error if
    /// a filter must not replace the existing file. Call it before the work.
    pub(crate) fn prepare<'a>(&self, sources: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        for source in sources {
            self.lock.limit_rights(source)?;
        }
        self.lock.check_replaceable().map_err(|error| match error.reason {
            Reason::Load(LoadError::NotAFilter) => {
                let reason =
                    "is not a filter; refusing to overwrite it (choose another output, or delete it)";
                Failure::at(&self.name, reason)
            }
            _ => failed(self.name.clone(), &error),
        })
    }

    /// Whether `path` is the path of this file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let there = Identity::at(path);
        there.is_some() && there == Identity::at(self.lock.target())
    }

    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }
}

/// The failure to report for a filter that cannot be opened, with the name that the user gave.
fn failed(name: String, error: &StoreError) -> Failure {
    match &error.reason {
        Reason::Load(LoadError::Io(source)) => Failure::io(name, source),
        Reason::Load(needed @ LoadError::KeyNeeded) => {
            Failure::at(name, format_args!("{needed} (--secret FILE)"))
        }
        Reason::Load(LoadError::NotAFilter) => {
            let reason = "is not a filter file (add, check, count and remove take FILTER first, then input files)";
            Failure::at(name, reason)
        }
        // Another file of the filter, or its folder.
        Reason::Io { .. } | Reason::Folder(_) | Reason::Replaced
            if fs::canonicalize(&name).map_or(true, |path| path != error.path) =>
        {
            Failure::at(error.path.display(), store_reason(error))
        }
        _ => Failure::at(name, store_reason(error)),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        failed(error.path.display().to_string(), &error)
    }
}

#[derive(Debug)]
pub(crate) struct FileFilter {
    pub(crate) store: Store,
    /// The name that the user gave.
    name: String,
    /// The runs that the filter remembers.
    runs: Runs,
    /// The key options. The notes of the file have them only once there may be keys.
    key_spec: Option<KeySpec>,
}

impl FileFilter {
    fn new(store: Store, name: String) -> Result<Self> {
        let runs = Runs::of(store.notes(), &name)?;
        Ok(Self { store, name, runs, key_spec: None })
    }

    pub(crate) fn content(&self) -> &Generations {
        self.store.filter()
    }

    /// Sets the filter's clock: items outside its window are forgotten.
    fn advance_clock(&mut self) {
        if let Some(time) = clock::time_for(self.content()) {
            self.store.advance(time);
        }
    }

    /// Saves all changes, at the end. Returns the filter.
    pub(crate) fn close(mut self) -> Result<Generations> {
        self.write_notes()?;
        self.store.finish().map_err(|error| not_saved(&self.name, &error))
    }

    fn write_notes(&mut self) -> Result<()> {
        if let Some(spec) = self.key_spec.take() {
            self.store.set_note(KeySpec::NOTE, &spec.to_note())?;
        }
        self.runs.write(&mut self.store)
    }

    /// Changes the filter by the keys of a block.
    fn change(&mut self, op: Op, batch: &mut Batch) -> Result<(), BatchFull> {
        if self.content().window().is_some() {
            self.advance_clock();
        }
        let Batch { keys, answers, .. } = batch;
        if op == Op::Remove {
            let removed = self.store.remove_batch(&keys.hashes);
            answers.found.extend(removed.into_iter().map(Seen::from));
            return Ok(());
        }
        let ever_held = |filter: &Generations| filter.len() + filter.forgotten();
        let (held, mut outcomes) = (ever_held(self.content()), Vec::new());
        let (when, if_present) = (keys.when(), op.if_present());
        let result = self.store.insert_each(&keys.hashes, when, if_present, &mut outcomes);
        answers.added = ever_held(self.content()) - held;
        if op != Op::Add {
            answers.record(&outcomes, result);
        }
        result
    }
}

impl RunFilter for FileFilter {
    fn profile(&self) -> Profile {
        let (filter, name) = (self.content(), self.name.clone());
        Profile {
            name,
            window: filter.window(),
            items: filter.len(),
            block_bytes: LARGE_BLOCK,
            is_saved: true,
            ..Profile::new(filter.hasher())
        }
    }

    fn key_spec(&mut self, offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        let is_empty = self.content().is_empty() && self.content().forgotten() == 0;
        if let Some(spec) = offered.filter(|_| is_empty) {
            self.key_spec = Some(spec.clone());
        }
        let noted = || KeySpec::of(self.store.notes(), &self.name);
        self.key_spec.clone().map_or_else(noted, |spec| Ok(Some(spec)))
    }

    fn runs(&mut self) -> Option<&mut Runs> {
        Some(&mut self.runs)
    }

    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        if op == Op::Check {
            let found = self.content().contains_batch(&batch.keys.hashes);
            batch.answers.found.extend(found.into_iter().map(Seen::from));
            return Ok(());
        }
        self.change(op, batch).map_err(Stop::full)
    }

    fn commit(&mut self) -> Result<()> {
        if self.content().is_empty() {
            self.runs.write(&mut self.store)?;
        } else {
            self.write_notes()?;
        }
        self.store.commit().map_err(|error| match &error.reason {
            // The run ends early, here.
            Reason::Unsynced(source) => {
                let reason = message::reason(source);
                let uncertain =
                    "saved up to here (continue with --resume), but a power cut may undo it";
                Failure::at(&self.name, format_args!("{uncertain}: {reason}"))
            }
            _ => not_saved(&self.name, &error),
        })
    }

    fn doubts(&self, op: Op) -> Option<String> {
        outdated_note(self.content()).filter(|_| op.inserts())
    }

    fn finish(self: Box<Self>, counts: &Counts, _: Option<ReportFormat>) -> Result<Summary> {
        let filter = self.close()?;
        Ok(Summary::of(FilterFigures::from(&filter), counts))
    }
}

/// A filter opened read-only.
#[derive(Debug)]
pub(crate) struct ReadOnlyFile {
    name: String,
    view: RwLock<View>,
    has_window: bool,
    op: Op,
}

impl ReadOnlyFile {
    pub(crate) fn new(name: String, view: View, op: Op) -> Self {
        let has_window = view.filter.window().is_some();
        Self { name, view: RwLock::new(view), has_window, op }
    }

    fn view(&self) -> RwLockReadGuard<'_, View> {
        // A thread that panics during a lookup leaves the filter unchanged.
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, view: &View, keys: &BlockKeys, answers: &mut Answers) {
        let filter = &view.filter;
        if self.op == Op::Count {
            answers.counts = filter.count_batch(&keys.hashes);
        } else {
            let there = filter.contains_batch(&keys.hashes);
            answers.found.extend(there.into_iter().map(Seen::from));
        }
    }
}

impl RunFilter for Arc<ReadOnlyFile> {
    fn profile(&self) -> Profile {
        let filter = &self.view().filter;
        let (name, window, items) = (self.name.clone(), filter.window(), filter.len());
        let prefetch = self.clone();
        Profile { name, window, items, prefetch, ..Profile::new(filter.hasher()) }
    }

    fn key_spec(&mut self, _offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        KeySpec::of(&self.view().notes, &self.name)
    }

    fn answer(&mut self, _op: Op, batch: &mut Batch) -> Result<(), Stop> {
        if !batch.answers.is_answered {
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            clock::advance(&mut view.filter);
            self.record(&view, &batch.keys, &mut batch.answers);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, counts: &Counts, _: Option<ReportFormat>) -> Result<Summary> {
        let view = self.view();
        view.check_origin()?;
        Ok(Summary::of(FilterFigures::from(&view.filter), counts))
    }
}

impl Prefetch for ReadOnlyFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        // With a window the present time matters, so keys are looked up in their turn.
        if !self.has_window {
            self.record(&self.view(), keys, answers);
            answers.is_answered = true;
        }
    }
}

/// The failure to report for a filter whose changes cannot be saved.
fn not_saved(name: &str, error: &StoreError) -> Failure {
    let reason = store_reason(error);
    match error.reason {
        Reason::Replaced => Failure::at(error.path.display(), reason),
        Reason::Unsynced(_) => {
            let reason = format!("{reason}; the run need not be repeated");
            Failure::ending(Exit::Unsynced, name, reason)
        }
        _ => {
            let state = "not saved; the file is as before, or as at the last checkpoint";
            Failure::at(name, format_args!("{state}: {reason}"))
        }
    }
}
