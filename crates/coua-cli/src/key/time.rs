//! The time that stands in a record.

use crate::clock::{Now, TimeSyntax};
use crate::key::finder::Finder;
use crate::key::parts::{Missing, Parts};

/// Bytes of a broken time that are shown.
const SHOWN: usize = 40;

/// Finds and reads the times of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// It has a finder of its own, whose parts belong together, with blanks between them; else the key's finder finds
    /// it after the key.
    finder: Option<Finder>,
    syntax: TimeSyntax,
    parts: Parts,
    text: Vec<u8>,
    now: Now,
    /// How much later than the present a time may be, in milliseconds.
    ahead: u64,
    /// The latest time that is believed.
    latest: u64,
}

impl Times {
    pub(crate) fn new(finder: Option<Finder>, syntax: TimeSyntax) -> Self {
        Self { finder, syntax, ..Self::default() }
    }

    /// Times up to `ahead` milliseconds after the present are believed.
    pub(crate) fn believe(&mut self, now: Now, ahead: u64) {
        (self.now, self.ahead) = (now, ahead);
    }

    /// Looks at the clock.
    pub(crate) fn look_up(&mut self) {
        self.latest = self.now.millis().saturating_add(self.ahead);
    }

    /// The time of a record, of which the key's finder has found `parts`.
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<u64, Missing> {
        self.text.clear();
        match &mut self.finder {
            None => parts.pop(&mut self.text)?,
            Some(finder) => {
                self.parts.clear();
                finder.find(record, &mut self.parts)?;
                if let Some((_, why)) = self.parts.absent.pop() {
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
        match self.syntax.parse(&self.text, self.latest) {
            Some(time) if time <= self.latest => Ok(time),
            Some(_) => Err(Missing::TimeAhead(self.shown())),
            None => Err(Missing::Time(self.shown())),
        }
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        if text.chars().count() <= SHOWN {
            return text.into_owned();
        }
        text.chars().take(SHOWN).chain("...".chars()).collect()
    }
}
