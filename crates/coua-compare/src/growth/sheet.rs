//! The tables of growth, and the charts drawn from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::course::Course;
use crate::contestant::Way;
use crate::markdown::{Table, cell, short};
use crate::measure::{Summary, median};
use crate::terms::Absent;
use crate::warmth::Touches;

/// A contestant's figures over all rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(super) name: String,
    remark: String,
    /// See [`Rounds::fills_up`].
    pub(super) fills_up: bool,
    /// Nanoseconds an insert over the whole way.
    nanoseconds: Summary,
    /// The most bits an item after the first tenth.
    most_bits_per_key: f64,
    bits_per_key: f64,
    /// See [`Course::step`]; the most of the rounds.
    largest_step_bytes: f64,
    resident_bytes: f64,
    peak_bytes: f64,
    rate: f64,
    lost: u64,
    refused: u64,
    /// The longest single insert; none for those that work on blocks.
    longest_nanoseconds: Option<f64>,
    /// At the end of each window: items, nanoseconds, bytes.
    pub(super) windows: Vec<(u64, f64, f64)>,
    /// Longest single insert up to so many items.
    pub(super) longest_so_far: Vec<(u64, f64)>,
}

/// What all rounds of one contestant have given.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// See [`Line`].
    pub(crate) name: &'static str,
    /// See [`Line`].
    pub(crate) remark: &'static str,
    /// What is inserted takes a place of its own, so that the last ones are hard to find.
    pub(crate) fills_up: bool,
    /// One a round.
    pub(crate) courses: Vec<Course>,
    /// Longest inserts of groups, the least over the rounds.
    pub(crate) longest: Vec<f64>,
    /// Inserts in a group.
    pub(crate) group: u64,
}

impl Rounds {
    /// Takes the lesser, group by group.
    pub(crate) fn add_longest(&mut self, groups: Vec<f64>) {
        if self.longest.is_empty() {
            self.longest = groups;
        } else {
            self.longest.iter_mut().zip(groups).for_each(|(known, new)| *known = known.min(new));
        }
    }

    fn windows(&self, ends: &[u64]) -> Vec<(u64, f64, f64)> {
        let across = |place: usize, of: fn(&Course) -> &Vec<f64>| {
            median(&self.courses.iter().map(|course| of(course)[place]).collect::<Vec<_>>())
        };
        let window =
            |(place, &end)| (end, across(place, |c| &c.windows), across(place, |c| &c.memory));
        ends.iter().enumerate().map(window).collect()
    }

    fn longest_so_far(&self) -> Vec<(u64, f64)> {
        let mut so_far: Vec<(u64, f64)> = Vec::new();
        for (place, &longest) in self.longest.iter().enumerate() {
            if so_far.last().is_none_or(|&(_, known)| longest > known) {
                so_far.push((place as u64 * self.group + self.group, longest));
            }
        }
        if let (Some(&(_, most)), groups) = (so_far.last(), self.longest.len() as u64) {
            so_far.push((groups * self.group, most));
        }
        so_far
    }

    /// Summarises; `reference` are the times of another contestant in the same rounds.
    pub(crate) fn line(&self, ends: &[u64], reference: Option<&[f64]>) -> Option<Line> {
        let last = self.courses.last()?;
        let windows = self.windows(ends);
        let items = *ends.last()?;
        let bits = |&(end, _, bytes): &(u64, f64, f64)| bytes * 8.0 / end as f64;
        let late = windows.iter().filter(|window| window.0 >= items / 10);
        let longest_so_far = self.longest_so_far();
        Some(Line {
            name: self.name.to_owned(),
            remark: self.remark.to_owned(),
            fills_up: self.fills_up,
            nanoseconds: Summary::new(&self.means(), reference),
            most_bits_per_key: late.map(bits).fold(0.0, f64::max),
            bits_per_key: windows.last().map_or(0.0, bits),
            largest_step_bytes: self.courses.iter().map(|c| c.step).fold(0.0, f64::max),
            resident_bytes: last.resident,
            peak_bytes: last.peak,
            rate: last.rate,
            lost: last.lost,
            refused: last.refused,
            longest_nanoseconds: longest_so_far.last().map(|&(_, longest)| longest),
            windows,
            longest_so_far,
        })
    }

    /// Nanoseconds an insert, one a round.
    pub(crate) fn means(&self) -> Vec<f64> {
        self.courses.iter().map(|course| course.mean).collect()
    }
}

/// One way of filling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Filling {
    /// Which one.
    pub(crate) way: Way,
    /// The contestants.
    pub(crate) lines: Vec<Line>,
    /// Those that did not run, and why.
    pub(crate) absent: Absent,
}

/// All ways of filling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    /// Items at the end.
    pub(crate) items: u64,
    /// The rate asked for.
    pub(crate) rate: f64,
    /// Stated, ready, growing.
    pub(crate) fillings: Vec<Filling>,
    /// What new memory costs.
    #[serde(default)]
    pub(crate) touches: Option<Touches>,
}

impl Filling {
    fn table(&self) -> Table {
        let mut heads = vec!["contestant", "ns an insert"];
        heads.extend(if self.way == Way::Growing {
            ["longest insert, us", "bits/key", "most bits/key", "largest step - 1 %, MiB"]
        } else {
            ["0 to 50 %", "80 to 90 %", "90 to 99 %", "the last 1 %"]
        });
        heads.extend(["grown by, MiB", "peak, MiB", "rate", "lost", "refused"]);
        let mut table = Table::new(heads);
        for line in &self.lines {
            let mut cells = vec![line.name.clone(), cell(Some(&line.nanoseconds))];
            cells.extend(if self.way == Way::Growing {
                line.growth_cells()
            } else {
                line.load_cells()
            });
            cells.extend([mebibytes(line.resident_bytes), mebibytes(line.peak_bytes)]);
            cells.extend([short(line.rate), line.lost.to_string(), line.refused.to_string()]);
            table.row(cells);
        }
        table
    }
}

impl Line {
    fn growth_cells(&self) -> [String; 4] {
        [
            self.longest_nanoseconds.map_or("-".into(), |longest| short(longest / 1e3)),
            short(self.bits_per_key),
            short(self.most_bits_per_key),
            mebibytes(self.largest_step_bytes),
        ]
    }

    /// Windows are hundredths.
    fn load_cells(&self) -> [String; 4] {
        [(0, 50), (80, 90), (90, 99), (99, 100)].map(|(from, to)| {
            let times: Vec<f64> = self.windows[from..to].iter().map(|window| window.1).collect();
            short(times.iter().sum::<f64>() / times.len() as f64)
        })
    }
}

fn mebibytes(bytes: f64) -> String {
    short(bytes / f64::from(1 << 20))
}

impl Way {
    /// A heading.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stated => "at a stated capacity",
            Self::Ready => "able to grow, with room from the start",
            Self::Growing => "growing from small",
        }
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for filling in &self.fillings {
            let of = match filling.way {
                Way::Growing => {
                    "the same contestant with room from the start (and the same hash bits, if it is \
                     in that table; else at a stated capacity)"
                }
                Way::Ready | Way::Stated => "`coua`",
            };
            let (items, rate, way) = (self.items, self.rate, filling.way.name());
            writeln!(out, "### Inserts {way}: {items} u64 keys, rate asked {rate}\n")?;
            writeln!(out, "ns an insert: median, half the spread, ratio to {of}.\n\n{filling}")?;
        }
        if let Some(touches) = self.touches {
            writeln!(out, "{touches}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Filling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.table())?;
        for line in &self.lines {
            writeln!(out, "- {}: {}", line.name, line.remark)?;
        }
        for (name, reason) in &self.absent {
            writeln!(out, "- {name}: not run, {reason}")?;
        }
        Ok(())
    }
}
