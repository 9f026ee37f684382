//! What people see: messages, progress, figures, exit codes; and what they send: signals.

pub(crate) mod exit;
mod figures;
pub(crate) mod message;
mod progress;
mod report;
pub(crate) mod signals;
mod stream;
mod text;

pub(crate) use exit::Exit;
pub(crate) use figures::{FilterFigures, tell_limit};
pub(crate) use message::{Failure, Notes, Result};
pub(crate) use progress::{Counters, Shown, Watch};
pub(crate) use report::{Format, Report};
pub(crate) use signals::Stop;
pub(crate) use stream::{Stream, print};
pub(crate) use text::{
    byte_of, counted, grouped, hexadecimal, known, percent, significant, size, tenths,
};
