//! Code that differs between operating systems: `unix`, and `portable` for the rest.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

#[cfg(not(unix))]
pub(crate) use portable::NoWaker as Waker;
pub(crate) use system::{
    appends, change_time, closed_at_start, create_private, descriptor, die_by, enlarge_pipe,
    explain_shortened, has_less_stack, listen, open_input, path_of, standard_input,
    standard_output, terminal_width, try_lock,
};
#[cfg(unix)]
pub(crate) use unix::Waker;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The identity of a regular file, whatever its names: the device, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity((u64, u64));

impl Identity {
    /// The identity of the regular file at `path`, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        system::identity_at(path, &metadata).map(Self)
    }

    /// The identity of an open file, if it is regular.
    pub(crate) fn of(file: &File) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() { system::identity_of(file, &metadata)?.map(Self) } else { None })
    }
}

/// Whether two paths name the same place in the same folder, even if nothing exists there yet.
pub(crate) fn is_same_place(left: &Path, right: &Path) -> bool {
    let place = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some((fs::canonicalize(path.parent()?).ok()?, path.file_name()?.to_owned()))
    };
    place(left).is_some_and(|left| place(right) == Some(left))
}

/// Writes all bytes, even to a pipe or terminal that another process has made nonblocking.
pub(crate) fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                system::wait_writable(file)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_pipe_that_does_not_wait_gets_all() {
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let mut file = File::from(std::os::fd::OwnedFd::from(writer));
        let writing = std::thread::spawn(move || write_all(&mut file, &vec![7; 1_000_000]));
        let mut bytes = vec![0; 1_000_000];
        reader.read_exact(&mut bytes).unwrap();
        assert!(writing.join().unwrap().is_ok() && bytes.iter().all(|byte| *byte == 7));
    }
}
