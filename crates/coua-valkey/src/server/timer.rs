//! Commands that go on later, by a timer, so that none of them takes long.

use std::ffi::{CStr, c_longlong, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::call::bytes_of;
use super::{Call, catch_panic, raw, server_function};

/// Milliseconds until then: clients come first.
const PAUSE: c_longlong = 5;

/// Commands that were put off and have not run yet.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// How many commands go on later.
pub(crate) fn commands_pending() -> u64 {
    PENDING.load(Ordering::Relaxed)
}

/// A command on a key, with two more words.
struct ScheduledCommand {
    command: &'static CStr,
    key: Vec<u8>,
    words: [String; 2],
}

impl Call<'_> {
    /// Runs a command of this module on the first key of the call in a while, unless the call
    /// repeats what another server has decided: that one sends the rest too.
    pub(crate) fn schedule(&self, command: &'static CStr, words: [String; 2]) {
        if self.is_replicated() {
            return;
        }
        // SAFETY: a word of the call, which is being run.
        let key = unsafe { bytes_of(self.string(1)) }.to_vec();
        let scheduled = Box::into_raw(Box::new(ScheduledCommand { command, key, words }));
        PENDING.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the context is valid while the command runs, whose database is the timer's too.
        // The box is taken back once, by `run`.
        unsafe {
            server_function!(RedisModule_CreateTimer)(
                self.context,
                PAUSE,
                Some(run),
                scheduled.cast(),
            );
        }
    }
}

unsafe extern "C" fn run(context: *mut raw::RedisModuleCtx, scheduled: *mut c_void) {
    catch_panic((), || {
        // SAFETY: made by `schedule` for this call alone.
        let scheduled = unsafe { Box::from_raw(scheduled.cast::<ScheduledCommand>()) };
        PENDING.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the context is the timer's.
        let flags = unsafe { server_function!(RedisModule_GetContextFlags)(context) };
        // What has become a replica meanwhile follows its primary.
        if flags & raw::REDISMODULE_CTX_FLAGS_SLAVE != 0 {
            return;
        }
        let [first, second] = &scheduled.words;
        // SAFETY: "b" announces bytes and their length, which the server copies; "!" sends the
        // command to replicas and to the append-only file. The reply is freed once; the key may be
        // gone, which is no harm.
        unsafe {
            let reply = server_function!(RedisModule_Call)(
                context,
                scheduled.command.as_ptr(),
                c"!bbb".as_ptr(),
                scheduled.key.as_ptr(),
                scheduled.key.len(),
                first.as_ptr(),
                first.len(),
                second.as_ptr(),
                second.len(),
            );
            if !reply.is_null() {
                server_function!(RedisModule_FreeCallReply)(reply);
            }
        }
    });
}
