//! Messages, progress, figures, exit codes and signals.

pub(crate) mod message;
mod report;
pub(crate) mod signals;

pub(crate) use message::{Exit, Failure, Result, Stream, Verbosity, caught_signal, print};
pub(crate) use report::{
    Report, ReportFormat, byte_of, counted, grouped, hexadecimal, known, printable, significant,
    size,
};
pub(crate) use signals::{CancelToken, Counters, Progress};
