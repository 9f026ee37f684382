//! Filters as files and as bytes.

use std::ffi::{c_char, c_void};

use coua_store::{Access, Lock, Notes, Options, Reason, StoreError, View, Wait};

use super::measures::{Buffer, too_small};
use crate::filter::{coua_filter, make, with};
use crate::options::coua_options;
use crate::pointer;
use crate::state::State;
use crate::status::coua_status;

/// Writes the filter to a file in one step. An existing file must be a filter or empty. Every coua program and package
/// can read it. COUA_BUSY while another process or handle is writing the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_save(filter: *const coua_filter, path: *const c_char) -> coua_status {
    with(filter, |filter| {
        let path = pointer::path(path, "path")?;
        let copy = filter.ask(|asked| asked.snapshot())?;
        Ok(Options::new().replace(Lock::take(path, Wait::No)?, copy, Notes::default())?)
    })
}

/// Reads a filter file of any coua program or package into memory. key: the 16 bytes of its secret key, or NULL. Later
/// changes do not affect the file; coua_store_open() works on the file itself. Bytes after the last commit, which an
/// interrupted write leaves, are ignored; `coua verify` reports them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_load(
    path: *const c_char,
    key: *const u8,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        // Read, not mapped: what happens to the file later must not end this process.
        let options = Options::new().access(Access::Load).key(pointer::secret(key)?);
        Ok(coua_filter::loaded(options.read(pointer::path(path, "path")?)?))
    })
}

/// Writes the bytes of coua_save() to a buffer, if they fit in capacity; length receives their length. Otherwise
/// COUA_TOO_SMALL; call it with NULL and 0 to get the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_to_bytes(
    filter: *const coua_filter,
    bytes: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> coua_status {
    with(filter, |filter| {
        let buffer = Buffer::of(bytes.cast(), capacity, "bytes", length)?;
        let written = filter.ask(|asked| asked.write(buffer.place))?;
        let written = usize::try_from(written).unwrap_or(usize::MAX);
        buffer.length.write(written);
        if capacity < written { Err(too_small("bytes", capacity, written)) } else { Ok(()) }
    })
}

/// Reads the bytes of coua_to_bytes(), or of a file. key as in coua_load().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_from_bytes(
    bytes: *const c_void,
    length: usize,
    key: *const u8,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let bytes = pointer::values(bytes.cast::<u8>(), length, "bytes")?;
        Ok(coua_filter::loaded(View::of_bytes(bytes, pointer::secret(key)?)?))
    })
}

/// Opens the filter in a file, or creates it with the options; an existing filter must agree with them (COUA_MISMATCH).
/// The file is mapped, and always holds the state of the last commit. One process writes at a time: another one waits,
/// or gets COUA_BUSY if wait is 0. A file that this process already has open is COUA_BUSY at once. Bytes after the last
/// commit are removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_open(
    path: *const c_char,
    options: *const coua_options,
    wait: i32,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let wanted = coua_options::of(options)?;
        let wait = if wait == 0 { Wait::No } else { Wait::UntilFree };
        let path = pointer::path(path, "path")?;
        // This thread may be the one that is to close another handle, so only other processes are waited for.
        let lock = match Lock::take(path, Wait::No) {
            Err(StoreError { reason: Reason::Busy, .. }) => Lock::take(path, wait),
            taken => taken,
        }?;
        // What cannot be built leaves no file.
        let new = if lock.is_new() { Some(wanted.requirements.build()?) } else { None };
        let store = Options::new().key(wanted.key).write_locked(lock, new)?;
        wanted.check(store.filter())?;
        Ok(State::Written(Box::new(store)).into())
    })
}

/// Opens the last commit of the filter in a file, read-only, without waiting for a writer. key as in coua_load(). A
/// large file is mapped: while it is open it may be replaced, but not truncated in place, which would end the process
/// by SIGBUS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_read(
    path: *const c_char,
    key: *const u8,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let options = Options::new().key(pointer::secret(key)?);
        let view: View = options.read(pointer::path(path, "path")?)?;
        Ok(State::Read(Box::new(view)).into())
    })
}

/// Makes all changes durable. If that fails, they are kept, and the next commit tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_commit(filter: *mut coua_filter) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.commit()))
}

/// Commits, and closes the file. If the commit fails, the file stays open, and can be committed or closed again.
/// Afterwards only coua_free() accepts the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_close(filter: *mut coua_filter) -> coua_status {
    with(filter, coua_filter::close)
}
