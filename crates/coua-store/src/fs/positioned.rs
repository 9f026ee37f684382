//! Reads and writes at an offset. The threads that use a file share its cursor, so the cursor says nothing.

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::FileExt;

/// Reads some bytes; none at the end of the file.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(bytes, at)
}

/// Writes all bytes.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

#[cfg(not(unix))]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    with_cursor(file, at, |mut file| io::Read::read(&mut file, bytes))
}

#[cfg(not(unix))]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    with_cursor(file, at, |mut file| io::Write::write_all(&mut file, bytes))
}

/// Moves the cursor and acts there, one thread at a time.
#[cfg(not(unix))]
fn with_cursor<T>(
    mut file: &File,
    at: u64,
    act: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<T> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
    act(file)
}
