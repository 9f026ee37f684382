//! What people see: messages, progress, figures, exit codes; and what they send: signals.

pub(crate) mod exit;
pub(crate) mod figures;
pub(crate) mod message;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod signals;
pub(crate) mod stream;
pub(crate) mod text;
