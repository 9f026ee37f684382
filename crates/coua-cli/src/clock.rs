//! The present, and parsing and formatting of times and durations.

use crate::terminal::{Failure, Result};
use coua::window::{AgeFrom, Clock, Generations, Window};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::fmt::{strtime, temporal::DateTimeParser};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, SpanRelativeTo, SpanRound, Timestamp, Unit};
use serde::Serialize;
use std::ffi::OsStr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

static PARSER: DateTimeParser = DateTimeParser::new();

/// The units of plain numbers: those below 10^11 are seconds (to the year 5138), then come milliseconds (from 1973 on),
/// microseconds and nanoseconds. Each with its number per millisecond.
const UNITS: [(f64, f64); 4] = [(1e11, 1e-3), (1e14, 1.0), (1e17, 1e3), (f64::INFINITY, 1e6)];

/// Numbers below this one (seconds before 1973) are no times unless their unit is given: they are dates such as 20261121,
/// years, or days of spreadsheets.
const LEAST: f64 = 1e8;

/// Formats of dates that are written as a number, each with an example.
const DATES: [(&str, &str); 3] =
    [("20261121", "%Y%m%d"), ("202611210400", "%Y%m%d%H%M"), ("20261121040000", "%Y%m%d%H%M%S")];

/// How many years ago a date without a year may be: a 29th of February is at most eight years old.
const YEARS_BACK: i16 = 8;

static STATED: OnceLock<u64> = OnceLock::new();

/// Sets the present to the time in `text`, the value of the environment variable `name`.
pub(crate) fn set_present(name: &str, text: &OsStr) -> Result<()> {
    let formats = [TimeFormat::Number(1e-3), TimeFormat::Rfc3339];
    let mut times = formats.iter().filter_map(|it| it.parse(text.as_encoded_bytes(), u64::MAX));
    let time = times.next().ok_or_else(|| {
        let reason =
            "expected a time such as 2026-11-21T04:00:00Z, or a number of seconds since 1970";
        Failure::at(name, reason)
    })?;
    STATED.get_or_init(|| time);
    Ok(())
}

/// The present in milliseconds since 1970: the system's clock, unless a test sets it.
pub(crate) fn present() -> u64 {
    STATED.get().copied().unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The time to set in a filter, if its window uses the system's clock.
pub(crate) fn time_for(filter: &Generations) -> Option<u64> {
    let clock = filter.window()?.clock();
    (clock == Clock::Arrival).then(present)
}

/// Sets the clock of a filter that is not saved: items that left its window are forgotten.
pub(crate) fn advance(filter: &mut Generations) {
    if let Some(time) = time_for(filter) {
        filter.advance(time);
    }
}

/// The format of the time in a record. A time without an offset is in UTC.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TimeFormat {
    /// RFC 3339, or a number since 1970 whose size determines its unit.
    #[default]
    Any,
    Rfc3339,
    /// The time since 1970 in a unit; this many units are a millisecond.
    Number(f64),
    /// A `strptime` format.
    Pattern(String),
}

impl TimeFormat {
    /// Parses a format of the command line.
    pub(crate) fn named(text: &str) -> Result<Self, String> {
        Ok(match text {
            "rfc3339" => Self::Rfc3339,
            "seconds" | "s" => Self::Number(1e-3),
            "milliseconds" | "ms" => Self::Number(1.0),
            "microseconds" | "us" => Self::Number(1e3),
            "nanoseconds" | "ns" => Self::Number(1e6),
            pattern if pattern.contains('%') => {
                let afternoon = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(16);
                let some_time = afternoon.to_zoned(TimeZone::UTC);
                let wrong = |error| format!("invalid time format: {error}");
                let example = strtime::format(pattern, &some_time).map_err(wrong)?;
                let found = strtime::parse(pattern, &example).map_err(|error| {
                    format!("cannot read times of this format: {error}; write UTC in place of %Z, or %z for offsets")
                })?;
                if found.iana_time_zone().is_some() {
                    return Err("cannot read the names of zones; write UTC in place of %Q, or %z for offsets".to_owned());
                }
                let format = Self::Pattern(pattern.into());
                let time = format.parse(example.as_bytes(), since_1970(afternoon).unwrap_or(0));
                let time = time.ok_or("a time format needs a month and a day")?;
                let is_morning = Duration::from_millis(time).as_secs() / 3600 == 4;
                (!is_morning).then_some(format).ok_or("hours of 12 (%I) need %p")?
            }
            _ => {
                return Err(
                    "expected rfc3339, seconds, milliseconds, microseconds, nanoseconds, or a \
                            format with %"
                        .to_owned(),
                );
            }
        })
    }

    /// Milliseconds since 1970. A date without a year is in the last year in which it is not after `latest`.
    pub(crate) fn parse(&self, text: &[u8], latest: u64) -> Option<u64> {
        let text = text.trim_ascii();
        match self {
            Self::Any => match number(text) {
                Some(number) if number < LEAST || date_format(text).is_some() => None,
                Some(number) => {
                    let (_, unit) = UNITS.iter().find(|(end, _)| number < *end)?;
                    millis(number / unit)
                }
                None => rfc_3339(text),
            },
            Self::Number(unit) => millis(number(text)? / unit),
            Self::Rfc3339 => rfc_3339(text),
            Self::Pattern(pattern) => {
                let mut found = strtime::parse(pattern.as_bytes(), text).ok()?;
                found.set_offset(Some(found.offset().unwrap_or(Offset::UTC)));
                match found.to_timestamp() {
                    Ok(time) => since_1970(time),
                    Err(_) if found.year().is_none() => in_last_year(found, latest),
                    Err(_) => None,
                }
            }
        }
    }

    /// What to do about a text that is not a time.
    pub(crate) fn advice(&self, text: &[u8]) -> String {
        if *self != Self::Any {
            return "; it is not in the --time-format".to_owned();
        }
        let is_early = number(text).is_some_and(|number| number < LEAST);
        let format = match date_format(text) {
            Some(format) => format!(" {format}"),
            None if is_early => " seconds, if it is in 1970 to 1973".to_owned(),
            None => String::new(),
        };
        format!("; set --time-format{format}")
    }
}

fn rfc_3339(text: &[u8]) -> Option<u64> {
    match PARSER.parse_timestamp(text) {
        Ok(time) => since_1970(time),
        // The name of a zone says that the time is not in UTC.
        Err(_) if text.contains(&b'[') => None,
        Err(_) => since_1970(Offset::UTC.to_timestamp(PARSER.parse_datetime(text).ok()?).ok()?),
    }
}

fn in_last_year(mut found: BrokenDownTime, latest: u64) -> Option<u64> {
    let latest_time = Timestamp::from_millisecond(i64::try_from(latest).ok()?).ok()?;
    let this = Offset::UTC.to_datetime(latest_time).year();
    (this.saturating_sub(YEARS_BACK)..=this).rev().find_map(|year| {
        found.set_year(Some(year)).ok()?;
        since_1970(found.to_timestamp().ok()?).filter(|time| *time <= latest)
    })
}

/// The format of a date that is written as a number, if it can be one of the 20th or 21st century.
fn date_format(text: &[u8]) -> Option<&'static str> {
    let (_, format) = DATES.into_iter().find(|(example, _)| example.len() == text.len())?;
    let is_date =
        strtime::parse(format, text).is_ok() && matches!(text, [b'1', b'9', ..] | [b'2', b'0', ..]);
    is_date.then_some(format)
}

fn since_1970(time: Timestamp) -> Option<u64> {
    u64::try_from(time.as_millisecond()).ok()
}

/// Parses digits with an optional fraction. Until the year 9999 a float is exact to a millisecond.
fn number(text: &[u8]) -> Option<f64> {
    let is_plain = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    std::str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()
}

fn millis(number: f64) -> Option<u64> {
    (number < 1e15).then_some(number.round() as u64)
}

/// Parses seconds: `5`, `0.5`, `5s`.
pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    time.ok_or("expected a number of seconds, such as 5 or 0.5")
}

/// Parses a duration, to milliseconds: `7d`, `36h`, `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<u64, &'static str> {
    let span: Option<Span> = text.parse().ok();
    let length = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let millis = length.and_then(|length| u64::try_from(length.as_millis()).ok());
    millis
        .filter(|millis| *millis > 0)
        .ok_or("expected a duration such as 7d, 36h, 90m or 1d 12h (weeks are the longest unit)")
}

/// Formats a time for people and programs.
pub(crate) fn moment_text(millis: u64) -> String {
    let time =
        i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.map_or_else(|| format!("{millis} ms after 1970"), |time| time.to_string())
}

/// Formats a duration for people.
pub(crate) fn duration_text(millis: u64) -> String {
    let length = i64::try_from(millis).ok().map(SignedDuration::from_millis);
    let days = SpanRound::new().largest(Unit::Day).days_are_24_hours();
    let span = length.and_then(|length| Span::try_from(length).ok()?.round(days).ok());
    span.map_or_else(|| format!("{millis} ms"), |span| format!("{span:#}"))
}

/// Formats a window for people.
pub(crate) fn window_text(window: Window) -> String {
    let (length, parts) = (window.length(), window.generations());
    let length = match window.clock() {
        Clock::Count => format!("{length} items"),
        Clock::Arrival | Clock::Given => duration_text(length),
    };
    let since = match window.age_from() {
        AgeFrom::FirstSeen => "",
        AgeFrom::LastSeen => " since last seen,",
    };
    format!("{length}{since} in {parts} generations")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let day = 86_400_000;
        for (text, millis) in [
            ("7d", 7 * day),
            ("36h", day * 3 / 2),
            ("1d 12h", day * 3 / 2),
            ("90m", day / 16),
            ("2 weeks", 14 * day),
            ("1500ms", 1500),
        ] {
            assert_eq!(duration(text), Ok(millis), "{text}");
        }
        for text in ["", "0s", "7", "-1h", "1 month", "1y", "d", "99999999999999w"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!([7 * day, day / 8, 1500].map(duration_text), ["7d", "3h", "1s 500ms"]);
    }

    #[test]
    fn times_in_records() {
        let any = |text: &str| TimeFormat::default().parse(text.as_bytes(), u64::MAX);
        for text in [
            "2026-11-21T04:00:00Z",
            "2026-11-21T05:00:00+01:00",
            "2026-11-22T03:59:00+23:59",
            "2026-11-21T00:00:00-04[America/Port-au-Prince]",
            "2026-11-21 04:00:00",
            " 2026-11-21T04:00:00.0004Z ",
            "1795233600",
            "1795233600.0",
            "1795233600000",
            "1795233600000000",
            "1795233600000000000",
        ] {
            assert_eq!(any(text), Some(1_795_233_600_000), "{text}");
        }
        assert_eq!(any("1795233600.123"), Some(1_795_233_600_123));
        for text in [
            "",
            ".",
            "yesterday",
            "-5",
            "1e9",
            "1969-12-31T23:59:59Z",
            "2026-11-21T18:00:00[America/New_York]",
            "2026-11-21T18:00:00[Mars/Olympus]",
            "2026-13-01T00:00:00Z",
            "nan",
            "9999999999999999999999",
            "2026",
            "45990.5",
            "20261121",
            "19991231",
            "202611210400",
            "20261121040000",
        ] {
            assert_eq!(any(text), None, "{text}");
        }
        for text in ["100000000", "220011210400", "202613210400"] {
            assert!(any(text).is_some(), "{text}");
        }
        assert_eq!(moment_text(1_795_233_600_123), "2026-11-21T04:00:00.123Z");
        assert_eq!(moment_text(u64::MAX), format!("{} ms after 1970", u64::MAX));
    }

    #[test]
    fn named_formats() {
        let parse = |format: &str, text: &str| {
            let format = TimeFormat::named(format).unwrap();
            format.parse(text.as_bytes(), u64::MAX)
        };
        assert_eq!(parse("seconds", "200000000000"), Some(200_000_000_000_000));
        assert_eq!(parse("milliseconds", "5"), Some(5));
        assert_eq!(parse("us", "5000"), Some(5));
        assert_eq!(parse("nanoseconds", "5000000"), Some(5));
        assert_eq!(parse("rfc3339", "5"), None);
        let apache = "%d/%b/%Y:%H:%M:%S %z";
        assert_eq!(parse(apache, "10/Oct/2000:13:55:36 -0700"), Some(971_211_336_000));
        assert_eq!(parse("%Y%m%d", "20261121"), Some(1_795_219_200_000));
        assert_eq!(parse(apache, "11/Oct/2000:20:54:36 +2359"), Some(971_211_336_000));
        for (text, format) in DATES {
            assert_eq!(
                parse(format, text).map(|time| time % 86_400_000 / 3_600_000),
                Some(if format.contains("%H") { 4 } else { 0 })
            );
            let advice = TimeFormat::default().advice(text.as_bytes());
            assert_eq!(advice, format!("; set --time-format {format}"));
        }
        for text in [
            "iso",
            "%",
            "%Q%!",
            "",
            "%H:%M",
            "%Y-%m-%d %H:%M:%S %Z",
            "%Y-%m-%d %Q",
            "%Y-%m-%d %:Q",
            "%Y-%m-%d %I:%M",
        ] {
            assert!(TimeFormat::named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_without_an_offset_or_a_year() {
        let format = |format: &str| TimeFormat::named(format).unwrap();
        let plain = "%Y-%m-%d %H:%M";
        assert_eq!(format(plain).parse(b"1970-01-01 01:00", 0), Some(3_600_000));
        assert_eq!(format("rfc3339").parse(b"1970-01-01T01:00:00", 0), Some(3_600_000));
        let latest = TimeFormat::default().parse(b"2026-03-01T00:00:00Z", u64::MAX).unwrap();
        let syslog = format("%b %d %H:%M:%S");
        for (text, time) in [
            ("Feb 28 23:59:59", "2026-02-28T23:59:59Z"),
            ("Mar  1 00:00:00", "2026-03-01T00:00:00Z"),
            ("Mar 01 00:00:01", "2025-03-01T00:00:01Z"),
            ("Dec 31 10:00:00", "2025-12-31T10:00:00Z"),
            ("Feb 29 10:00:00", "2024-02-29T10:00:00Z"),
        ] {
            assert_eq!(
                syslog.parse(text.as_bytes(), latest),
                TimeFormat::default().parse(time.as_bytes(), u64::MAX),
                "{text}"
            );
        }
        assert_eq!(syslog.parse(b"Feb 30 10:00:00", latest), None);
    }
}
