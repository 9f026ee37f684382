//! One output: standard output or a file, written in large pieces.

use super::gather::append;
use super::output_spec::{Destination, OutputSpec};
use super::pack::{Due, FRAME, Packer, Packing};
use crate::output::begun::{lacks_end, lacks_separator};
use crate::platform::{self, Identity};
use crate::record::{RecordFormat, Separator};
use crate::runs::{Place, Role};
use crate::terminal::{Failure, Result, Stream, message};
use coua_store::{Folder, StoreError, folder_of};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::mem;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

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
    /// The last record lacks it.
    pub(super) owes_separator: bool,
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
            return Self::new(None, platform::standard_output(), spec.to.packing(None), spec);
        };
        let packing = spec.to.packing(Some(path));
        if platform::descriptor(path).is_some() {
            // The process that opened the file decides what stays in it.
            let file = File::options().append(true).open(path);
            let output = Self::new(Some(path), file, packing, spec)?;
            return Ok(Self { path: None, ..output });
        }
        let is_new = !path.exists();
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let mut output = Self::new(Some(path), file, packing, spec)?;
        if output.regular.is_some() {
            check_readable(path, spec)?;
        }
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
        let packing = spec.to.packing(Some(&place.path));
        let mut output = Self::existing(&place.path, packing, spec)?;
        output.truncate(place)?;
        Ok(output)
    }

    /// A file that is there.
    pub(super) fn existing(path: &Path, packing: Packing, spec: OutputSpec<'_>) -> Result<Self> {
        Self::new(Some(path), File::options().append(true).open(path), packing, spec)
    }

    /// Goes on with another file, at a place of it. Returns the one before, which is at its end.
    pub(super) fn switch(&mut self, path: &Path, place: &Place) -> Result<File> {
        self.name = path.display().to_string();
        let failed = |error: io::Error| Failure::io(&self.name, &error);
        let file = File::options().append(true).open(path).map_err(failed)?;
        self.regular = Identity::of(&file).map_err(failed)?;
        self.path = Some(path.to_owned());
        let before = mem::replace(&mut self.file, file);
        self.truncate(place).map(|()| before)
    }

    /// Compresses from now on so.
    pub(super) fn set_packing(&mut self, packing: Packing, threads: NonZeroUsize) -> Result<()> {
        if self.packer.as_ref().map_or(Packing::None, Packer::packing) != packing {
            self.packer = Packer::new(packing, threads)?;
            self.most = gathered(self.packer.as_ref());
        }
        Ok(())
    }

    /// Drops what is after a place.
    pub(super) fn truncate(&mut self, place: &Place) -> Result<()> {
        self.owes_separator = place.note > 0;
        self.is_empty = place.offset == 0;
        let failed = |error: io::Error| Failure::io(&self.name, &error);
        if self.file.metadata().map_err(failed)?.len() == place.offset {
            return Ok(());
        }
        self.file.set_len(place.offset).map_err(failed)
    }

    /// Waits until all is on the disk, and says where it ends if that is a place.
    pub(super) fn sync(&mut self) -> Result<Option<Place>> {
        self.flush()?;
        if self.regular.is_none() {
            return Ok(None);
        }
        self.sync_file()?;
        self.end()
    }

    /// Where it ends, if that is a place; nothing is gathered.
    pub(super) fn end(&self) -> Result<Option<Place>> {
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

    pub(super) fn new(
        path: Option<&Path>,
        file: io::Result<File>,
        packing: Packing,
        spec: OutputSpec<'_>,
    ) -> Result<Self> {
        let name = path.map_or(Stream::Output.name().to_owned(), |it| it.display().to_string());
        let failed = |error: io::Error| Failure::io(&name, &error);
        let file = file.map_err(failed)?;
        let regular = Identity::of(&file).map_err(failed)?;
        let packer = Packer::new(packing, spec.threads)?;
        let most = gathered(packer.as_ref());
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

    /// Writes bytes as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
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

/// Bytes that are gathered before they are written, or compressed.
fn gathered(packer: Option<&Packer>) -> usize {
    if packer.is_some() { FRAME } else { BUFFER }
}

/// Returns an error if a file cannot be read of which the end is to be noted.
pub(super) fn check_readable(path: &Path, spec: OutputSpec<'_>) -> Result<()> {
    if !spec.used.has_filter() {
        return Ok(());
    }
    File::open(path).map(drop).map_err(|error| {
        let reason = message::reason(&error);
        let what = "cannot be read, as is needed where a filter file remembers what is in it";
        Failure::at(path.display(), format_args!("{what}: {reason}"))
    })
}

/// Where symbolic links lead.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
