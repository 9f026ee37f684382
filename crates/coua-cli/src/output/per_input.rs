//! The outputs of a run that has one for each input, one of them open at a time.

use super::file::{Output, check_readable, lock, remove_empty, resolved, sync_name};
use super::output_folder::OutputFolder;
use super::output_spec::OutputSpec;
use crate::platform::Identity;
use crate::runs::Place;
use crate::terminal::{Failure, Result, message};
use std::collections::HashSet;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{mem, thread};

/// Where the outputs end, and which is open. All of them exist from the beginning.
#[derive(Debug)]
pub(super) struct PerInput {
    files: OutputFolder,
    /// Where each output ends: those that were not open, as an earlier run left them.
    pub(super) places: Vec<Place>,
    /// The number of the one that is open.
    current: usize,
    threads: NonZeroUsize,
    /// A filter remembers their records.
    is_followed: bool,
    /// Files and folders that were not there before.
    created: Vec<PathBuf>,
    /// The first outputs, which are locked as long as they are open here.
    locked: Vec<File>,
    /// Complete outputs that are perhaps not on the disk yet.
    unsynced: Vec<(PathBuf, File)>,
}

/// Outputs that are synced at once: a file system commits them together. On ext4, 400 small files took 1.7 s one by one,
/// 0.26 s by four, and 0.15 s by sixteen.
const SYNCED_AT_ONCE: usize = 8;

/// The most outputs that are locked: each lock takes an open file. A second run of the same command meets the first
/// outputs at once.
const MOST_LOCKED: usize = 8;

impl PerInput {
    /// The outputs before they are created.
    pub(super) fn new(files: &OutputFolder, spec: OutputSpec<'_>) -> Self {
        Self {
            files: files.clone(),
            places: spec.to.file_places(),
            current: 0,
            threads: spec.threads,
            is_followed: spec.is_followed,
            created: Vec::new(),
            locked: Vec::new(),
            unsynced: Vec::new(),
        }
    }

    /// Creates files and folders, and opens the first output; none is emptied yet. Syncs their folders if a filter will
    /// remember the records.
    pub(super) fn create(&mut self, spec: OutputSpec<'_>) -> Result<Output> {
        let mut known = HashSet::new();
        for path in self.files.paths.clone() {
            self.create_folder(path.parent().unwrap_or(Path::new("")))?;
            let (name, file) = (path.display().to_string(), self.create_file(&path)?);
            let identity = Identity::of(&file).map_err(|error| Failure::io(&name, &error))?;
            let identity = identity.ok_or_else(|| not_regular(&path))?;
            check_readable(&path, spec)?;
            spec.used.refuse(&name, None, Some(identity))?;
            if !known.insert(identity) {
                let reason = "is the output of another input as well: name another folder";
                return Err(Failure::at(name, reason));
            }
            self.lock(file, &path)?;
        }
        let mut folders = HashSet::new();
        let mut created = self.created.iter().filter(|_| self.is_followed);
        created.try_for_each(|path| {
            let is_first = folders.insert(resolved(path).parent().map(Path::to_owned));
            if is_first { sync_name(path) } else { Ok(()) }
        })?;
        let (path, compression) = (&self.files.paths[0], self.files.compressions[0]);
        Output::new(Some(path), File::options().append(true).open(path), compression, spec)
    }

    fn create_folder(&mut self, folder: &Path) -> Result<()> {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent() {
            self.create_folder(parent)?;
        }
        match fs::create_dir(folder) {
            Ok(()) => self.created.push(folder.to_owned()),
            // Another process was faster.
            Err(_) if folder.is_dir() => {}
            Err(error) => {
                let reason = message::reason(&error);
                let what = format_args!("--output-dir: no folder: {reason}; name another folder");
                return Err(Failure::at(folder.display(), what));
            }
        }
        Ok(())
    }

    fn create_file(&mut self, path: &Path) -> Result<File> {
        let failed = |error| Failure::io(path.display(), &error);
        let is_new = match fs::metadata(path) {
            // To open a pipe would wait for its reader.
            Ok(found) if !found.is_file() && !found.is_dir() => return Err(not_regular(path)),
            found => found.is_err(),
        };
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(failed)?;
        if is_new {
            self.created.push(path.to_owned());
        }
        Ok(file)
    }

    /// Locks a file, if few are locked.
    fn lock(&mut self, file: File, path: &Path) -> Result<()> {
        if self.locked.len() < MOST_LOCKED {
            // The other run may have created it.
            lock(&file, path).inspect_err(|_| self.created.retain(|own| own != path))?;
            self.locked.push(file);
        }
        Ok(())
    }

    /// Removes the files and folders that this run has created, if they are empty: the run is refused.
    pub(super) fn withdraw(&self) {
        for path in self.created.iter().rev() {
            if path.is_dir() {
                // A folder that cannot be removed does no harm.
                fs::remove_dir(path).ok();
            } else {
                remove_empty(path);
            }
        }
    }

    /// Empties the files.
    pub(super) fn empty(&self) -> Result<()> {
        let has_content = |path: &&PathBuf| path.metadata().is_ok_and(|found| found.len() > 0);
        self.files.paths.iter().filter(has_content).try_for_each(|path| {
            let emptied = File::options().write(true).truncate(true).open(path);
            emptied.map(drop).map_err(|error| Failure::io(path.display(), &error))
        })
    }

    /// Completes the open output and those before that of `input`, and opens that.
    pub(super) fn switch(&mut self, output: &mut Output, input: usize) -> Result<()> {
        while self.current < input {
            output.finish()?;
            if self.is_followed
                && let Some(place) = output.end()?
            {
                self.record(place);
            }
            let path = self.files.paths[self.current].clone();
            self.current += 1;
            let next = self.current;
            output.set_compression(self.files.compressions[next], self.threads)?;
            let file = output.switch(&self.files.paths[next], &self.places[next])?;
            if self.is_followed {
                self.unsynced.push((path, file));
            }
            if self.unsynced.len() == SYNCED_AT_ONCE {
                self.sync()?;
            }
        }
        Ok(())
    }

    /// Syncs all complete outputs.
    pub(super) fn sync(&mut self) -> Result<()> {
        let unsynced = mem::take(&mut self.unsynced);
        let sync = |(path, file): &(PathBuf, File)| {
            file.sync_data().map_err(|error| Failure::write(path.display(), &error))
        };
        thread::scope(|scope| {
            let start = |it| thread::Builder::new().spawn_scoped(scope, move || sync(it));
            let started: Vec<_> = unsynced.iter().map(start).collect();
            started.into_iter().try_for_each(|thread| {
                let thread = thread.map_err(|error| Failure::io("threads", &error))?;
                thread.join().unwrap_or_else(|defect| resume_unwind(defect))
            })
        })
    }

    /// Completes all of them.
    pub(super) fn complete(&mut self, output: &mut Output) -> Result<()> {
        self.switch(output, self.places.len() - 1)?;
        output.finish()
    }

    /// Records the end of the open output.
    pub(super) fn record(&mut self, place: Place) {
        self.places[self.current] = place;
    }
}

fn not_regular(path: &Path) -> Failure {
    Failure::at(path.display(), "--output-dir: is not a regular file: name another folder")
}
