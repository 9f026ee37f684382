//! Where the key and the time are in a record.

use super::block_keys::{Missing, Parts};
use super::{csv, fields, json, regex};
use crate::clock::{self, TimeFormat};

/// Where the key is in a record.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Record,
    Fields(fields::Fields),
    Csv(Box<csv::Columns>),
    Json(json::Pointers),
    Regex(regex::Pattern),
}

impl Finder {
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        match self {
            Self::Record => parts.push(record),
            Self::Fields(fields) => fields.find(record, parts),
            Self::Csv(columns) => columns.find(record, parts),
            Self::Json(pointers) => return pointers.find(record, parts),
            Self::Regex(pattern) => pattern.find(record, parts),
        }
        Ok(())
    }

    /// Whether it always finds exactly one part.
    pub(super) fn finds_one_part(&self) -> bool {
        !match self {
            Self::Fields(fields) => fields.is_open(),
            Self::Csv(columns) => columns.are_open(),
            _ => false,
        }
    }

    /// The number of parts of every key; 0 if it differs.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Record => 1,
            Self::Fields(fields) => fields.parts(),
            Self::Csv(columns) => columns.parts(),
            Self::Json(pointers) => pointers.parts(),
            Self::Regex(pattern) => pattern.parts(),
        }
    }

    /// Whether an empty part counts as missing; an empty record, row or group does not.
    pub(super) fn finds_values(&self) -> bool {
        match self {
            Self::Csv(columns) => !columns.are_all_but_some(),
            Self::Fields(_) | Self::Json(_) => true,
            Self::Record | Self::Regex(_) => false,
        }
    }
}

/// Bytes of a broken time that are shown.
const SHOWN: usize = 40;

/// Finds and reads the times of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// Finds the time, whose parts are joined with blanks; if there is none, the key's finder returns the time after
    /// the key.
    finder: Option<Finder>,
    format: TimeFormat,
    parts: Parts,
    text: Vec<u8>,
    /// How far after the present a time may be, in milliseconds.
    ahead: u64,
    /// The latest time that is accepted.
    latest: u64,
}

impl Times {
    pub(crate) fn new(finder: Option<Finder>, format: TimeFormat) -> Self {
        Self { finder, format, ..Self::default() }
    }

    /// Accepts times up to `ahead` milliseconds after the present.
    pub(crate) fn believe(&mut self, ahead: u64) {
        self.ahead = ahead;
    }

    /// Reads the clock.
    pub(crate) fn look_up(&mut self) {
        self.latest = clock::present().saturating_add(self.ahead);
    }

    /// The time of a record in which the key's finder has found `parts`.
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<u64, Missing> {
        self.text.clear();
        match &mut self.finder {
            None => parts.pop(&mut self.text)?,
            Some(finder) => {
                self.parts.clear();
                finder.find(record, &mut self.parts)?;
                if let Some((_, why)) = self.parts.absent.take() {
                    return Err(why);
                }
                for part in self.parts.iter() {
                    if !self.text.is_empty() {
                        self.text.push(b' ');
                    }
                    self.text.extend_from_slice(part);
                }
            }
        }
        let time = self.format.parse(&self.text, self.latest);
        if let Some(time) = time.filter(|time| *time <= self.latest) {
            return Ok(time);
        }
        let (shown, advice) = (self.shown(), self.format.advice(&self.text));
        Err(Missing::Time(match time {
            Some(_) => format!("its time \"{shown}\" is in the future"),
            None => format!("cannot read the time \"{shown}\"{advice}"),
        }))
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let rest = if text.chars().count() > SHOWN { "..." } else { "" };
        text.chars().take(SHOWN).chain(rest.chars()).flat_map(char::escape_debug).collect()
    }
}
