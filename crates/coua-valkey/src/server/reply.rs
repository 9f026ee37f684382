//! Replies of commands, and sending them to the client.

use std::ffi::{CStr, CString, c_int, c_long};

use super::{Call, raw, server_function};
use crate::error::CommandError;

/// The reply of a command. The two protocols write some of these differently.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// OK.
    Ok,
    /// A boolean: 1 or 0 if the protocol has no booleans.
    Truth(bool),
    /// Whether a filter accepted an item: 1 or -1 if the protocol has no booleans.
    Accepted(bool),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Null.
    Null,
    /// An error, possibly as an element of an array.
    Error(CommandError),
    /// Many of [`Truth`](Self::Truth).
    Truths(Vec<bool>),
    /// A list.
    Array(Vec<Reply>),
    /// Names and values: a flat list if the protocol has no maps.
    Map(Vec<(&'static CStr, Reply)>),
}

impl Reply {
    /// A count, up to the largest number of the protocol.
    pub(crate) fn count(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// Sends a reply.
pub(super) fn send(call: &Call<'_>, reply: &Reply) {
    let context = call.context;
    // SAFETY: the context is valid while the command runs; lengths are those of the data, and
    // arrays are followed by as many elements as announced.
    unsafe {
        match reply {
            Reply::Ok => simple(context, c"OK"),
            Reply::Truth(truth) => truth_of(context, c_int::from(*truth)),
            // Checks the protocol only where it matters: in a batch, nearly all are accepted.
            Reply::Accepted(false) if !call.is_resp3() => integer(context, -1),
            Reply::Accepted(accepted) => truth_of(context, c_int::from(*accepted)),
            Reply::Integer(number) => integer(context, *number),
            Reply::Real(number) => {
                server_function!(RedisModule_ReplyWithDouble)(context, *number);
            }
            Reply::Bytes(bytes) => {
                server_function!(RedisModule_ReplyWithStringBuffer)(
                    context,
                    bytes.as_ptr().cast(),
                    bytes.len(),
                );
            }
            Reply::Null => {
                server_function!(RedisModule_ReplyWithNull)(context);
            }
            Reply::Error(error) => {
                call.end_if_replayed(error);
                send_error(context, error);
            }
            Reply::Truths(truths) => {
                array(context, length_of(truths));
                for &truth in truths {
                    truth_of(context, c_int::from(truth));
                }
            }
            Reply::Array(replies) => {
                array(context, length_of(replies));
                for reply in replies {
                    send(call, reply);
                }
            }
            Reply::Map(fields) => {
                server_function!(RedisModule_ReplyWithMap)(context, length_of(fields));
                for (name, value) in fields {
                    simple(context, name);
                    send(call, value);
                }
            }
        }
    }
}

/// Sends an error.
pub(super) fn send_error(context: *mut raw::RedisModuleCtx, error: &CommandError) {
    if matches!(error, CommandError::Arity) {
        // SAFETY: the context is valid while the command runs; the server knows the command's name.
        unsafe { server_function!(RedisModule_WrongArity)(context) };
        return;
    }
    // An error must be a single line.
    let text = error.to_string().replace(['\r', '\n', '\0'], " ");
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: a C string, which the server copies.
    unsafe { server_function!(RedisModule_ReplyWithError)(context, text.as_ptr()) };
}

unsafe fn simple(context: *mut raw::RedisModuleCtx, text: &CStr) {
    // SAFETY: as the caller's.
    unsafe { server_function!(RedisModule_ReplyWithSimpleString)(context, text.as_ptr()) };
}

unsafe fn truth_of(context: *mut raw::RedisModuleCtx, truth: c_int) {
    // SAFETY: as the caller's. The server answers 0 and 1 where the protocol has no booleans.
    unsafe { server_function!(RedisModule_ReplyWithBool)(context, truth) };
}

unsafe fn integer(context: *mut raw::RedisModuleCtx, number: i64) {
    // SAFETY: as the caller's.
    unsafe { server_function!(RedisModule_ReplyWithLongLong)(context, number) };
}

unsafe fn array(context: *mut raw::RedisModuleCtx, length: c_long) {
    // SAFETY: as the caller's.
    unsafe { server_function!(RedisModule_ReplyWithArray)(context, length) };
}

fn length_of<T>(list: &[T]) -> c_long {
    // No list in memory is longer than half of the address space.
    list.len().cast_signed() as c_long
}
