//! Committing: a frame in the journal, or a new snapshot.

use std::fs::File;
use std::io::{self, Write};
use std::mem;

use coua::CuckooFilter;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::journal::{Identity, Journal};
use crate::lock::is_at;
use crate::progress::Progress;
use crate::store::{Need, Snapshot, Store};

/// Bytes of a snapshot that is written anew at the end rather than kept with a journal.
const SMALL: u64 = 1 << 20;

impl Store {
    /// Makes all changes so far durable, together with `progress`. When this returns, they are on the
    /// disk; a crash before leaves the state of the commit before, or this one, whole.
    ///
    /// Usually appends to the journal, in time proportional to the changes. Writes a new snapshot
    /// instead when the journal would become too large.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the disk refused. Unless it was the very last step that failed, the state on
    /// disk is that of the commit before; the changes are still here, and the next commit tries again.
    pub fn commit(&mut self, progress: &Progress) -> Result<(), StoreError> {
        if self.need == Need::Journal && self.is_outgrown_by(self.log.bytes()) {
            self.outgrow();
        }
        match self.need {
            Need::Journal => self.append(progress)?,
            Need::Snapshot => self.checkpoint(progress)?,
            Need::Reopening => {
                return Err(StoreError::Broken { path: self.files.snapshot.clone() });
            }
        }
        self.progress = Some(progress.clone());
        Ok(())
    }

    /// Commits as a new snapshot, whatever the size of the journal.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn commit_snapshot(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.outgrow();
        self.commit(progress)
    }

    /// Commits the end of the work: there is nothing to go on with, and the next store has no
    /// progress. A small filter, which costs no more to write than a journal, becomes one file again, and
    /// so does one with commits on the way: what is left does not depend on when they were. Gives the filter back.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua_store::Store;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.finish()?;
    /// assert!(CuckooFilter::read(&path)?.contains("a"));
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<CuckooFilter, StoreError> {
        self.end()?;
        Ok(mem::take(&mut self.filter))
    }

    fn end(&mut self) -> Result<(), StoreError> {
        let is_alone = self.journal.is_none() && !self.files.journal.exists();
        let has_changes = self.need != Need::Journal
            || !self.log.bytes().is_empty()
            || self.journal.as_ref().is_some_and(Journal::is_ahead);
        let at_rest = self.progress.as_ref().is_none_or(|last| *last == Progress::default());
        if at_rest && !has_changes {
            return Ok(());
        }
        // A run with commits on its way ends the same however often it was interrupted.
        let has_commits = self.progress.as_ref().is_some_and(|progress| progress.records > 0);
        if self.snapshot.identity.bytes <= SMALL || has_commits {
            self.outgrow();
        }
        if is_alone && self.need == Need::Snapshot {
            self.check_old_snapshot()?;
            let (file, _) = self.write_next()?;
            return self.rename_next(&file).and_then(|()| self.sync_folder());
        }
        self.commit(&Progress::default())?;
        if self.journal.as_ref().is_some_and(Journal::is_settled) {
            let (disk, path) = (&*self.options.disk, &self.files.journal);
            disk.remove(path).map_err(|source| StoreError::io(path, "remove", source))?;
            self.sync_folder()?;
        }
        Ok(())
    }

    fn append(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.journal()?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let disk = &*self.options.disk;
        let committed = journal.commit(disk, self.log.bytes(), progress);
        if committed.is_err() {
            // Also what was handed on before is cut off, so the log has not all of it any more.
            self.outgrow();
        }
        self.log.clear();
        committed
    }

    /// Makes a journal for the present snapshot, if there is none yet.
    pub(crate) fn journal(&mut self) -> Result<(), StoreError> {
        if self.journal.is_none() {
            let (disk, identity) = (&*self.options.disk, self.snapshot.identity);
            let progress = self.progress.as_ref();
            self.journal = Some(Journal::create(disk, &self.files, identity, progress)?);
        }
        Ok(())
    }

    fn checkpoint(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.check_old_snapshot()?;
        self.journal()?;
        let (file, identity) = self.write_next()?;
        if identity == self.snapshot.identity {
            // The same bytes: only the progress is new.
            drop(file);
            self.options.disk.remove(&self.files.next_snapshot).ok();
            let (disk, files) = (&*self.options.disk, &self.files);
            self.journal = Some(Journal::create(disk, files, identity, Some(progress))?);
            self.need = Need::Journal;
            return Ok(());
        }
        self.replace((&file, identity), progress)?;
        self.snapshot = Snapshot { file: Some(file), identity, is_unchecked: false };
        self.progress = Some(progress.clone());
        self.need = Need::Journal;
        // The commit is done. Without a new journal, or space, the next one will say why.
        self.journal = None;
        self.journal().ok();
        self.reserve().ok();
        Ok(())
    }

    /// What was mapped was never checked, and must not get a new checksum unseen.
    fn check_old_snapshot(&mut self) -> Result<(), StoreError> {
        if let (true, Some(file)) = (self.snapshot.is_unchecked, &mut self.snapshot.file) {
            let checked = io::Seek::rewind(file).map_err(coua::LoadError::Io);
            let checked = checked.and_then(|()| CuckooFilter::check_file(file));
            let path = || self.files.snapshot.clone();
            checked.map_err(|source| StoreError::Load { path: path(), source })?;
            self.snapshot.is_unchecked = false;
        }
        Ok(())
    }

    /// Writes the next snapshot beside the present one, and waits until it is on the disk.
    fn write_next(&mut self) -> Result<(File, Identity), StoreError> {
        let (disk, path) = (&*self.options.disk, &self.files.next_snapshot);
        let failed = |doing| move |source| StoreError::io(path, doing, source);
        let reserved = self.reserved.take();
        let file =
            reserved.map_or_else(|| disk.create(path, self.files.permissions().as_ref()), Ok);
        let file = file.map_err(failed("create"))?;
        let mut out = Steps { disk, file: &file, at: 0, tail: Vec::new() };
        let written = self.filter.write_to(&mut out);
        let identity = out.identity();
        let written = written
            .map_err(failed("write"))
            // What was reserved beyond the end is given back.
            .and_then(|()| disk.cut(&file, identity.bytes).map_err(failed("cut")))
            .and_then(|()| disk.sync(&file).map_err(failed("sync")));
        match written {
            Ok(()) => Ok((file, identity)),
            Err(error) => {
                disk.remove(path).ok();
                Err(error)
            }
        }
    }

    /// Replaces the snapshot by the next one, which the journal knows from then on.
    fn replace(
        &mut self,
        (file, next): (&File, Identity),
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let options = self.options.clone();
        let disk = &*options.disk;
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let announced = journal.announce(disk, next, progress);
        let renamed = match announced {
            Ok(()) => self.rename_next(file),
            Err(error) => {
                disk.remove(&self.files.next_snapshot).ok();
                Err(error)
            }
        };
        if renamed.is_err() && journal.take_back(disk).is_err() {
            self.need = Need::Reopening;
        }
        self.journal = Some(journal);
        renamed?;
        // Which of the two a power cut would leave is not known if this fails.
        self.sync_folder().inspect_err(|_| self.need = Need::Reopening)
    }

    /// Gives the next snapshot its name, or removes it.
    fn rename_next(&self, file: &File) -> Result<(), StoreError> {
        let (disk, from, to) =
            (&*self.options.disk, &self.files.next_snapshot, &self.files.snapshot);
        match disk.rename(from, to) {
            // Over a network the answer may be lost, but not the deed.
            Err(source) if !(cfg!(unix) && is_at(file, to)) => {
                disk.remove(from).ok();
                Err(StoreError::io(to, "replace", source))
            }
            _ => Ok(()),
        }
    }

    fn sync_folder(&self) -> Result<(), StoreError> {
        let folder = self.files.folder();
        let synced = self.options.disk.sync_folder(folder);
        synced.map_err(|source| StoreError::io(folder, "sync", source))
    }

    /// Takes space for the next snapshot, if one may be written.
    pub(crate) fn reserve(&mut self) -> Result<(), StoreError> {
        let present = self.snapshot.identity.bytes;
        let logged = self.journal.as_ref().map_or(0, Journal::bytes);
        let fits = |changes: u64| {
            // 8 bytes a change, and as much again for the frames of small commits.
            let journal = logged.saturating_add(changes.saturating_mul(16));
            journal <= self.options.journal_limit(present)
        };
        let stays = self.need == Need::Journal && self.options.expected.is_some_and(fits);
        if stays || self.reserved.is_some() {
            return Ok(());
        }
        let needed = present.max(self.filter.memory_bytes() as u64);
        let (disk, path) = (&*self.options.disk, &self.files.next_snapshot);
        let permissions = self.files.permissions();
        let file = disk.create(path, permissions.as_ref());
        let file = file.map_err(|source| StoreError::io(path, "create", source))?;
        if let Err(source) = disk.reserve(&file, needed) {
            disk.remove(path).ok();
            return Err(StoreError::io(path, "take space for the next snapshot", source));
        }
        self.reserved = Some(file);
        Ok(())
    }
}

/// Writes a file step by step, and remembers its end.
struct Steps<'a> {
    disk: &'a dyn Disk,
    file: &'a File,
    at: u64,
    /// The last bytes: at least those of the trailer.
    tail: Vec<u8>,
}

/// The whole checksum and the end mark (docs/format.md, section 6).
const TRAILER_END: usize = 16;

impl Steps<'_> {
    fn identity(&self) -> Identity {
        let mut checksum = [0; 8];
        let begin = self.tail.len().saturating_sub(TRAILER_END);
        for (byte, &of_tail) in checksum.iter_mut().zip(&self.tail[begin..]) {
            *byte = of_tail;
        }
        Identity { checksum: u64::from_le_bytes(checksum), bytes: self.at }
    }
}

impl Write for Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write(self.file, bytes, self.at)?;
        self.at += bytes.len() as u64;
        let end = &bytes[bytes.len().saturating_sub(TRAILER_END)..];
        self.tail.extend_from_slice(end);
        let surplus = self.tail.len().saturating_sub(TRAILER_END);
        self.tail.drain(..surplus);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
