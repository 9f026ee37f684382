//! One call of a command: its words, and the server that it runs in.

use std::cell::OnceCell;
use std::ffi::{CStr, CString, c_int};
use std::slice;

use smallvec::SmallVec;

use super::command_name::CommandName;
use super::{raw, server_function};
use crate::error::CommandError;

/// The command comes from the primary, or from the append-only file.
const REPEATED: c_int = raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING;

/// Up to this many words need no allocation.
const INLINE: usize = 4;

/// The same for replicated commands: enough to create a filter.
const INLINE_SENT: usize = 8;

/// A command being run.
pub(crate) struct Call<'a> {
    pub(super) context: *mut raw::RedisModuleCtx,
    strings: &'a [*mut raw::RedisModuleString],
    /// The strings as bytes, after the first use.
    argv: OnceCell<SmallVec<[&'a [u8]; INLINE]>>,
    /// The result of [`is_replicated`](Self::is_replicated), because asking the server is slow.
    is_replicated: OnceCell<bool>,
}

/// A word of a command for replicas and the append-only file.
pub(crate) enum Word<'a> {
    /// The word of the call with this number.
    Same(usize),
    /// Other text.
    Text(&'a [u8]),
}

impl<'a> Call<'a> {
    /// # Safety
    ///
    /// `words` holds `count` strings of the server that live as long as the command runs.
    pub(super) unsafe fn new(
        context: *mut raw::RedisModuleCtx,
        words: *mut *mut raw::RedisModuleString,
        count: c_int,
    ) -> Self {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: as the caller promises; the array is not changed meanwhile.
        let strings = unsafe { slice::from_raw_parts(words.cast_const(), count) };
        Self { context, strings, argv: OnceCell::new(), is_replicated: OnceCell::new() }
    }

    /// How many words there are.
    pub(crate) fn count(&self) -> usize {
        self.strings.len()
    }

    /// The words, the command's name first.
    pub(crate) fn argv(&self) -> &[&'a [u8]] {
        // SAFETY: each is a string of the server that outlives the call.
        let words = self.strings.iter().map(|&string| unsafe { bytes_of(string) });
        self.argv.get_or_init(|| words.collect())
    }

    /// The only word after the key.
    pub(crate) fn item(&self) -> Result<&'a [u8], CommandError> {
        let &[_, _, item] = self.strings else { return Err(CommandError::Arity) };
        // SAFETY: a string of the server that outlives the call.
        Ok(unsafe { bytes_of(item) })
    }

    /// The words after the key, at least one.
    pub(crate) fn items(&self) -> Result<&[&'a [u8]], CommandError> {
        self.argv().get(2..).filter(|items| !items.is_empty()).ok_or(CommandError::Arity)
    }

    pub(super) fn string(&self, number: usize) -> *mut raw::RedisModuleString {
        self.strings[number]
    }

    fn flags(&self) -> c_int {
        // SAFETY: the context is valid while the command runs.
        unsafe { server_function!(RedisModule_GetContextFlags)(self.context) }
    }

    /// Whether the command repeats an earlier decision of another server, or of this one: it comes from the
    /// primary, from the append-only file, or with a moving slot. Then nothing may be
    /// refused.
    pub(crate) fn is_replicated(&self) -> bool {
        *self.is_replicated.get_or_init(|| self.flags() & REPEATED != 0 || self.must_be_obeyed())
    }

    /// The same as reported by Valkey since 8.1, which since 9 moves slots with commands.
    fn must_be_obeyed(&self) -> bool {
        let must_obey = raw::ValkeyModule_MustObeyClient.get();
        // SAFETY: the context is valid while the command runs.
        must_obey.is_some_and(|must_obey| unsafe { must_obey(self.context) != 0 })
    }

    /// Memory that the server may still allocate, up to `maxmemory`, or else to the machine's memory; the whole
    /// limit if the server evicts keys. `None` if nothing may be
    /// refused.
    pub(crate) fn memory_left(&self) -> Option<u64> {
        if self.is_replicated() {
            return None;
        }
        // SAFETY: the context is valid while the command runs; what the server tells is freed once.
        let ([most, machine, used], evicts) = unsafe {
            let memory =
                server_function!(RedisModule_GetServerInfo)(self.context, c"memory".as_ptr());
            let fields = [c"maxmemory", c"total_system_memory", c"used_memory"].map(|name| {
                let mut error = 0;
                server_function!(RedisModule_ServerInfoGetFieldUnsigned)(
                    memory,
                    name.as_ptr(),
                    &raw mut error,
                )
            });
            let policy = server_function!(RedisModule_ServerInfoGetFieldC)(
                memory,
                c"maxmemory_policy".as_ptr(),
            );
            let evicts = !policy.is_null() && CStr::from_ptr(policy) != c"noeviction";
            server_function!(RedisModule_FreeServerInfo)(self.context, memory);
            (fields, evicts)
        };
        let used = if evicts { 0 } else { used };
        let most = if most > 0 { most } else { machine };
        Some(most).filter(|&most| most > 0).map(|most| most.saturating_sub(used))
    }

    /// Whether the client speaks RESP3.
    pub(crate) fn is_resp3(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    /// Writes a line about the first key to the server's log, unless another server or an earlier run decided.
    pub(crate) fn warn(&self, line: &str) {
        if !self.is_replicated() {
            self.log(line);
        }
    }

    /// Writes a line about the first key to the server's log.
    pub(crate) fn log(&self, line: &str) {
        // SAFETY: the context is valid while the command runs.
        let database = unsafe { server_function!(RedisModule_GetSelectedDb)(self.context) };
        log_of_key(self.context, c"warning", self.argv()[1], database, line);
    }

    /// Ends the server if memory is short for a command that another server, or an earlier run, has done: the commands
    /// that follow would make another filter.
    pub(super) fn end_if_replayed(&self, error: &CommandError) {
        if error.is_lack_of_memory() && self.flags() & REPEATED != 0 {
            self.log(&format!("cannot be changed as before: {error}"));
            end_server();
        }
    }

    /// Sends the call as it is to replicas and the append-only file.
    pub(crate) fn replicate_as_called(&self) {
        // SAFETY: the context is valid while the command runs.
        unsafe { server_function!(RedisModule_ReplicateVerbatim)(self.context) };
    }

    /// Sends another command to replicas and the append-only file.
    pub(crate) fn replicate<'w>(
        &self,
        command: CommandName,
        words: impl IntoIterator<Item = Word<'w>>,
    ) {
        let mut made = SmallVec::<[_; INLINE_SENT]>::new();
        let mut strings: SmallVec<[_; INLINE_SENT]> = words
            .into_iter()
            .map(|word| match word {
                Word::Same(number) => self.strings[number],
                Word::Text(text) => {
                    let create = server_function!(RedisModule_CreateString);
                    // SAFETY: the text's bytes are copied.
                    let string = unsafe { create(self.context, text.as_ptr().cast(), text.len()) };
                    made.push(string);
                    string
                }
            })
            .collect();
        // SAFETY: "v" announces an array of strings and its length; the server takes its own
        // references to them.
        unsafe {
            server_function!(RedisModule_Replicate)(
                self.context,
                command.on_server().as_ptr(),
                c"v".as_ptr(),
                strings.as_mut_ptr(),
                strings.len(),
            );
        }
        for string in made {
            // SAFETY: created above, and not used any more here.
            unsafe { server_function!(RedisModule_FreeString)(self.context, string) };
        }
    }
}

/// Random bytes of the server's, fit for a secret key. Without a server, in unit tests, all are 0.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Some(fill) = raw::RedisModule_GetRandomBytes.get() {
        // SAFETY: it writes as many bytes as there are.
        unsafe { fill(bytes.as_mut_ptr(), N) };
    }
    bytes
}

/// # Safety
///
/// `string` is a string of the server that lives for `'a` and is not changed meanwhile.
pub(super) unsafe fn bytes_of<'a>(string: *const raw::RedisModuleString) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: a valid string, as the caller promises; the server tells the length of its bytes.
    unsafe {
        let start = server_function!(RedisModule_StringPtrLen)(string, &raw mut length);
        slice::from_raw_parts(start.cast(), length)
    }
}

/// The name of a key for a line of the server's log. The server cuts lines at 1024 bytes, so a long name is cut here.
pub(crate) fn shown(name: &[u8]) -> String {
    const MOST: usize = 100;
    let end = if name.len() > MOST { "..." } else { "" };
    format!("{}{end}", name[..name.len().min(MOST)].escape_ascii())
}

/// Writes a line about a key to the server's log.
pub(super) fn log_of_key(
    context: *mut raw::RedisModuleCtx,
    level: &CStr,
    name: &[u8],
    database: c_int,
    line: &str,
) {
    log(context, level, &format!("key {} in database {database} {line}", shown(name)));
}

/// Ends the server, or its child that writes a file, for lack of memory, without its report of a crash, which needs memory.
pub(super) fn end_server() -> ! {
    // SAFETY: texts without placeholders; the context may be null. Nothing runs after it.
    unsafe {
        let (level, line) = (c"warning".as_ptr(), c"out of memory: this process ends".as_ptr());
        server_function!(RedisModule_Log)(std::ptr::null_mut(), level, line);
        libc::_exit(1)
    }
}

/// Writes a line to the server's log; `level` is one of the server's.
pub(super) fn log(context: *mut raw::RedisModuleCtx, level: &CStr, line: &str) {
    let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
    // SAFETY: "%s" announces one text; the context may be null.
    unsafe {
        server_function!(RedisModule_Log)(context, level.as_ptr(), c"%s".as_ptr(), line.as_ptr());
    }
}
