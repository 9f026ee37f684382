//! The names of commands: CF.*, or COUA.* beside a module that has those.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether another module, or the server, has commands CF.*. Then those of this module are COUA.*.
static IS_BESIDE: AtomicBool = AtomicBool::new(false);

/// Makes the commands COUA.*. Must be called before any is registered.
pub(super) fn stand_beside() {
    IS_BESIDE.store(true, Ordering::Relaxed);
}

/// Whether the commands are COUA.*.
pub(super) fn is_beside() -> bool {
    IS_BESIDE.load(Ordering::Relaxed)
}

/// The name of a command, in lower case.
#[derive(Clone, Copy)]
pub(crate) struct CommandName {
    pub(super) usual: &'static CStr,
    beside: &'static CStr,
}

impl CommandName {
    /// The two names; each ends with a zero byte.
    pub(crate) const fn of(usual: &'static str, beside: &'static str) -> Self {
        Self { usual: c_string(usual), beside: c_string(beside) }
    }

    /// Its name on this server.
    pub(super) fn on_server(self) -> &'static CStr {
        if is_beside() { self.beside } else { self.usual }
    }
}

const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name ends with its only zero byte"),
    }
}

/// The name of a command of the module, without its prefix.
macro_rules! command_name {
    ($name:literal) => {
        crate::server::CommandName::of(concat!("cf.", $name, "\0"), concat!("coua.", $name, "\0"))
    };
}
pub(crate) use command_name;
