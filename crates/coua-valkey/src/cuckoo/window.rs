//! A window in the words of CF.RESERVE.

use coua::window::{Clock, Window};

use crate::parse::{Options, Range, integer, once};
use crate::refusal::Refusal;

/// Generations of a window if nothing is said: an item's age is told to 12.5 %.
const GENERATIONS: i64 = 8;
const MOST_GENERATIONS: Range = Range { least: 1, most: 1000, shown: "[1, 1000]" };
/// Milliseconds of the units of time.
const UNITS: [(&[u8], u64); 6] = [
    (b"ms", 1),
    (b"s", 1_000),
    (b"m", 60_000),
    (b"h", 3_600_000),
    (b"d", 86_400_000),
    (b"w", 604_800_000),
];

/// The options.
pub(super) const OPTIONS: [&str; 3] = ["WINDOW", "WINDOWITEMS", "GENERATIONS"];

/// What the words of a command say about a window.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    /// Milliseconds.
    length: Option<u64>,
    items: Option<u64>,
    generations: Option<i64>,
}

impl Words {
    /// Takes the value of one of the options.
    pub(super) fn take(
        &mut self,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), Refusal> {
        match option {
            "WINDOW" => {
                let length = milliseconds(options.value()?).ok_or(Refusal::Duration)?;
                once(&mut self.length, option, length)
            }
            "WINDOWITEMS" => {
                let items = integer(options.value()?).and_then(|items| u64::try_from(items).ok());
                once(&mut self.items, option, items.ok_or(Refusal::NotANumber(option))?)
            }
            _ => {
                let generations = options.number(option, &MOST_GENERATIONS)?;
                once(&mut self.generations, option, generations)
            }
        }
    }

    /// The window, if there is to be one.
    pub(super) fn window(&self) -> Result<Option<Window>, Refusal> {
        let (clock, length) = match (self.length, self.items) {
            (Some(_), Some(_)) => return Err(Refusal::Contradiction("WINDOW", "WINDOWITEMS")),
            (Some(length), None) => (Clock::Arrival, length),
            (None, Some(items)) => (Clock::Count, items),
            (None, None) if self.generations.is_some() => return Err(Refusal::NoWindow),
            (None, None) => return Ok(None),
        };
        let generations = self.generations.unwrap_or(GENERATIONS) as u32;
        let window = Window::new(clock, length, generations);
        window.map(Some).map_err(|error| Refusal::Impossible(error.to_string()))
    }
}

/// Says the words that describe a window.
pub(super) fn say(window: Window, words: &mut crate::parse::Words) {
    let length = window.length();
    match window.clock() {
        Clock::Count => words.say("WINDOWITEMS").say(length),
        Clock::Arrival | Clock::Given => words.say("WINDOW").say(format_args!("{length}ms")),
    };
    words.say("GENERATIONS").say(window.generations());
}

/// A length of time such as `7d`.
fn milliseconds(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = word.split_at(digits);
    let (_, millis) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    u64::try_from(integer(number)?).ok()?.checked_mul(*millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        for (word, millis) in [
            ("7d", 604_800_000),
            ("36H", 129_600_000),
            ("90s", 90_000),
            ("250ms", 250),
            ("2m", 120_000),
        ] {
            assert_eq!(milliseconds(word.as_bytes()), Some(millis), "{word}");
        }
        for word in ["", "7", "d", "-7d", "1.5h", "7 d", "7days", "99999999999999999w"] {
            assert_eq!(milliseconds(word.as_bytes()), None, "{word}");
        }
    }
}
