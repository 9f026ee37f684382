//! Values on their way into dump files, append-only files and digests, and back.
//!
//! A value is a stream of bytes. In a dump file it is cut into pieces of a bounded size, of which
//! the last is empty, so that neither side needs memory for all of it.

use std::ffi::{CStr, c_int, c_longlong};
use std::io::{self, Read, Write};

use super::call::{bytes_of, log_of_key};
use super::command_name::CommandName;
use super::{raw, server_function};
use crate::redisbloom::{LoadError, Source};

/// A stream cut into pieces of a bounded size, so that memory for all of it is not needed: hands
/// over each piece as soon as it is full, and at the end the rest.
pub(crate) struct Pieces<P> {
    size: usize,
    piece: Vec<u8>,
    put: P,
}

impl<P: FnMut(&[u8])> Pieces<P> {
    /// Pieces of `size` bytes.
    pub(crate) fn new(size: usize, put: P) -> Self {
        Self { size, piece: Vec::new(), put }
    }

    /// Hands over the rest, if there is one.
    pub(crate) fn finish(mut self) {
        if !self.piece.is_empty() {
            (self.put)(&self.piece);
        }
    }
}

impl<P: FnMut(&[u8])> Write for Pieces<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.size - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == self.size {
            (self.put)(&self.piece);
            self.piece.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of a piece in a dump file.
const PIECE: usize = 1 << 20;

/// Writes a stream into a dump file, and its end.
///
/// # Safety
///
/// `io` is what the server writes to.
pub(super) unsafe fn save(
    io: *mut raw::RedisModuleIO,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) {
    let put = |piece: &[u8]| {
        // SAFETY: as the caller promises; the bytes are copied.
        unsafe {
            server_function!(RedisModule_SaveStringBuffer)(io, piece.as_ptr().cast(), piece.len());
        }
    };
    let mut pieces = Pieces::new(PIECE, put);
    // The server knows of its errors already, and stops writing.
    if write(&mut pieces).is_ok() {
        pieces.finish();
        put(&[]);
    }
}

/// The server loads a file, or the data of its primary.
const LOADING: c_int =
    raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;

/// Reads a dump file: numbers and strings as another module wrote them, or a stream in pieces.
pub(crate) struct RdbReader {
    io: *mut raw::RedisModuleIO,
    piece: Piece,
    ended: bool,
}

/// A string that the server has allocated.
pub(crate) struct Piece {
    start: *mut u8,
    length: usize,
    read: usize,
}

impl Piece {
    const EMPTY: Self = Self { start: std::ptr::null_mut(), length: 0, read: 0 };
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the server allocated that many bytes and gave them away.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: given away by the server, freed only here.
            unsafe { server_function!(RedisModule_Free)(self.start.cast()) };
        }
    }
}

/// Writes a line about the key that is read or written to the server's log.
///
/// # Safety
///
/// `io` is what the server reads from or writes to.
pub(super) unsafe fn log_of_io(io: *mut raw::RedisModuleIO, level: &CStr, line: &str) {
    // SAFETY: as the caller promises; the name of the key may be missing.
    unsafe {
        let context = server_function!(RedisModule_GetContextFromIO)(io);
        let name = server_function!(RedisModule_GetKeyNameFromIO)(io);
        let name = if name.is_null() { b"?".as_slice() } else { bytes_of(name) };
        let database = server_function!(RedisModule_GetDbIdFromIO)(io);
        log_of_key(context, level, name, database, line);
    }
}

impl RdbReader {
    /// # Safety
    ///
    /// `io` is what the server reads from, and outlives the reader.
    pub(super) unsafe fn new(io: *mut raw::RedisModuleIO) -> Self {
        Self { io, piece: Piece::EMPTY, ended: false }
    }

    /// Whether the value is being restored by a client, and may be refused: not when the server
    /// loads its own file or follows its primary.
    pub(crate) fn is_request(&self) -> bool {
        self.flags() & (LOADING | raw::REDISMODULE_CTX_FLAGS_SLAVE) == 0
    }

    /// Whether the server loads its own file, or the data of its primary.
    pub(super) fn is_loading(&self) -> bool {
        self.flags() & LOADING != 0
    }

    fn flags(&self) -> c_int {
        // SAFETY: valid as promised to `new`.
        unsafe {
            let context = server_function!(RedisModule_GetContextFromIO)(self.io);
            server_function!(RedisModule_GetContextFlags)(context)
        }
    }

    /// Writes a line about the key to the server's log.
    pub(super) fn log(&self, level: &CStr, line: &str) {
        // SAFETY: valid as promised to `new`.
        unsafe { log_of_io(self.io, level, line) };
    }

    fn check(&self) -> io::Result<()> {
        // SAFETY: valid as promised to `new`.
        let failed = unsafe { server_function!(RedisModule_IsIOError)(self.io) };
        if failed == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn next_piece(&mut self) -> io::Result<Piece> {
        let mut length = 0;
        // SAFETY: valid as promised to `new`; null after an error.
        let start =
            unsafe { server_function!(RedisModule_LoadStringBuffer)(self.io, &raw mut length) };
        let piece = Piece { start: start.cast(), length, read: 0 };
        self.check()?;
        if start.is_null() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(piece) }
    }

    /// Skips the rest of the stream.
    pub(super) fn skip(&mut self) -> io::Result<()> {
        while !self.ended {
            self.ended = self.next_piece()?.length == 0;
        }
        Ok(())
    }

    /// Whether the stream has ended where it should.
    pub(crate) fn is_at_end(&mut self) -> bool {
        matches!(self.read(&mut [0]), Ok(0))
    }
}

/// Numbers and strings, as other modules write them.
impl Source for RdbReader {
    type Bytes = Piece;

    fn read_u64(&mut self) -> Result<u64, LoadError> {
        // SAFETY: valid as promised to `new`.
        let number = unsafe { server_function!(RedisModule_LoadUnsigned)(self.io) };
        self.check().map(|()| number).map_err(|_| LoadError::Unreadable)
    }

    fn read_bytes(&mut self) -> Result<Piece, LoadError> {
        self.next_piece().map_err(|_| LoadError::Unreadable)
    }
}

impl Read for RdbReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.read == self.piece.length && !self.ended {
            self.piece = self.next_piece()?;
            self.ended = self.piece.length == 0;
        }
        let rest = &self.piece.as_ref()[self.piece.read..];
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        self.piece.read += taken;
        Ok(taken)
    }
}

/// Writes an append-only file: a stream, as calls of one command with the key, a position and
/// bytes.
pub(crate) struct AppendOnly {
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
}

impl AppendOnly {
    /// # Safety
    ///
    /// `io` is what the server writes to, `key` the name of the key; both outlive this.
    pub(super) unsafe fn new(
        io: *mut raw::RedisModuleIO,
        key: *mut raw::RedisModuleString,
    ) -> Self {
        Self { io, key }
    }

    /// Writes a call.
    pub(crate) fn call(&mut self, command: CommandName, position: i64, bytes: &[u8]) {
        // SAFETY: valid as promised to `new`. "slb" announces a string of the server, a number, and
        // bytes with their length.
        unsafe {
            server_function!(RedisModule_EmitAOF)(
                self.io,
                command.on_server().as_ptr(),
                c"slb".as_ptr(),
                self.key,
                position as c_longlong,
                bytes.as_ptr(),
                bytes.len(),
            );
        }
    }
}

/// Feeds a stream to a digest.
///
/// # Safety
///
/// `digest` is the server's.
pub(super) unsafe fn feed(
    digest: *mut raw::RedisModuleDigest,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) {
    let mut pieces = Pieces::new(PIECE, |piece: &[u8]| {
        // SAFETY: as the caller promises; the bytes are only read.
        unsafe {
            server_function!(RedisModule_DigestAddStringBuffer)(
                digest,
                piece.as_ptr().cast(),
                piece.len(),
            );
        }
    });
    if write(&mut pieces).is_ok() {
        pieces.finish();
        // SAFETY: as the caller promises.
        unsafe { server_function!(RedisModule_DigestEndSequence)(digest) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_stream() {
        for length in [0, 1, 9, 10, 11, 19, 20, 21, 100] {
            let stream: Vec<u8> = (0..length).collect();
            let mut found = Vec::new();
            let mut pieces = Pieces::new(10, |piece: &[u8]| found.push(piece.to_vec()));
            for part in stream.chunks(7) {
                pieces.write_all(part).unwrap();
            }
            pieces.finish();
            assert_eq!(found.concat(), stream);
            assert_eq!(found.len(), usize::from(length).div_ceil(10));
        }
    }
}
