//! What a run reads.

use crate::clock::Now;
use crate::input::reader::BlockReader;
use crate::input::{Faults, Inputs, Survey};
use crate::key::Keys;
use crate::key::answers::Found;
use crate::key::hashing::OnMissing;
use crate::key::header::{Headers, Mixing};
use crate::key::keyed::Why;
use crate::key::shard::Shard;
use crate::output::Opening;
use crate::output::own_files::OwnFiles;
use crate::record::Format;
use crate::record::block::Header;
use crate::terminal::message::Failure;
use crate::terminal::signals::Stop;
use coua::window::Window;
use std::sync::Arc;

/// What to read, and how to understand it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) inputs: Inputs,
    pub(crate) format: Format,
    pub(crate) keys: Keys,
    pub(crate) on_missing: Option<OnMissing>,
    /// Records of others are not there.
    pub(crate) shard: Option<Shard>,
    pub(crate) until: Until,
}

/// Up to where to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    End,
    /// A record that is printed ends the run, before the inputs after it are opened.
    FirstPrinted,
}

impl Reading {
    /// Times of records are believed if they are not later than the present, or only by a generation of
    /// the window: clocks differ.
    pub(super) fn believe_times(&mut self, now: Now, window: Option<Window>) {
        if let (Some(times), Some(window)) = (self.keys.times(), window) {
            times.believe(now, window.step());
        }
    }

    /// Looks at all inputs, and at the headers of those that are CSV files.
    pub(super) fn survey(&self, mixing: Mixing) -> Result<Survey, Failure> {
        let faults = if self.until == Until::End { Faults::AtOnce } else { Faults::InTurn };
        let inputs = self.inputs.survey(faults)?;
        if let (Some(headers), Faults::AtOnce) = (self.headers(mixing), faults) {
            let (stop, consumed) = (Arc::new(Stop::new()?), Arc::default());
            let (inputs, format) = (self.inputs.clone(), self.format.clone());
            BlockReader::new(inputs, format, Some(headers), stop, consumed).check_headers()?;
        }
        Ok(inputs)
    }

    /// What is to know about the headers of CSV inputs, if they have such.
    pub(super) fn headers(&self, mixing: Mixing) -> Option<Headers> {
        let columns = self.keys.csv().filter(|columns| columns.need_header())?;
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
        matches!(self.on_missing, None | Some(OnMissing::Keep))
    }

    /// What an output of these records needs to know, beside the run's own files.
    pub(super) fn opening<'a>(&'a self, inputs: &'a Survey, own: &'a OwnFiles) -> Opening<'a> {
        Opening { separator: &self.format.separator, inputs, own }
    }
}
