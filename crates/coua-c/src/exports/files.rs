//! Filters as files and as bytes.

use std::ffi::{c_char, c_void};

use coua_store::{Access, Notes, Options, View, Wait};

use super::measures::{Buffer, too_small};
use crate::filter::{coua_filter, make, with};
use crate::open::{OpenStore, lock};
use crate::options::coua_options;
use crate::pointer;
use crate::state::{Held, State};
use crate::status::coua_status;

/// Writes the filter to a file, which it replaces in one step: a filter, or an empty or missing file. Every coua reads it.
/// COUA_BUSY while the file is written by another process or handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_save(filter: *const coua_filter, path: *const c_char) -> coua_status {
    with(filter, |filter| {
        let path = pointer::path(path, "path")?;
        let copy = filter.ask(&[], |asked| asked.snapshot())?;
        Ok(Options::new().replace(lock(path, Wait::No)?, copy, Notes::default())?)
    })
}

/// Reads the filter in a file into memory, written by any program or package. key: the 16 bytes of its secret key, or NULL. What is
/// changed later does not change the file; coua_store_open() works on the file itself. Bytes after the last commit, which
/// an interrupted write leaves, do not count; `coua verify` reports them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_load(
    path: *const c_char,
    key: *const u8,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        // Read, not mapped: what happens to the file later must not end this process.
        let options = keyed(Options::new().access(Access::Load), pointer::secret(key)?);
        Ok(Held::Loaded(options.read(pointer::path(path, "path")?)?))
    })
}

/// Writes what coua_save() would into a buffer, if it is no longer than capacity; length gets its length.
/// COUA_TOO_SMALL if it is longer: with NULL and 0 this asks for the length. Of a Bloom filter these are its bits,
/// as in a Parquet file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_to_bytes(
    filter: *const coua_filter,
    bytes: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> coua_status {
    with(filter, |filter| {
        let buffer = Buffer::of(bytes.cast(), capacity, "bytes", length)?;
        let written = filter.ask(&[], |asked| asked.write(buffer.place))?;
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
        Ok(Held::Loaded(View::of_bytes(bytes, pointer::secret(key)?)?))
    })
}

/// Opens the filter in a file, or makes a new one there as the options say; a filter that is there must agree with them
/// (COUA_MISMATCH). The file is mapped, and is as it was at the last commit, whatever happens. One process writes at a
/// time: another one waits, or gets COUA_BUSY if wait is 0. This process does not wait for itself: a file of which it has
/// another handle is COUA_BUSY. Bytes after the last commit are cut off.
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
        let lock = lock(pointer::path(path, "path")?, wait)?;
        // What cannot be built leaves no file.
        let new = if lock.is_new() { Some(wanted.build()?) } else { None };
        let store = keyed(Options::new(), wanted.key).write_locked(lock, new.map(|new| || new))?;
        wanted.check(store.filter())?;
        Ok(Held::Alone(State::Written(Box::new(OpenStore::new(store)))))
    })
}

/// Opens the last commit of the filter in a file, to be asked. It does not wait for a writer. key as in coua_load(). A large file is
/// mapped: while it is open it may be replaced, but not truncated in place, which would end the process by SIGBUS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_read(
    path: *const c_char,
    key: *const u8,
    created: *mut *mut coua_filter,
) -> coua_status {
    make(created, || {
        let options = keyed(Options::new(), pointer::secret(key)?);
        let view: View = options.read(pointer::path(path, "path")?)?;
        Ok(Held::Alone(State::Read(Box::new(view))))
    })
}

/// Makes all changes so far durable. If that fails, they are kept, and the next commit tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_commit(filter: *mut coua_filter) -> coua_status {
    with(filter, |filter| filter.change(|changed| changed.commit()))
}

/// Commits, and closes the file. If the commit fails, the file stays open, and can be committed or closed again. What is
/// left of the handle is for coua_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coua_store_close(filter: *mut coua_filter) -> coua_status {
    with(filter, coua_filter::close)
}

fn keyed(options: Options, key: Option<[u8; 16]>) -> Options {
    match key {
        Some(key) => options.key(key),
        None => options,
    }
}
