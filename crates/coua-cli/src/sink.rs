//! The last step of the output: writing, at once or in a thread of its own.
//!
//! Copying into the page cache (or waiting for the reader of a pipe) takes a quarter of the time of a
//! `dedup`; beside the filter it costs nothing.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Buffers that may wait for the writing thread.
const WAITING_BUFFERS: usize = 2;

/// Where buffers go.
#[derive(Debug)]
pub(crate) enum Sink {
    Direct(File),
    Beside(Writer),
    /// A write has failed, and said so.
    Broken,
}

/// A thread that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<File>>,
}

impl Sink {
    /// Writes beside the calling thread, if one can be had.
    pub(crate) fn beside(file: File) -> io::Result<Self> {
        let (full, buffers) = mpsc::sync_channel::<Vec<u8>>(WAITING_BUFFERS);
        let (recycle, empty) = mpsc::channel();
        let write = move || {
            let mut file = file;
            for mut buffer in buffers {
                write_all(&mut file, &buffer)?;
                buffer.clear();
                // The other side is gone at the end: then nobody needs the buffer.
                recycle.send(buffer).ok();
            }
            Ok(file)
        };
        let thread = thread::Builder::new().name("output".to_owned()).spawn(write)?;
        Ok(Self::Beside(Writer { full, empty, thread }))
    }

    /// Takes the buffer's bytes, and leaves it empty.
    pub(crate) fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Direct(file) => {
                let written = write_all(file, buffer);
                buffer.clear();
                written
            }
            Self::Beside(writer) => {
                let next = writer.empty.try_recv().unwrap_or_default();
                match writer.full.send(mem::replace(buffer, next)) {
                    Ok(()) => Ok(()),
                    // The thread has ended, because of an error.
                    Err(_) => self.finish().map(drop),
                }
            }
            Self::Broken => {
                buffer.clear();
                Ok(())
            }
        }
    }

    /// Waits until all is written; gives the file back.
    pub(crate) fn finish(&mut self) -> io::Result<Option<File>> {
        match mem::replace(self, Self::Broken) {
            Self::Direct(file) => Ok(Some(file)),
            Self::Beside(Writer { full, thread, .. }) => {
                drop(full);
                let written = thread.join().map_err(|_| io::Error::other("writing failed"))?;
                written.map(Some)
            }
            Self::Broken => Ok(None),
        }
    }
}

/// Also to a pipe or terminal that somebody has set not to wait.
fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn written(mut sink: Sink) -> Vec<u8> {
        let mut buffer = Vec::new();
        for piece in 0..100_u8 {
            buffer.extend_from_slice(&[piece; 100]);
            sink.write(&mut buffer).unwrap();
            assert!(buffer.is_empty());
        }
        let mut file = sink.finish().unwrap().unwrap();
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn both_ways_write_the_same() {
        let direct = written(Sink::Direct(tempfile::tempfile().unwrap()));
        let beside = written(Sink::beside(tempfile::tempfile().unwrap()).unwrap());
        assert_eq!(direct.len(), 10_000);
        assert!(direct == beside);
    }

    #[test]
    fn a_pipe_that_does_not_wait_gets_all() {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut sink = Sink::beside(file).unwrap();
        sink.write(&mut vec![7; 1_000_000]).unwrap();
        let mut bytes = vec![0; 1_000_000];
        reader.read_exact(&mut bytes).unwrap();
        assert!(sink.finish().is_ok() && bytes.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn errors_come_back() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut sink = Sink::beside(full).unwrap();
        let failed = (0..1000).any(|_| sink.write(&mut vec![0; 10]).is_err());
        assert!(failed || sink.finish().is_err());
    }
}
