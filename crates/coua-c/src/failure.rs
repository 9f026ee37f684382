//! Errors and panics, as a status and the thread's last message.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use coua::{BuildError, Full, FullReason, LoadError, MergeError, OutOfMemory};
use coua_store::{Reason, StoreError};

use crate::status::coua_status::{
    self, COUA_BUSY, COUA_FULL, COUA_INVALID, COUA_IO, COUA_MISMATCH, COUA_NOT_A_FILTER, COUA_OK,
    COUA_OUT_OF_MEMORY, COUA_PANIC, COUA_UNSUPPORTED,
};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static LAST_OS_ERROR: Cell<i32> = const { Cell::new(0) };
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: coua_status,
    message: String,
    /// The number of the operating system's error that is its cause, or 0.
    os_error: i32,
}

/// The result of this crate's calls.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: coua_status, message: impl Display) -> Self {
        Self { status, message: message.to_string(), os_error: 0 }
    }

    fn because_of(self, cause: &(dyn Error + 'static)) -> Self {
        let mut causes = std::iter::successors(Some(cause), |&cause| cause.source());
        let number = causes.find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
        Self { os_error: number.unwrap_or(0), ..self }
    }

    pub(crate) fn invalid(message: impl Display) -> Self {
        Self::new(COUA_INVALID, message)
    }

    pub(crate) fn unsupported(message: impl Display) -> Self {
        Self::new(COUA_UNSUPPORTED, message)
    }

    /// Names the key of a batch that it is about.
    pub(crate) fn at_key(self, place: usize) -> Self {
        Self { message: format!("{} (key {place} of the batch)", self.message), ..self }
    }

    fn panic(cause: &(dyn Any + Send)) -> Self {
        let text = cause.downcast_ref::<&str>().copied();
        let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        Self::new(COUA_PANIC, format_args!("internal error, please report it: {text}"))
    }
}

/// Runs a call: a panic ends here, as a failure.
pub(crate) fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| Err(Failure::panic(&*cause)))
}

/// The status of a call, whose failure becomes the thread's last one.
pub(crate) fn report(done: Outcome) -> coua_status {
    let Err(Failure { status, message, os_error }) = done else { return COUA_OK };
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // A thread that is ending has no last message.
    LAST.try_with(|last| last.replace(message)).ok();
    LAST_OS_ERROR.set(os_error);
    status
}

/// The message of the thread's last call that failed.
pub(crate) fn last_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The operating system's error that was the cause of it, or 0.
pub(crate) fn last_os_error() -> i32 {
    LAST_OS_ERROR.get()
}

/// A failure to allocate temporary memory for a call.
pub(crate) fn out_of_memory(what: impl Display) -> Failure {
    Failure::new(
        COUA_OUT_OF_MEMORY,
        format_args!("out of memory for {what}; use fewer, or free some memory"),
    )
}

/// An error and its status.
macro_rules! failures {
    ($($error:ty: $status:expr),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let status: fn(&$error) -> coua_status = $status;
                Self::new(status(&error), &error).because_of(&error)
            }
        }
    )*};
}

failures! {
    OutOfMemory: |_| COUA_OUT_OF_MEMORY,
    Full: |full| match full.reason {
        FullReason::OutOfMemory => COUA_OUT_OF_MEMORY,
        _ => COUA_FULL,
    },
    BuildError: |error| match error {
        BuildError::OutOfMemory(_) => COUA_OUT_OF_MEMORY,
        _ => COUA_INVALID,
    },
    LoadError: of_load,
    MergeError: |error| match error {
        MergeError::Full(full) if full.reason == FullReason::OutOfMemory => COUA_OUT_OF_MEMORY,
        MergeError::Full(_) => COUA_FULL,
        _ => COUA_MISMATCH,
    },
    io::Error: |error| match error.kind() {
        io::ErrorKind::OutOfMemory => COUA_OUT_OF_MEMORY,
        _ => COUA_IO,
    },
}

fn of_load(error: &LoadError) -> coua_status {
    match error {
        LoadError::Io(_) => COUA_IO,
        LoadError::OutOfMemory(_) => COUA_OUT_OF_MEMORY,
        _ => COUA_NOT_A_FILTER,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = match &error.reason {
            Reason::Busy | Reason::OpenHere => COUA_BUSY,
            Reason::Load(error) => of_load(error),
            Reason::Damaged { .. } | Reason::Replay { .. } | Reason::Blank | Reason::NotRegular => {
                COUA_NOT_A_FILTER
            }
            _ => COUA_IO,
        };
        // Bytes have no path.
        let failure = if error.path.as_os_str().is_empty() {
            Self::new(status, &error.reason)
        } else {
            Self::new(status, &error)
        };
        failure.because_of(&error.reason)
    }
}
