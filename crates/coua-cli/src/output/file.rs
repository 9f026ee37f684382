//! One output: standard output or a file, written in large pieces.

use super::compress::{Compressor, Drain, FRAME, OutputCompression};
use super::output_spec::{Destination, OutputSpec, STANDARD_OUTPUT};
use crate::input::last_bytes;
use crate::platform::{self, Identity};
use crate::record::{RecordFormat, unmarked};
use crate::runs::Place;
use crate::terminal::{Failure, Result, Stream, counted, grouped, message};
use coua_store::Folder;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::mem;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A file with fewer bytes may consist of byte order marks.
const MOST_MARKS: usize = 64;

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Writes records unchanged. A record that lacks its separator (the last one of an input) gets it, so outputs can be
/// concatenated.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) name: String,
    /// None for standard output, or another file that was already open.
    pub(super) path: Option<PathBuf>,
    /// The identity of the file, if it is regular.
    pub(super) regular: Option<Identity>,
    /// This run has created the file.
    is_new: bool,
    file: File,
    /// Compresses the output, if it is compressed.
    compressor: Option<Compressor>,
    /// The output has no content.
    is_empty: bool,
    buffer: Vec<u8>,
    /// Bytes to gather before writing.
    most: usize,
    separator: RecordFormat,
}

/// The ends of the outputs that are named regular files, all synced.
pub(crate) type Synced = Vec<Place>;

impl Output {
    /// Opens a file that was [checked](OutputSpec::check_all), or standard output. The file is
    /// [emptied](Self::empty) later, when the run can no longer be refused.
    pub(super) fn open(to: &Destination, spec: OutputSpec<'_>) -> Result<Self> {
        let Some(path) = to.path() else {
            Stream::Output.check_open()?;
            let compression = spec.to.compression(None);
            let output = Self::new(None, platform::standard_output(), compression, spec)?;
            if !platform::appends(&output.file) {
                spec.used.refuse_emptied(&output.name, output.regular)?;
            }
            return Ok(output);
        };
        let compression = spec.to.compression(Some(path));
        if platform::descriptor(path).is_some() {
            // The process that opened the file decides whether to truncate it.
            let file = File::options().append(true).open(path);
            let output = Self::new(Some(path), file, compression, spec)?;
            return Ok(Self { path: None, ..output });
        }
        let is_new = !path.exists();
        // What another program appends meanwhile stays.
        let file = File::options().append(true).create(true).open(path);
        let mut output = Self::new(Some(path), file, compression, spec)?;
        if output.regular.is_some() {
            check_readable(path, spec)?;
        }
        output.is_new = is_new;
        if is_new && spec.is_followed {
            sync_name(path).inspect_err(|_| output.withdraw())?;
        }
        Ok(output)
    }

    /// Locks a file, so that no other run writes to it. To one that the shell opened for appending, others may append.
    pub(super) fn lock(&self) -> Result<()> {
        if self.regular.is_none() || !self.is_ours() {
            return Ok(());
        }
        lock(&self.file, self.path.as_deref().unwrap_or(Path::new(&self.name)))
    }

    /// Whether bytes of other programs in the file would be an error. To standard output that the shell opened for
    /// appending, other programs may append.
    fn is_ours(&self) -> bool {
        self.path.is_some() || !platform::appends(&self.file)
    }

    /// Removes the file if this run created it, and nothing was written to it: the run is refused.
    pub(super) fn withdraw(&self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_new) {
            remove_empty(path);
        }
    }

    /// Empties a named file. Goes to the end of one that the shell opened for appending.
    pub(super) fn empty(&mut self) -> Result<()> {
        match self.path {
            Some(_) if self.regular.is_some() => self.set_length(0),
            None if platform::appends(&self.file) => self.append(),
            _ => Ok(()),
        }
    }

    /// Goes to the end of a file. If its last record lacks a separator, that is written first.
    pub(super) fn append(&mut self) -> Result<()> {
        let is_standard = self.name == Stream::Output.name();
        let name = Path::new(if is_standard { STANDARD_OUTPUT } else { &self.name });
        let path = self.path.as_deref().unwrap_or(name);
        // What the shell has opened may be unreadable.
        let is_unknown = self.path.is_none() && File::open(path).is_err();
        if self.regular.is_none() || is_unknown {
            return Ok(());
        }
        self.file.seek(SeekFrom::End(0)).map_err(|error| Failure::io(&self.name, &error))?;
        let end = self.separator.bytes();
        let most = end.len().max(MOST_MARKS);
        let last = last_bytes(path, most).map_err(|error| {
            let reason = message::reason(&error);
            let text = format_args!("cannot be appended to: {reason}; choose another output");
            Failure::at(&self.name, text)
        })?;
        // Marks alone are no record.
        let has_record = last.len() == most || !unmarked(&last).is_empty();
        let lacks_end = has_record && !last.ends_with(end);
        if lacks_end { self.write_separator() } else { Ok(()) }
    }

    /// Continues with another file, at a place of it. Returns the previous file, which is at its end.
    pub(super) fn switch(&mut self, path: &Path, place: &Place) -> Result<File> {
        self.name = path.display().to_string();
        let failed = |error: io::Error| Failure::io(&self.name, &error);
        let file = File::options().append(true).open(path).map_err(failed)?;
        self.regular = Identity::of(&file).map_err(failed)?;
        self.path = Some(path.to_owned());
        let before = mem::replace(&mut self.file, file);
        self.truncate(place).map(|()| before)
    }

    /// Sets the compression from now on.
    pub(super) fn set_compression(
        &mut self,
        compression: OutputCompression,
        threads: NonZeroUsize,
    ) -> Result<()> {
        if self.compressor.as_ref().map_or(OutputCompression::None, Compressor::compression)
            != compression
        {
            self.compressor = Compressor::new(compression, threads)?;
            self.most = gathered(self.compressor.as_ref());
        }
        Ok(())
    }

    /// Truncates the file to a place.
    pub(super) fn truncate(&mut self, place: &Place) -> Result<()> {
        self.is_empty = place.offset == 0;
        self.set_length(place.offset)
    }

    fn set_length(&self, bytes: u64) -> Result<()> {
        let failed = |error: io::Error| Failure::io(&self.name, &error);
        // ext4 writes a truncated file to disk when it is closed: 0.2 s for a gigabyte.
        let is_right = self.file.metadata().map_err(failed)?.len() == bytes;
        if is_right { Ok(()) } else { self.file.set_len(bytes).map_err(failed) }
    }

    /// Syncs the output, and returns its end, if that is a place.
    pub(super) fn sync(&mut self) -> Result<Option<Place>> {
        self.flush()?;
        if self.regular.is_none() {
            return Ok(None);
        }
        self.file.sync_data().map_err(|error| Failure::write(&self.name, &error))?;
        self.end()
    }

    /// The end of the output, if that is a place; nothing is gathered.
    pub(super) fn end(&self) -> Result<Option<Place>> {
        let Some(path) = &self.path else { return Ok(None) };
        let failed = |error| Failure::io(&self.name, &error);
        let path = std::path::absolute(path).map_err(failed)?;
        let mut place = Place::start(&path);
        place.move_to(self.file.metadata().map_err(failed)?.len()).map_err(failed)?;
        if Identity::at(&path) != self.regular {
            let reason = "was removed or replaced while it was written; choose another output";
            return Err(Failure::at(&self.name, reason));
        }
        Ok(Some(place))
    }

    pub(super) fn new(
        path: Option<&Path>,
        file: io::Result<File>,
        compression: OutputCompression,
        spec: OutputSpec<'_>,
    ) -> Result<Self> {
        let name = path.map_or(Stream::Output.name().to_owned(), |it| it.display().to_string());
        let failed = |error: io::Error| Failure::io(&name, &error);
        let file = file.map_err(failed)?;
        let regular = Identity::of(&file).map_err(failed)?;
        let compressor = Compressor::new(compression, spec.threads)?;
        let most = gathered(compressor.as_ref());
        let has_content = spec.to.appends && file.metadata().is_ok_and(|found| found.len() > 0);
        spec.used.refuse(&name, None, regular)?;
        Ok(Self {
            name,
            path: path.map(Path::to_owned),
            regular,
            is_new: false,
            file,
            compressor,
            is_empty: !has_content,
            buffer: Vec::with_capacity(most),
            most,
            separator: spec.format.clone(),
        })
    }

    /// Writes bytes unchanged.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // Writes a giant record in pieces.
        for piece in bytes.chunks(BUFFER) {
            if self.buffer.len() + piece.len() > self.most {
                self.pass_on(Drain::OverLimit)?;
            }
            append(piece, &mut self.buffer);
        }
        Ok(())
    }

    /// Ends a record that lacks its separator.
    pub(super) fn write_separator(&mut self) -> Result<()> {
        let separator = self.separator.clone();
        self.write(separator.bytes())
    }

    /// Passes all bytes to the operating system. Ends a compressed frame.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.pass_on(Drain::All)
    }

    /// Ends the output. An empty compressed output is still a frame: tools report an empty file as broken.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        if let (Some(compressor), true) = (&mut self.compressor, self.is_empty) {
            compressor.push(Vec::new());
        }
        self.write_frames(Drain::All)
    }

    /// Passes the gathered bytes to the operating system or to the compressor.
    fn pass_on(&mut self, due: Drain) -> Result<()> {
        let Some(compressor) = &mut self.compressor else {
            let bytes = mem::take(&mut self.buffer);
            let written = self.write_to_file(&bytes);
            self.buffer = bytes;
            self.buffer.clear();
            return written;
        };
        if !self.buffer.is_empty() {
            compressor.push(mem::replace(&mut self.buffer, Vec::with_capacity(self.most)));
        }
        self.write_frames(due)
    }

    /// Passes bytes to the operating system. Returns an error if another process has cut off what was written.
    fn write_to_file(&mut self, bytes: &[u8]) -> Result<()> {
        let failed = |error| Failure::write(&self.name, &error);
        if self.regular.is_none() || !self.is_ours() {
            return write_all(&mut self.file, bytes).map_err(failed);
        }
        let written = self.file.stream_position().map_err(failed)?;
        let found = self.file.metadata().map_err(failed)?.len();
        check_left(&self.name, written, found)?;
        write_all(&mut self.file, bytes).map_err(failed)?;
        // After a write at the end of the file, the position is the end.
        let end = self.file.stream_position().map_err(failed)?;
        check_left(&self.name, written + bytes.len() as u64, end)
    }

    /// Passes compressed frames to the operating system.
    fn write_frames(&mut self, due: Drain) -> Result<()> {
        while let Some(frame) = self.compressor.as_mut().and_then(|compressor| compressor.next(due))
        {
            let frame = frame.map_err(|error| Failure::write(&self.name, &error))?;
            self.write_to_file(&frame)?;
            self.is_empty = false;
        }
        Ok(())
    }
}

/// Writes all bytes, even to a pipe or terminal that another process has made nonblocking.
fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                platform::wait_writable(file)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns an error if a file has fewer bytes than were written.
fn check_left(name: &str, written: u64, found: u64) -> Result<()> {
    if found >= written {
        return Ok(());
    }
    let reason = format!(
        "was shortened while it was written: {} of {} are left; choose another output",
        grouped(found),
        counted(written, "byte")
    );
    Err(Failure::at(name, reason))
}

/// Locks a file as long as it is open. Returns an error if another run has locked it.
pub(super) fn lock(file: &File, path: &Path) -> Result<()> {
    if platform::try_lock(file) {
        return Ok(());
    }
    let reason = "another run is writing to it; wait for its end, or choose another output";
    Err(Failure::at(path.display(), reason))
}

/// Removes a file that is still empty.
pub(super) fn remove_empty(path: &Path) {
    if path.metadata().is_ok_and(|found| found.len() == 0) {
        // An empty file that cannot be removed does no harm.
        fs::remove_file(resolved(path)).ok();
    }
}

/// Bytes that are gathered before they are written, or compressed.
fn gathered(compressor: Option<&Compressor>) -> usize {
    if compressor.is_some() { FRAME } else { BUFFER }
}

/// Returns an error if a file whose end will be recorded cannot be read.
pub(super) fn check_readable(path: &Path, spec: OutputSpec<'_>) -> Result<()> {
    if !spec.used.has_filter() {
        return Ok(());
    }
    File::open(path).map(drop).map_err(|error| {
        let reason = message::reason(&error);
        let what = "is not readable, but the filter file must remember its content";
        Failure::at(path.display(), format_args!("{what}: {reason}"))
    })
}

/// Syncs the name of a new file or folder: what a filter remembers must be on disk.
pub(super) fn sync_name(path: &Path) -> Result<()> {
    let folder = Folder::of(&resolved(path));
    let folder =
        folder.map_err(|error| Failure::at(path.display(), message::store_reason(&error)))?;
    folder.sync().map_err(|error| Failure::io(path.display(), &error))
}

/// The path with symbolic links resolved.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Longer pieces are copied by `memcpy`.
const FEW_BYTES: usize = 256;

/// Appends bytes. Copies few bytes here, in pieces of a known length: in a static program, a call of musl's `memcpy`
/// takes longer than all other work for a short line.
#[inline]
fn append(bytes: &[u8], to: &mut Vec<u8>) {
    if bytes.len() > FEW_BYTES {
        to.extend_from_slice(bytes);
        return;
    }
    let (sixteens, mut rest) = bytes.as_chunks::<16>();
    for piece in sixteens {
        to.extend_from_slice(piece);
    }
    if let Some((piece, after)) = rest.split_first_chunk::<8>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    if let Some((piece, after)) = rest.split_first_chunk::<4>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    for byte in rest {
        to.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_are_appended() {
        let bytes: Vec<u8> = (0..2 * FEW_BYTES).map(|number| number as u8).collect();
        for length in 0..=bytes.len() {
            let mut to = b"before".to_vec();
            append(&bytes[..length], &mut to);
            assert_eq!(to.strip_prefix(b"before"), Some(&bytes[..length]), "{length}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_does_not_wait_gets_all() {
        use std::io::Read;
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let mut file = File::from(std::os::fd::OwnedFd::from(writer));
        let writing = std::thread::spawn(move || write_all(&mut file, &vec![7; 1_000_000]));
        let mut bytes = vec![0; 1_000_000];
        reader.read_exact(&mut bytes).unwrap();
        assert!(writing.join().unwrap().is_ok() && bytes.iter().all(|byte| *byte == 7));
    }
}
