//! The names of commands: CF.*, or COUA.* beside a module that has those.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::raw;

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
        Self { usual: raw::name_of(usual), beside: raw::name_of(beside) }
    }

    /// Its name on this server.
    pub(super) fn on_server(self) -> &'static CStr {
        if is_beside() { self.beside } else { self.usual }
    }
}

/// The name of a command of the module, without its prefix.
macro_rules! command_name {
    ($name:literal) => {
        crate::server::CommandName::of(concat!("cf.", $name, "\0"), concat!("coua.", $name, "\0"))
    };
}
pub(crate) use command_name;
