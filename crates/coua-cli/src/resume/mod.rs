//! Runs that can be resumed after an interruption, and outputs that are never emptied while the filter holds items.
//!
//! A checkpoint commits the filter together with the positions in inputs and outputs, which are in the filter's notes.
//! A resumed run reads its inputs again from the beginning, and skips the records that were done. So it works for
//! compressed inputs and all record formats, and inputs may have grown meanwhile.

mod recorder;
mod run_plan;

pub(crate) use recorder::{Recorder, RunEnd};
pub(crate) use run_plan::{Mode, Plan, ResumeJob, ResumeOptions};

use crate::filter::RunFilter;
use crate::output::Outputs;
use crate::runs::{Role, Run};
use crate::terminal::{Failure, Result, counted};
use coua_store::Notes as FilterNotes;

/// The most bytes of a run's state and its framing in the file.
const REST: u64 = 4096;
/// The most files of a run. The position of each is a note, and other runs have notes too.
const MOST_PLACES: usize = FilterNotes::MOST / 2;

impl ResumeJob<'_> {
    /// Begins the run, or resumes the interrupted one, as planned. The filter then records that the outputs are being
    /// written.
    pub(crate) fn begin(
        &self,
        filter: &mut dyn RunFilter,
        plan: Plan,
        outputs: &mut Outputs,
    ) -> Result<Option<Recorder>> {
        let Some(runs) = filter.runs() else { return Ok(None) };
        let before = runs.clone();
        let Plan { mut run, is_continued, replaced, .. } = plan;
        let is_it = |number: &&u64| is_continued && before.by_number[number].has_files_of(&run);
        let number = replaced.iter().find(is_it).copied();
        if self.obstacle.is_some() || number.is_none() && !self.check_room(&run)? {
            run.places.retain(|place| place.role != Role::Input);
        }
        let written: Vec<_> = run.outputs().cloned().collect();
        if is_continued {
            outputs.resume(&written)?;
        } else {
            outputs.begin(self.output_spec.to)?;
        }
        runs.by_number.retain(|number, _| !replaced.contains(number));
        // Other commands would count a part twice if they cannot be resumed.
        let is_recorded = run.job.is_dedup() || !run.is_stream();
        let mut recorder = is_recorded.then(|| Recorder::new(run, number, runs, self));
        if let Some(recorder) = &mut recorder {
            recorder.is_repeatable |= !replaced.is_empty();
            if !is_continued && !written.is_empty() {
                recorder.record(runs, outputs.sync()?, &recorder.counts);
            }
        }
        if !written.is_empty() && before != *runs {
            filter.commit()?;
        }
        Ok(recorder)
    }

    /// Whether a run is small enough to be recorded. Says so if it is not, or returns an error with `--resume`.
    fn check_room(&self, run: &Run) -> Result<bool> {
        let Some(reason) = excess(run) else { return Ok(true) };
        if self.options.mode == Mode::Resume {
            return Err(Failure::at("--resume", reason));
        }
        let cannot = "this run cannot be resumed after an interruption";
        self.verbosity.say(format_args!("{cannot}: {reason}"));
        Ok(false)
    }
}

/// Why a run is too large to be recorded, if it is.
fn excess(run: &Run) -> Option<String> {
    let (bytes, files) = (run.fixed_note().len() as u64 + REST, run.places.len());
    (files > MOST_PLACES || bytes > FilterNotes::MOST_BYTES).then(|| {
        format!(
            "it has {} with {} of names, more than a filter remembers of a run; use fewer at a time",
            counted(files as u64, "file"),
            counted(bytes, "byte")
        )
    })
}
