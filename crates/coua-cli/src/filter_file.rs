//! A filter that lives in a file: `coua-store`, with the program's manners and words.
//!
//! Readers need no lock: they see what was committed last. Writers lock an empty file beside it
//! (`seen.coua.lock`), one at a time.

use crate::args::filter::FilterArgs;
use crate::args::run::Manners;
use crate::args::secret::SecretArgs;
use crate::args::window::NowArgs;
use crate::clock::{Now, moment_text};
use crate::input::{self, Survey};
use crate::message::{self, Failure};
use crate::remote::Address;
use coua::window::Generations;
use coua::{HashAlgorithm, LoadError};
use coua_store::{Access, Lock, Options, Progress, Store, StoreError, View, Wait};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a usual record. If an input has more of them, the store finds out in time.
const USUAL_RECORD: u64 = 32;

/// Reads a filter that will not be changed, and checks every byte of it.
pub(crate) fn read(path: &Path, secret: &SecretArgs) -> Result<View, Failure> {
    view(path, Options::new().access(Access::Load), secret)
}

/// Opens a filter that will be described: of a large one, little more than the header is read.
pub(crate) fn glance(path: &Path, secret: &SecretArgs) -> Result<View, Failure> {
    view(path, Options::new().expecting(0), secret)
}

/// Opens a filter that will be asked about the records of `inputs`.
pub(crate) fn open(path: &Path, secret: &SecretArgs, inputs: &Survey) -> Result<View, Failure> {
    view(path, expecting(Options::new(), inputs), secret)
}

/// Tells a filter that is not kept what time it is: what its window has left goes.
pub(crate) fn tell(now: Now, filter: &mut Generations) {
    if let Some(time) = now.told_to(filter) {
        filter.advance(time);
    }
}

/// Complains about a clock so far behind the filter's that one of them must be wrong. A little behind is
/// nothing: the filter's waits.
fn check_clock(now: Now, filter: &Generations, name: &str) -> Result<(), Failure> {
    let (Some(time), Some(window)) = (now.told_to(filter), filter.window()) else { return Ok(()) };
    if filter.clock() <= time.saturating_add(window.length()) {
        return Ok(());
    }
    let (filters, present) = (moment_text(filter.clock()), moment_text(time));
    let reason = format!(
        "was written at {filters}, but now it is {present}, more than a window before: one of these \
         clocks was wrong, so nothing would be forgotten in time; set the system's clock, or name \
         another file"
    );
    Err(Failure::at(name, reason))
}

fn view(path: &Path, options: Options, secret: &SecretArgs) -> Result<View, Failure> {
    Address::refuse(path)?;
    if !is_there(path)? {
        return Err(Failure::io(path.display(), &Errno::NOENT.into()));
    }
    let view = with_key(options, secret)?.read(path).map_err(|error| match error {
        StoreError::Load { source, .. } => unreadable(path, &source),
        error => failure(&error),
    })?;
    check_key(secret, &view.filter, &path.display().to_string())?;
    Ok(view)
}

/// Complains about a key for a filter that has none: it would protect nothing.
fn check_key(secret: &SecretArgs, filter: &Generations, name: &str) -> Result<(), Failure> {
    let is_keyed = matches!(filter.hasher().algorithm(), HashAlgorithm::SipHash13 { .. });
    if secret.key_file.is_none() || is_keyed {
        return Ok(());
    }
    let reason = "the filter has no secret key, and gets none by --key-file: leave it out, or name another \
                  file";
    Err(Failure::at(name, reason))
}

fn with_key(options: Options, secret: &SecretArgs) -> Result<Options, Failure> {
    Ok(match secret.key()? {
        Some(key) => options.key(key),
        None => options,
    })
}

fn expecting(options: Options, inputs: &Survey) -> Options {
    match inputs.total_bytes {
        Some(bytes) => options.expecting(bytes / USUAL_RECORD),
        None => options,
    }
}

/// A filter file that this process alone may write.
#[derive(Debug)]
pub(crate) struct FilterFile {
    path: PathBuf,
    lock: Lock,
}

impl FilterFile {
    /// Waits for other writers to finish, or fails at once, as `manners` say.
    ///
    /// To be called before signals are answered, so that they end the wait.
    pub(crate) fn lock(path: &Path, manners: &Manners) -> Result<Self, Failure> {
        Address::refuse(path)?;
        let lock = match Lock::take(path, Wait::No) {
            Err(StoreError::Busy { path: name }) if !manners.no_wait => {
                if !manners.quiet.quiet {
                    let name = name.display();
                    message::say(format_args!("{name}: waiting for another process"));
                }
                Lock::take(path, Wait::UntilFree)
            }
            taken => taken,
        };
        let lock = lock.map_err(|error| failure(&error))?;
        Ok(Self { path: lock.target().to_owned(), lock })
    }

    /// The filter in the file, which must agree with what `wanted` says; or if there is no file, a
    /// new filter as it says.
    pub(crate) fn open_or_build(
        self,
        wanted: &FilterArgs,
        inputs: &Survey,
        now: NowArgs,
    ) -> Result<Kept, Failure> {
        let name = self.name();
        if is_there(&self.path)? {
            let kept = self.open(&wanted.secret, inputs, now)?;
            wanted.agree_with(kept.filter(), &name)?;
            return Ok(kept);
        }
        let filter = wanted.build()?;
        let options = with_key(Options::new(), &wanted.secret)?;
        let store = options.write_locked(self.lock, Some(move || filter));
        Ok(Kept::new(store.map_err(|error| failure(&error))?, Saved::Nothing))
    }

    /// The filter in the file, to be changed by the records of `inputs`.
    pub(crate) fn open(
        self,
        secret: &SecretArgs,
        inputs: &Survey,
        now: NowArgs,
    ) -> Result<Kept, Failure> {
        self.open_as(expecting(Options::new(), inputs), secret, now)
    }

    /// The filter in the file, read and checked, to be changed all over.
    pub(crate) fn open_whole(self, secret: &SecretArgs, now: NowArgs) -> Result<Kept, Failure> {
        self.open_as(Options::new().access(Access::Load), secret, now)
    }

    fn open_as(self, options: Options, secret: &SecretArgs, now: NowArgs) -> Result<Kept, Failure> {
        let name = self.name();
        if !is_there(&self.path)? {
            return Err(Failure::io(name, &Errno::NOENT.into()));
        }
        let options = with_key(options, secret)?;
        let store = options.write_locked(self.lock, None::<fn() -> Generations>);
        let mut kept = Kept::new(store.map_err(|error| failure(&error))?, Saved::Before);
        check_key(secret, kept.filter(), &name)?;
        let now = now.for_window(kept.filter().window())?;
        check_clock(now, kept.filter(), &name)?;
        kept.tell(now);
        Ok(kept)
    }

    /// Replaces whatever filter is there. If its items are among those of the new one, so stays what it
    /// knows of an interrupted run.
    pub(crate) fn save(self, made: Made) -> Result<(), Failure> {
        let (name, progress) = (self.name(), made.run.unwrap_or_default());
        let saved = if is_there(&self.path)? { Saved::Before } else { Saved::Nothing };
        let replaced = Options::new().replace(self.lock, made.filter, &progress);
        replaced.map_err(|error| not_saved(&name, saved, &error))
    }

    /// Complains if something is there that a filter must not replace: to be asked before the work.
    pub(crate) fn check_replaceable(&self) -> Result<(), Failure> {
        is_there(&self.path)?;
        self.lock.check_replaceable().map_err(|error| failure(&error))
    }

    /// Whether this is where the file is.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let there = input::regular_file(path);
        there.is_some() && there == input::regular_file(&self.path)
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// A filter made of others.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) filter: Generations,
    /// How far a run is that has changed the one of them that it replaces.
    pub(crate) run: Option<Progress>,
}

/// A filter of which changes are kept in its file.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) store: Store,
    /// What its file has without what was not saved yet.
    saved: Saved,
}

/// What a filter's file has if saving fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saved {
    /// There is no file.
    Nothing,
    /// A new filter without items.
    Empty,
    /// What was there before.
    Before,
    /// Records that were dealt with on the way, by this run or the one that it goes on with.
    Some,
}

impl Kept {
    fn new(store: Store, saved: Saved) -> Self {
        Self { store, saved }
    }

    pub(crate) fn filter(&self) -> &Generations {
        self.store.filter()
    }

    pub(crate) fn name(&self) -> String {
        self.store.path().display().to_string()
    }

    /// Tells the filter what time it is: what its window has left goes.
    pub(crate) fn tell(&mut self, now: Now) {
        if let Some(time) = now.told_to(self.filter()) {
            self.store.advance(time);
        }
    }

    /// Keeps all changes, with how far the work is: this is its end. Gives the filter back.
    pub(crate) fn finish_at(self, progress: &Progress) -> Result<Generations, Failure> {
        let (name, saved) = (self.name(), self.saved);
        self.store.finish_at(progress).map_err(|error| not_saved(&name, saved, &error))
    }

    /// Keeps all changes so far, with how far the work is.
    pub(crate) fn commit(&mut self, progress: &Progress) -> Result<(), Failure> {
        let has_records = |progress: &Progress| progress.records > 0;
        // A run begins without records, unless it goes on with another.
        if has_records(progress) && self.store.progress().is_some_and(has_records) {
            self.saved = Saved::Some;
        }
        let (name, saved) = (self.name(), self.saved);
        let committed = self.store.commit(progress).map_err(|error| match error {
            // The run ends here, early.
            StoreError::Unsynced { source, .. } if has_records(progress) => {
                let reason = message::reason(&source);
                let uncertain = "saved up to here, to be gone on with by --resume, but it is not certain that \
                                 this outlasts a power cut";
                Failure::at(&name, format_args!("{uncertain}: {reason}"))
            }
            StoreError::Unsynced { path, source } => {
                let error = StoreError::Io { path, doing: "sync", source };
                not_saved(&name, saved, &error)
            }
            error => not_saved(&name, saved, &error),
        });
        committed?;
        if has_records(progress) {
            self.saved = Saved::Some;
        } else if saved == Saved::Nothing {
            self.saved = Saved::Empty;
        }
        Ok(())
    }
}

/// The size of a filter's journal; 0 if there is none.
pub(crate) fn journal_bytes(path: &Path) -> u64 {
    let journal = coua_store::journal_of(path);
    journal.ok().and_then(|journal| fs::metadata(journal).ok()).map_or(0, |found| found.len())
}

/// Whether there is a file; anything else of that name cannot hold a filter.
fn is_there(path: &Path) -> Result<bool, Failure> {
    let name = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Failure::at(name, "is a directory, not a filter file"))
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(Failure::at(name, "is no regular file, so it cannot hold a filter"))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::io(name, &error)),
    }
}

/// The failure to say about a filter that cannot be loaded.
pub(crate) fn unreadable(path: &Path, error: &LoadError) -> Failure {
    let name = path.display();
    match error {
        LoadError::Io(error) => Failure::io(name, error),
        LoadError::KeyNeeded => Failure::at(name, format_args!("{error} (--key-file)")),
        _ => Failure::at(name, error),
    }
}

/// The failure to say about a filter that cannot be opened.
fn failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Load { path, source } => unreadable(path, source),
        StoreError::Io { path, source, .. } => Failure::io(path.display(), source),
        StoreError::Folder { path, .. } => folder_failure(&path.display().to_string(), error),
        error => Failure::at(error.path().display(), error.reason()),
    }
}

/// The failure to say about the folder of a file with this name.
pub(crate) fn folder_failure(name: &str, error: &StoreError) -> Failure {
    Failure::at(name, words(error))
}

/// What is wrong, in the operating system's words where they are its.
fn words(error: &StoreError) -> String {
    let text = error.reason().to_string();
    match error {
        StoreError::Folder { source, .. }
        | StoreError::Unsynced { source, .. }
        | StoreError::JournalLeft { source, .. } => message::ending_with(source, text),
        StoreError::Io { source, .. } => message::reason(source),
        _ => text,
    }
}

/// The failure to say about a filter whose changes cannot be kept.
fn not_saved(name: &str, saved: Saved, error: &StoreError) -> Failure {
    let reason = words(error);
    match error {
        StoreError::Replaced { path }
        | StoreError::Occupied { path }
        | StoreError::OverJournal { path }
        | StoreError::JournalLeft { path, .. } => return Failure::at(path.display(), reason),
        StoreError::Unsynced { .. } => {
            let reason = format!("{reason}; it need not be done again");
            return Failure::Unsynced { name: name.to_owned(), reason };
        }
        _ => {}
    }
    let state = match saved {
        Saved::Nothing => "",
        Saved::Empty => ", and without items still",
        Saved::Before => ", and as it was before",
        Saved::Some => ", and as it was at the last checkpoint",
    };
    Failure::at(name, format_args!("not saved{state}: {reason}"))
}
