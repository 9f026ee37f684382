//! Runs that can be resumed after an interruption, and outputs that are never emptied while the filter holds items.
//!
//! A checkpoint commits the filter together with the positions in inputs and outputs, which are in the filter's notes.
//! A resumed run reads its inputs again from the beginning, and skips the records that were done. So it works for
//! compressed inputs and all record formats, and inputs may have grown meanwhile.

mod recorder;
mod run_plan;

pub(crate) use recorder::{Recorder, RunEnd};
pub(crate) use run_plan::{Mode, ResumeJob, ResumeOptions};
