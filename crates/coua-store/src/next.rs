//! The next snapshot: space for it, its bytes, its name.

use std::fs::File;
use std::io::{self, Write};

use coua::window::Generations;

use crate::beside::Signals;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::files::Named;
use crate::journal::{Identity, Journal};
use crate::lock::is_at;
use crate::store::{Need, Store};

/// An empty file with space for the next snapshot.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) file: File,
    bytes: u64,
}

impl Store {
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
        if stays { Ok(()) } else { self.take_space() }
    }

    /// Takes space for the next snapshot, or more of it for a filter that has grown since.
    pub(crate) fn take_space(&mut self) -> Result<(), StoreError> {
        let needed = self.snapshot.identity.bytes.max(self.filter.memory_bytes() as u64);
        let (disk, path) = (&*self.options.disk, &self.lock.files().next_snapshot);
        let failed = |source| StoreError::io(path, "take space for the next snapshot", source);
        if let Some(reserved) = &mut self.reserved {
            if reserved.bytes < needed {
                disk.reserve(&reserved.file, needed).map_err(failed)?;
                reserved.bytes = needed;
            }
            return Ok(());
        }
        let permissions = self.files().permissions();
        let file = disk.create(path, permissions.as_ref());
        let file = file.map_err(|source| StoreError::io(path, "create", source))?;
        if let Err(source) = disk.reserve(&file, needed) {
            disk.remove(path).ok();
            return Err(failed(source));
        }
        self.reserved = Some(Reserved { file, bytes: needed });
        Ok(())
    }

    /// What was mapped was never checked, and must not get a new checksum unseen.
    pub(crate) fn check_old_snapshot(&mut self) -> Result<(), StoreError> {
        if let (true, Some(file)) = (self.snapshot.is_unchecked, &mut self.snapshot.file) {
            let checked = io::Seek::rewind(file).map_err(coua::LoadError::Io);
            let checked = checked.and_then(|()| Generations::verify(file));
            let path = || self.files().snapshot.clone();
            checked.map_err(|source| StoreError::Load { path: path(), source })?;
            self.snapshot.is_unchecked = false;
        }
        Ok(())
    }

    /// Writes the next snapshot beside the present one, and waits until it is on the disk.
    pub(crate) fn write_next(&mut self) -> Result<(File, Identity), StoreError> {
        let (disk, path) = (&*self.options.disk, &self.lock.files().next_snapshot);
        let reserved = self.reserved.take();
        let create = || disk.create(path, self.files().permissions().as_ref());
        let file = reserved.map_or_else(create, |reserved| Ok(reserved.file));
        let file = file.map_err(|source| StoreError::io(path, "create", source))?;
        match write_snapshot(disk, Named { file: &file, path }, &self.filter, Pace::AtOnce) {
            Ok(identity) => Ok((file, identity)),
            Err(error) => {
                disk.remove(path).ok();
                Err(error)
            }
        }
    }

    /// Gives the next snapshot its name, or removes it.
    pub(crate) fn rename_next(&self, file: &File) -> Result<(), StoreError> {
        let (disk, from, to) =
            (&*self.options.disk, &self.files().next_snapshot, &self.files().snapshot);
        self.check_names().inspect_err(|_| drop(disk.remove(from)))?;
        match disk.rename(from, to) {
            // Over a network the answer may be lost, but not the deed.
            Err(source) if !(cfg!(unix) && is_at(file, to)) => {
                disk.remove(from).ok();
                Err(StoreError::io(to, "replace", source))
            }
            _ => Ok(()),
        }
    }
}

/// How a snapshot is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace<'a> {
    /// The work waits for it.
    AtOnce,
    /// Beside the work: until the signal to stop, and never with much that is not on the disk, for
    /// which the journal's commits would have to wait.
    Steady(&'a Signals),
}

/// Bytes that a steady writer writes before it waits for the disk.
const STEADY: u64 = 32 << 20;
/// Bytes that are written at once, at a multiple of as many: so Linux keeps them in one huge page where the file
/// system can, and maps it as one. Tests want many.
pub(crate) const PIECE: usize = if cfg!(test) { 4 << 10 } else { 2 << 20 };

/// Writes a filter to an empty file, and waits until it is on the disk.
pub(crate) fn write_snapshot(
    disk: &dyn Disk,
    Named { file, path }: Named<'_>,
    filter: &Generations,
    pace: Pace<'_>,
) -> Result<Identity, StoreError> {
    let failed = |doing| move |source| StoreError::io(path, doing, source);
    let mut out = Steps { disk, file, pace, at: 0, synced: 0, piece: Vec::new(), end: Vec::new() };
    let written = filter.write_to(&mut out).and_then(|()| out.put_piece());
    let identity = Identity::of(&out.end, out.at);
    written.map_err(failed("write"))?;
    // What was reserved beyond the end is given back.
    disk.cut(file, identity.bytes).map_err(failed("cut"))?;
    disk.sync(file).map_err(failed("sync"))?;
    Ok(identity)
}

/// Writes a file piece by piece, and remembers its end.
struct Steps<'a> {
    disk: &'a dyn Disk,
    file: &'a File,
    pace: Pace<'a>,
    at: u64,
    /// Where it was when it waited for the disk.
    synced: u64,
    /// What has yet to be written.
    piece: Vec<u8>,
    /// The last bytes, by which a snapshot is known.
    end: Vec<u8>,
}

impl Steps<'_> {
    fn put(&mut self, piece: &[u8]) -> io::Result<()> {
        if let Pace::Steady(signals) = self.pace {
            if signals.is_stopped() {
                return Err(io::Error::other("given up"));
            }
            if self.at - self.synced >= STEADY {
                self.disk.sync(self.file)?;
                self.synced = self.at;
            }
        }
        self.disk.write(self.file, piece, self.at)?;
        self.at += piece.len() as u64;
        Ok(())
    }

    /// Writes what there is of a piece.
    fn put_piece(&mut self) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.piece);
        self.put(&piece)?;
        piece.clear();
        self.piece = piece;
        Ok(())
    }
}

impl Write for Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE - self.piece.len())];
        if taken.len() == PIECE {
            self.put(taken)?;
        } else {
            self.piece.try_reserve(taken.len())?;
            self.piece.extend_from_slice(taken);
            if self.piece.len() == PIECE {
                self.put_piece()?;
            }
        }
        self.end.extend_from_slice(&taken[taken.len().saturating_sub(Identity::END)..]);
        let surplus = self.end.len().saturating_sub(Identity::END);
        self.end.drain(..surplus);
        Ok(taken.len())
    }

    /// Nothing: every filter of a file asks for it, and only the last piece may be a part of one.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
