//! Types of values, and the functions that the server calls for them.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::mem::zeroed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::call::{Call, end_server};
use super::command_name::is_beside;
use super::io::{self, AppendOnly, RdbReader};
use super::{FAILED, OK, catch_panic, raw, server_function};
use crate::error::RdbError;

/// The server's handle of the module's type, and statistics of its values.
pub(crate) static VALUES: TypeSlot = TypeSlot::new();

/// The server's handle of a type, and statistics of its values.
pub(crate) struct TypeSlot {
    name: AtomicPtr<raw::RedisModuleType>,
    values: AtomicU64,
    bytes: AtomicU64,
    /// The server's free memory at the last query, the bytes of all values then,
    /// and items that were added since.
    left: AtomicU64,
    bytes_when_asked: AtomicU64,
    items_since: AtomicU64,
}

impl TypeSlot {
    /// The slot of an unregistered type.
    const fn new() -> Self {
        Self {
            name: AtomicPtr::new(std::ptr::null_mut()),
            values: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            left: AtomicU64::new(u64::MAX),
            bytes_when_asked: AtomicU64::new(0),
            items_since: AtomicU64::new(u64::MAX),
        }
    }

    pub(super) fn pointer(&self) -> *mut raw::RedisModuleType {
        self.name.load(Ordering::Relaxed)
    }

    /// Values that the server holds.
    pub(crate) fn values(&self) -> u64 {
        self.values.load(Ordering::Relaxed)
    }

    /// Bytes of memory of all values.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Memory that the server may still take, for a call that adds items; none if nothing may be refused.
    pub(crate) fn memory_left(&self, call: &Call<'_>, items: usize) -> Option<u64> {
        /// A query takes the server a hundred microseconds. It is repeated after this number of items
        /// was added, or values have grown by `BYTES`.
        const ITEMS: u64 = 32_768;
        const BYTES: u64 = 1 << 20;
        let grown = self.bytes().saturating_sub(self.bytes_when_asked.load(Ordering::Relaxed));
        let items_since = self.items_since.load(Ordering::Relaxed).saturating_add(items as u64);
        self.items_since.store(items_since, Ordering::Relaxed);
        if items_since < ITEMS && grown < BYTES {
            let left = self.left.load(Ordering::Relaxed).saturating_sub(grown);
            // The most that a filter may take at once: it doubles, and has room for the items.
            let most = self.bytes().saturating_mul(4).saturating_add(items as u64 * BYTES);
            return Some(left).filter(|&left| left < most && !call.is_replicated());
        }
        let left = call.memory_left();
        self.left.store(left.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.bytes_when_asked.store(self.bytes(), Ordering::Relaxed);
        self.items_since.store(0, Ordering::Relaxed);
        left
    }

    /// Makes the next call query the free memory again, because there was too little.
    pub(crate) fn ask_again(&self) {
        self.items_since.store(u64::MAX, Ordering::Relaxed);
    }

    /// Records that a value changed its size.
    pub(super) fn count_resize(&self, before: usize, now: usize) {
        if before != now {
            // Modulo 2^64: the sum is right after all changes are recorded.
            let difference = (now as u64).wrapping_sub(before as u64);
            self.bytes.fetch_add(difference, Ordering::Relaxed);
        }
    }

    /// Gives a value to the server.
    pub(super) fn give_to_server<T: ValueType>(&self, value: T) -> *mut T {
        self.values.fetch_add(1, Ordering::Relaxed);
        self.count_resize(0, value.memory_bytes());
        Box::into_raw(Box::new(value))
    }

    /// Takes a value back.
    ///
    /// # Safety
    ///
    /// The pointer came from `give_to_server`, or was moved by `defrag`, and it is not used any
    /// more.
    pub(super) unsafe fn take_back<T: ValueType>(&self, value: *mut T) {
        self.values.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        let value = unsafe { Box::from_raw(value) };
        self.count_resize(value.memory_bytes(), 0);
    }
}

/// A type of values.
pub(crate) trait ValueType: Sized + Send + 'static {
    /// Nine letters that all values of the type are marked with in dump files.
    const NAME: &'static CStr;
    /// The same where another module has the type of that name.
    const NAME_BESIDE: &'static CStr;
    /// The encoding of what `write` writes, 0..=1023.
    const ENCODING: c_int;

    /// Writes the complete value: for dump files, and to compare values.
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()>;

    /// What a server keeps in place of a value that `write` wrote and `load` refuses, if it is to start nevertheless.
    fn stand_in() -> Option<Self>;

    /// Reads a value that `write`, or another module with the same type name, has written.
    fn load(input: &mut RdbReader, encoding: c_int) -> Result<Self, RdbError>;

    /// Writes the value as calls of commands.
    fn rewrite(&self, out: &mut AppendOnly) -> std::io::Result<()>;

    /// Bytes of memory.
    fn memory_bytes(&self) -> usize;

    /// The effort of freeing it, in pieces of memory; above 64 the server frees it in the
    /// background.
    fn free_effort(&self) -> usize;

    /// A copy, if there is memory for it.
    fn copy(&self) -> Option<Self>;
}

/// Makes a type known to the server. Returns false if the server already has a type with this name.
pub(super) fn create_type<T: ValueType>(context: *mut raw::RedisModuleCtx) -> bool {
    // SAFETY: all zeros are functions that are missing.
    let mut methods: raw::RedisModuleTypeMethods = unsafe { zeroed() };
    methods.version = raw::REDISMODULE_TYPE_METHOD_VERSION;
    methods.rdb_load = Some(load::<T>);
    methods.rdb_save = Some(save::<T>);
    methods.aof_rewrite = Some(rewrite::<T>);
    methods.mem_usage = Some(memory::<T>);
    methods.digest = Some(digest::<T>);
    methods.free = Some(free::<T>);
    methods.free_effort = Some(free_effort::<T>);
    methods.copy = Some(copy::<T>);
    methods.defrag = Some(defrag::<T>);
    // SAFETY: a C string of nine letters, and methods that the server copies.
    let created = unsafe {
        server_function!(RedisModule_CreateDataType)(
            context,
            if is_beside() { T::NAME_BESIDE } else { T::NAME }.as_ptr(),
            T::ENCODING,
            &raw mut methods,
        )
    };
    VALUES.name.store(created, Ordering::Relaxed);
    !created.is_null()
}

/// # Safety
///
/// `value` was made by `Key::set`, `load` or `copy` of the same type.
unsafe fn value_of<'a, T>(value: *const c_void) -> &'a T {
    // SAFETY: as the caller promises; the server passes it to one function at a time.
    unsafe { &*value.cast::<T>() }
}

unsafe extern "C" fn load<T: ValueType>(
    io: *mut raw::RedisModuleIO,
    encoding: c_int,
) -> *mut c_void {
    // SAFETY: the server's own, valid during this call.
    let mut input = unsafe { RdbReader::new(io) };
    let loaded = catch_panic(Err(RdbError::Defect), || T::load(&mut input, encoding));
    match loaded {
        Ok(value) => VALUES.give_to_server(value).cast(),
        Err(refusal) => catch_panic(std::ptr::null_mut(), || {
            let is_damage = refusal.is_damage();
            let stand_in = is_damage.then(|| stand_in::<T>(&mut input, encoding)).flatten();
            let end = if stand_in.is_some() { "; it is an empty filter now" } else { "" };
            // A client may send any number of damaged values.
            let level = if input.is_request() { c"verbose" } else { c"warning" };
            input.log(level, &format!("cannot be loaded: {refusal}{end}"));
            if refusal.is_lack_of_memory() && input.is_loading() {
                end_server();
            }
            stand_in.map_or(std::ptr::null_mut(), |value| VALUES.give_to_server(value).cast())
        }),
    }
}

/// Whether a server starts although a value is damaged.
static EMPTIES_DAMAGED: AtomicBool = AtomicBool::new(false);

/// Takes the module's argument `ON-DAMAGED stop` or `ON-DAMAGED empty`.
pub(super) fn set_on_damaged(word: &[u8]) -> Result<(), String> {
    let empties = word.eq_ignore_ascii_case(b"empty");
    if !empties && !word.eq_ignore_ascii_case(b"stop") {
        return Err(format!("ON-DAMAGED is '{}', but must be stop or empty", word.escape_ascii()));
    }
    EMPTIES_DAMAGED.store(empties, Ordering::Relaxed);
    Ok(())
}

/// What takes the place of a damaged value, if the operator wants it, the server loads its own file or its primary's, and
/// the end of the value is found.
fn stand_in<T: ValueType>(input: &mut RdbReader, encoding: c_int) -> Option<T> {
    let is_wanted = EMPTIES_DAMAGED.load(Ordering::Relaxed) && input.is_loading();
    (is_wanted && encoding == T::ENCODING && input.skip().is_ok()).then(T::stand_in).flatten()
}

unsafe extern "C" fn save<T: ValueType>(file: *mut raw::RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server's own, valid during this call; a value of this type.
    catch_panic((), || unsafe { io::save(file, |out| value_of::<T>(value).write(out)) });
}

unsafe extern "C" fn rewrite<T: ValueType>(
    aof: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    catch_panic((), || {
        // SAFETY: the server's own, valid during this call; a value of this type.
        let (mut out, value) = unsafe { (AppendOnly::new(aof, key), value_of::<T>(value)) };
        if let Err(error) = value.rewrite(&mut out) {
            // SAFETY: the server's own, valid during this call.
            unsafe { io::log_of_io(aof, c"warning", &format!("cannot be written: {error}")) };
        }
    });
}

unsafe extern "C" fn memory<T: ValueType>(value: *const c_void) -> usize {
    // SAFETY: a value of this type.
    catch_panic(0, || unsafe { value_of::<T>(value) }.memory_bytes())
}

unsafe extern "C" fn digest<T: ValueType>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    // SAFETY: the server's own, valid during this call; a value of this type.
    catch_panic((), || unsafe { io::feed(digest, |out| value_of::<T>(value).write(out)) });
}

unsafe extern "C" fn free<T: ValueType>(value: *mut c_void) {
    // SAFETY: given to the server by `give_to_server`; it does not use the value any more.
    catch_panic((), || unsafe { VALUES.take_back(value.cast::<T>()) });
}

unsafe extern "C" fn free_effort<T: ValueType>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: a value of this type.
    catch_panic(1, || unsafe { value_of::<T>(value) }.free_effort())
}

unsafe extern "C" fn copy<T: ValueType>(
    _from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: a value of this type.
        let copy = unsafe { value_of::<T>(value) }.copy();
        // SAFETY: asks for what is known without a context.
        let flags = unsafe { server_function!(RedisModule_GetContextFlags)(std::ptr::null_mut()) };
        if copy.is_none() && flags & raw::REDISMODULE_CTX_FLAGS_LOADING != 0 {
            end_server();
        }
        copy.map_or(std::ptr::null_mut(), |copy| VALUES.give_to_server(copy).cast())
    })
}

/// Moves the value itself, if the server asks for it. What it points to is one large block or
/// mapping, which does not fragment the server's memory.
unsafe extern "C" fn defrag<T: ValueType>(
    context: *mut raw::RedisModuleDefragCtx,
    _key: *mut raw::RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    const { assert!(align_of::<T>() <= 16, "blocks of the server, not parts of them, can be moved") };
    catch_panic(FAILED, || {
        // SAFETY: the block was allocated by the server for the box; it copies the bytes, as a move
        // in Rust does, and frees the old block.
        unsafe {
            let moved = server_function!(RedisModule_DefragAlloc)(context, *value);
            if !moved.is_null() {
                *value = moved;
            }
        }
        OK
    })
}
