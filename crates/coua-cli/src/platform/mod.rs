//! Code that differs between operating systems: `unix`, and `portable` for the rest.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

#[cfg(not(unix))]
pub(crate) use portable::{HandleHash as Identity, NoWaker as Waker};
pub(crate) use system::{
    appends, change_time, closed_at_start, create_private, descriptor, die_by, enlarge_pipe,
    explain_shortened, has_less_stack, listen, open_input, path_of, standard_input,
    standard_output, terminal_width, try_lock, wait_writable,
};
#[cfg(unix)]
pub(crate) use unix::{Identity, Waker};
