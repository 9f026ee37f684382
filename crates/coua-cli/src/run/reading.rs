//! What a run reads.

use crate::clock::Now;
use crate::input::{BlockReader, Inputs, Survey, Until};
use crate::key::{Found, Hashing, Headers, Mixing, OnMissing, Why};
use crate::record::Header;
use crate::terminal::{Result, Stop};
use coua::window::Window;
use std::sync::Arc;

/// What to read, and how to understand it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) inputs: Inputs,
    /// Before it is known which filter the keys are for.
    pub(crate) hashing: Hashing,
    pub(crate) until: Until,
}

impl Reading {
    /// Times of records are believed if they are not later than the present, or only by a generation of
    /// the window: clocks differ.
    pub(super) fn believe_times(&mut self, now: Now, window: Option<Window>) {
        if let (Some(times), Some(window)) = (&mut self.hashing.keys.times, window) {
            times.believe(now, window.step());
        }
    }

    /// Looks at all inputs, and at the headers of those that are CSV files.
    pub(super) fn survey(&self, mixing: Mixing) -> Result<Survey> {
        let inputs = self.inputs.survey(self.until)?;
        if let (Some(headers), Until::End) = (self.headers(mixing), self.until) {
            let (stop, consumed) = (Arc::new(Stop::new()?), Arc::default());
            let (inputs, format) = (self.inputs.clone(), self.hashing.format.clone());
            BlockReader::new(inputs, format, Some(headers), stop, consumed).check_headers()?;
        }
        Ok(inputs)
    }

    /// What is to know about the headers of CSV inputs, if they have such.
    pub(super) fn headers(&self, mixing: Mixing) -> Option<Headers> {
        let columns = self.hashing.keys.csv().filter(|columns| columns.need_header())?;
        Some(Headers::new(columns.clone(), mixing))
    }

    /// Whether a record without an answer is printed, where records with this answer are: the first header
    /// everywhere, a record without a key as one that was never seen.
    pub(super) fn passes(&self, why: &Why, wanted: Found) -> bool {
        match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => wanted == Found::No && self.keeps_keyless(),
            Why::OtherShard => false,
        }
    }

    /// Whether a record without a key passes.
    pub(super) fn keeps_keyless(&self) -> bool {
        matches!(self.hashing.on_missing, None | Some(OnMissing::Keep))
    }
}
