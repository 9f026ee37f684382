//! Messages, progress, figures, exit codes and signals.

pub(crate) mod message;
mod progress;
mod report;
pub(crate) mod signals;

pub(crate) use message::{Exit, Failure, Result, Stream, Verbosity, caught_signal, print};
pub(crate) use progress::{Counters, Progress};
pub(crate) use report::{
    FilterFigures, Report, ReportFormat, byte_of, counted, grouped, hexadecimal, known, printable,
    significant, size, write_limit,
};
pub(crate) use signals::CancelToken;
