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
pub(crate) use figures::{FilterFigures, write_limit};
#[cfg(feature = "explore")]
pub(crate) use message::say;
pub(crate) use message::{Failure, Result, Verbosity};
pub(crate) use progress::{Counters, Progress, ProgressMode};
pub(crate) use report::{Report, ReportFormat};
pub(crate) use signals::CancelToken;
pub(crate) use stream::{Stream, print};
#[cfg(any(feature = "server", test))]
pub(crate) use text::hexadecimal;
pub(crate) use text::{byte_of, counted, grouped, known, printable, significant, size};
