//! Commands that continue later on a timer, so that none of them takes long.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call::bytes_of;
use super::command_name::CommandName;
use super::{Call, OK, catch_panic, raw, server_function};

/// Milliseconds until the next command continues: clients come first.
const PAUSE: c_longlong = 5;

/// Commands that are scheduled and have not run yet.
static SCHEDULED: Mutex<Schedule> = Mutex::new(Schedule {
    commands: VecDeque::new(),
    is_timed: false,
    moved: None,
    follows: false,
});

struct Schedule {
    /// One a key, in the order in which they run: one whenever the timer ends.
    commands: VecDeque<ScheduledCommand>,
    /// Whether the timer is set.
    is_timed: bool,
    /// The key that the server is renaming, or moving to another database.
    moved: Option<KeyPlace>,
    /// Whether the server reports renamed and moved keys.
    follows: bool,
}

/// A command on a key, with two more words.
struct ScheduledCommand {
    command: CommandName,
    place: KeyPlace,
    words: [String; 2],
}

/// The name and database of a key.
#[derive(PartialEq)]
struct KeyPlace {
    database: c_int,
    key: Vec<u8>,
}

impl KeyPlace {
    /// # Safety
    ///
    /// The context is the server's, and the key a string of it that lives meanwhile.
    unsafe fn of(context: *mut raw::RedisModuleCtx, key: *mut raw::RedisModuleString) -> Self {
        // SAFETY: as the caller promises.
        unsafe {
            let database = server_function!(RedisModule_GetSelectedDb)(context);
            Self { database, key: bytes_of(key).to_vec() }
        }
    }
}

fn schedule() -> MutexGuard<'static, Schedule> {
    SCHEDULED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of scheduled commands.
pub(crate) fn commands_pending() -> u64 {
    schedule().commands.len() as u64
}

impl Call<'_> {
    /// Schedules a command of this module on the first key of the call, instead of one that is scheduled for this key,
    /// unless the call is replicated: then the primary sends the rest too.
    pub(crate) fn schedule(&self, command: CommandName, words: [String; 2]) {
        if self.is_replicated() {
            return;
        }
        // SAFETY: the context and a word of the call, which is being run.
        let place = unsafe { KeyPlace::of(self.context, self.string(1)) };
        let mut schedule = schedule();
        if !schedule.follows {
            schedule.follows = follow_keys(self.context);
        }
        schedule.commands.retain(|command| command.place != place);
        schedule.commands.push_back(ScheduledCommand { command, place, words });
        schedule.set_timer(self.context);
    }
}

impl Schedule {
    /// Sets the timer if there are commands.
    fn set_timer(&mut self, context: *mut raw::RedisModuleCtx) {
        if self.is_timed || self.commands.is_empty() {
            return;
        }
        self.is_timed = true;
        // SAFETY: the context is that of a command that is being run, or of the timer.
        unsafe {
            server_function!(RedisModule_CreateTimer)(context, PAUSE, Some(run), null_mut());
        }
    }

    /// Takes the next command, unless the server has paused writes. It would end if one were sent to replicas then.
    fn next(&mut self) -> Option<ScheduledCommand> {
        // SAFETY: it has no arguments.
        let is_paused = unsafe { server_function!(RedisModule_AvoidReplicaTraffic)() } != 0;
        if is_paused { None } else { self.commands.pop_front() }
    }
}

unsafe extern "C" fn run(context: *mut raw::RedisModuleCtx, _: *mut c_void) {
    catch_panic((), || {
        schedule().is_timed = false;
        let next = schedule().next();
        if let Some(scheduled) = next {
            // SAFETY: the context is the timer's.
            unsafe { scheduled.run(context) };
        }
        schedule().set_timer(context);
    });
}

impl ScheduledCommand {
    /// # Safety
    ///
    /// The context is the server's.
    unsafe fn run(&self, context: *mut raw::RedisModuleCtx) {
        let ([first, second], KeyPlace { database, key }) = (&self.words, &self.place);
        // SAFETY: "b" announces bytes and their length, which the server copies; "!" sends the
        // command to replicas and to the append-only file. The reply is freed once; the key may be
        // gone, which is no harm.
        unsafe {
            // A server that has become a replica follows its primary.
            let flags = server_function!(RedisModule_GetContextFlags)(context);
            if flags & raw::REDISMODULE_CTX_FLAGS_SLAVE != 0 {
                return;
            }
            server_function!(RedisModule_SelectDb)(context, *database);
            let reply = server_function!(RedisModule_Call)(
                context,
                self.command.on_server().as_ptr(),
                c"!bbb".as_ptr(),
                key.as_ptr(),
                key.len(),
                first.as_ptr(),
                first.len(),
                second.as_ptr(),
                second.len(),
            );
            if !reply.is_null() {
                server_function!(RedisModule_FreeCallReply)(reply);
            }
        }
    }
}

/// Subscribes to renamed and moved keys, so that scheduled commands follow them. Only a server with such commands does so:
/// in Valkey 8.1, `COPY` and `MOVE` leave a client in the other database once any module has subscribed.
fn follow_keys(context: *mut raw::RedisModuleCtx) -> bool {
    let subscribe = server_function!(RedisModule_SubscribeToKeyspaceEvents);
    // SAFETY: the context is valid while the command runs, and the function stays.
    unsafe { subscribe(context, raw::REDISMODULE_NOTIFY_GENERIC, Some(follow)) == OK }
}

/// The server reports a key's old place, and then its new one.
unsafe extern "C" fn follow(
    context: *mut raw::RedisModuleCtx,
    _kind: c_int,
    event: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    catch_panic((), || {
        let mut schedule = schedule();
        if schedule.commands.is_empty() {
            return;
        }
        // SAFETY: the event is a C string. All three are valid during this call.
        let (event, place) = unsafe { (CStr::from_ptr(event), || KeyPlace::of(context, key)) };
        if event == c"rename_from" || event == c"move_from" {
            schedule.moved = Some(place());
        } else if event == c"rename_to" || event == c"move_to" {
            let (moved, replaced) = (schedule.moved.take(), place());
            schedule.commands.retain(|command| command.place != replaced);
            let commands = schedule.commands.iter_mut();
            for command in commands.filter(|command| Some(&command.place) == moved.as_ref()) {
                command.place = place();
            }
        } else if [c"del", c"restore", c"copy_to"].contains(&event) {
            // The key has gone, or has another value.
            let place = place();
            schedule.commands.retain(|command| command.place != place);
        }
    });
    OK
}
