//! The expected result of a command line: a simple model of the commands for records.

use crate::random_records::{Format, Input, Key, KeyRules, Kind, Normalize, Row};
use std::collections::{HashMap, HashSet};
use std::iter::zip;

#[derive(Debug)]
pub(crate) enum Act {
    Dedup(Dedup),
    Add {
        is_unique: bool,
    },
    Remove,
    /// Only the number of records.
    Check {
        is_inverted: bool,
        counts: bool,
    },
    Count,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Dedup {
    pub(crate) keep: Option<&'static str>,
    pub(crate) counts: bool,
    pub(crate) repeats: bool,
    pub(crate) appends: bool,
    pub(crate) has_filter: bool,
    pub(crate) output: Option<String>,
}

/// A command line, as the model needs it.
pub(crate) struct Step {
    pub(crate) act: Act,
    pub(crate) inputs: Vec<Input>,
    pub(crate) known: Option<Input>,
    /// Whether a known file is a filter.
    pub(crate) knows_filter: bool,
    pub(crate) reads_stdin: bool,
    /// Whether an invalid option was added.
    pub(crate) is_spoiled: bool,
    pub(crate) rules: KeyRules,
    pub(crate) on_missing: Option<&'static str>,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Vec<u8>,
}

/// The content of a file, or of standard output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sink {
    pub(crate) bytes: Vec<u8>,
    /// Whether its header, if any, begins with a column for numbers.
    is_counted: bool,
}

/// The result of a run.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    /// Standard output is `-`. Empty for a refused run.
    pub(crate) sinks: HashMap<String, Sink>,
    pub(crate) figures: HashMap<&'static str, u64>,
    /// The content of the filter file afterwards.
    pub(crate) copies: Option<Copies>,
}

type Copies = HashMap<Key, u64>;

/// The state before a command line runs.
pub(crate) struct Model {
    pub(crate) format: Format,
    /// The filter file, once it exists: the copies of each key, and its normalizers.
    pub(crate) copies: Option<Copies>,
    pub(crate) normalize: Normalize,
    pub(crate) sinks: HashMap<String, Sink>,
}

/// A record that was read.
struct Item<'s> {
    row: &'s Row,
    key: Option<Key>,
    /// Whether it is the first header, or before it.
    is_first_header: bool,
}

/// All records read, up to the one that ends the run, and the resulting exit code.
struct Items<'s> {
    all: Vec<Item<'s>>,
    code: i32,
}

impl Step {
    /// The name of the main output; standard output is `-`.
    pub(crate) fn main(&self) -> String {
        let Act::Dedup(Dedup { output, .. }) = &self.act else { return "-".to_owned() };
        output.clone().unwrap_or("-".to_owned())
    }

    /// The names of its output files.
    pub(crate) fn files(&self) -> Vec<String> {
        Vec::from_iter(Some(self.main()).filter(|name| name != "-"))
    }

    pub(crate) fn uses_filter(&self) -> bool {
        !matches!(&self.act, Act::Dedup(dedup) if !dedup.has_filter)
    }
}

impl Sink {
    fn push(&mut self, prefix: &str, item: &Item, end: &str) {
        self.bytes.extend([prefix, &item.row.text, end].concat().bytes());
    }
}

impl Items<'_> {
    /// The records that are not headers.
    fn data(&self) -> impl Iterator<Item = &Item<'_>> {
        self.all.iter().filter(|item| item.row.kind == Kind::Data)
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.all.iter().filter_map(|item| item.key.as_ref())
    }
}

/// The outcome of a refused run: nothing changes.
fn refused() -> Outcome {
    Outcome { code: 2, ..Outcome::default() }
}

impl Model {
    pub(crate) fn expected(&self, step: &Step) -> Outcome {
        let uses_filter = step.uses_filter();
        let makes_filter = matches!(step.act, Act::Dedup(_) | Act::Add { .. });
        if step.is_spoiled || uses_filter && self.copies.is_none() && !makes_filter {
            return refused();
        }
        let rules = self.rules(step);
        if ![Normalize::default(), rules.normalize].contains(&step.rules.normalize) {
            return refused();
        }
        let items = self.read(&step.inputs, step.on_missing, rules);
        let copies = self.copies.clone().filter(|_| uses_filter).unwrap_or_default();
        let mut outcome = match &step.act {
            Act::Dedup(dedup) => {
                let on_missing = if step.knows_filter { Some("drop") } else { step.on_missing };
                let known = self.read(step.known.as_slice(), on_missing, rules);
                let is_twice = dedup.keep.is_some_and(|keep| keep != "first") || dedup.counts;
                let fails = dedup.has_filter || items.code == 2;
                if known.code == 2 || is_twice && fails {
                    return refused();
                }
                if dedup.has_filter && !dedup.appends && self.would_empty(step) {
                    return refused();
                }
                let Some(sinks) = self.opened(step, dedup, &items) else { return refused() };
                let (seen, copies) = seen(dedup, &items, &known.keys().collect(), copies);
                self.printed(step, dedup, &items, &seen, sinks, copies)
            }
            _ => self.asked(step, &items, copies),
        };
        let without_key = items.data().filter(|item| item.key.is_none()).count() as u64;
        outcome
            .figures
            .extend([("records", items.data().count() as u64), ("without_key", without_key)]);
        outcome.code = outcome.code.max(items.code);
        outcome.copies =
            if uses_filter && outcome.code != 2 { outcome.copies } else { self.copies.clone() };
        outcome
    }

    /// The normalizers are those of the filter, once it exists. If it has no items, a command that changes it may give
    /// others.
    pub(crate) fn rules(&self, step: &Step) -> KeyRules {
        let is_asked_only = matches!(step.act, Act::Check { .. } | Act::Count);
        let is_given = step.rules.normalize != Normalize::default() && !is_asked_only;
        match &self.copies {
            Some(copies)
                if step.uses_filter() && !(is_given && copies.values().all(|n| *n == 0)) =>
            {
                KeyRules { normalize: self.normalize, ..step.rules }
            }
            _ => step.rules,
        }
    }

    fn read<'s>(
        &self,
        inputs: &'s [Input],
        on_missing: Option<&str>,
        rules: KeyRules,
    ) -> Items<'s> {
        let (mut items, mut had_header) = (Items { all: Vec::new(), code: 0 }, false);
        for input in inputs {
            for row in &input.rows {
                let is_data = row.kind == Kind::Data;
                let key = is_data.then(|| rules.key(&self.format, row)).flatten();
                if is_data && key.is_none() && on_missing == Some("error") {
                    return Items { code: 2, ..items };
                }
                let is_first_header = !is_data && !had_header;
                had_header |= row.kind == Kind::Header;
                items.all.push(Item { row, key, is_first_header });
            }
        }
        let has_no_key = items.data().next().is_some() && items.keys().next().is_none();
        items.code = if has_no_key && on_missing.is_none() { 2 } else { 0 };
        items
    }

    /// The outcome of the commands that use a filter.
    fn asked(&self, step: &Step, items: &Items, mut copies: Copies) -> Outcome {
        let (mut sink, mut yes, mut no, mut printed) = (Sink::default(), 0, 0, 0);
        for item in &items.all {
            let count = item.key.as_ref().map(|key| *copies.get(key).unwrap_or(&0));
            let number = count.unwrap_or(0);
            let is_left_out = item.key.is_none() && step.on_missing == Some("drop");
            let prints = match &step.act {
                act if item.row.kind == Kind::Comment => !matches!(act, Act::Count),
                _ if item.row.kind != Kind::Data => {
                    item.is_first_header && !matches!(step.act, Act::Count)
                }
                _ if is_left_out => false,
                Act::Add { .. } | Act::Remove => false,
                Act::Check { is_inverted, .. } => (number == 0) == *is_inverted,
                _ => true,
            };
            printed += u64::from(prints && item.row.kind == Kind::Data);
            if prints {
                let prefix =
                    if let Act::Count = step.act { format!("{number}\t") } else { String::new() };
                sink.push(&prefix, item, self.format.end);
            }
            let Some(key) = &item.key else { continue };
            *if number > 0 { &mut yes } else { &mut no } += 1;
            let change = match step.act {
                Act::Add { is_unique } => i64::from(!is_unique || number == 0),
                Act::Remove => -i64::from(number > 0),
                _ => 0,
            };
            *copies.entry(key.clone()).or_default() = number.strict_add_signed(change);
        }
        let added = if let Act::Add { is_unique: true } = step.act { no } else { yes + no };
        let figures = match step.act {
            Act::Add { .. } => HashMap::from([("added", added)]),
            Act::Remove => HashMap::from([("removed", yes), ("not_found", no)]),
            _ => HashMap::from([("found", yes), ("not_found", no)]),
        };
        let number = format!("{printed}\n").into_bytes();
        let bytes = match step.act {
            Act::Check { counts: true, .. } if items.code == 0 => number,
            Act::Check { counts: false, .. } | Act::Count => sink.bytes,
            _ => Vec::new(),
        };
        let sinks = HashMap::from([(step.main(), Sink { bytes, ..Sink::default() })]);
        let code = i32::from(matches!(step.act, Act::Check { .. }) && printed == 0);
        Outcome { code, sinks, figures, copies: Some(copies) }
    }

    /// Whether an output has content, and the filter holds items.
    fn would_empty(&self, step: &Step) -> bool {
        let has_content =
            |name: &String| self.sinks.get(name).is_some_and(|it| !it.bytes.is_empty());
        let has_items = self.copies.iter().flat_map(HashMap::values).any(|count| *count > 0);
        has_items && step.files().iter().any(has_content)
    }

    /// The outputs of `dedup` before anything is printed; `None` if one of them cannot be appended to.
    fn opened(&self, step: &Step, dedup: &Dedup, items: &Items) -> Option<HashMap<String, Sink>> {
        let has_header = items.all.iter().any(|item| item.row.kind == Kind::Header);
        let open = |name: &String| {
            let before = self.sinks.get(name).filter(|_| dedup.appends && name != "-");
            let sink = before.cloned().filter(|sink| !sink.bytes.is_empty());
            let sink = sink.unwrap_or(Sink { is_counted: dedup.counts, ..Sink::default() });
            (!has_header || sink.is_counted == dedup.counts).then(|| (name.clone(), sink))
        };
        [step.main()].iter().map(open).collect()
    }

    /// The outputs of `dedup`, if `seen` says which records are new.
    fn printed(
        &self,
        step: &Step,
        dedup: &Dedup,
        items: &Items,
        seen: &[Option<bool>],
        mut sinks: HashMap<String, Sink>,
        copies: Copies,
    ) -> Outcome {
        let mut totals: HashMap<&Key, u64> = HashMap::new();
        for key in items.keys() {
            *totals.entry(key).or_default() += 1;
        }
        let comma = if self.format.is_table() { self.format.separator } else { "\t" };
        for sink in sinks.values_mut() {
            let is_begun = !sink.bytes.is_empty();
            let wants_seen = dedup.repeats;
            for (item, seen) in zip(&items.all, seen) {
                let prints = match seen {
                    _ if item.row.kind == Kind::Comment => true,
                    _ if item.row.kind != Kind::Data => item.is_first_header && !is_begun,
                    None => !wants_seen && step.on_missing != Some("drop"),
                    Some(seen) => *seen == wants_seen,
                };
                let total = item.key.as_ref().map_or(1, |key| totals[key]);
                let prefix = match item.row.kind {
                    Kind::Data if dedup.counts => format!("{total}{comma}"),
                    Kind::Header if dedup.counts => format!("count{comma}"),
                    _ => String::new(),
                };
                if prints {
                    sink.push(&prefix, item, self.format.end);
                }
            }
        }
        let number = |wanted| seen.iter().flatten().filter(|seen| **seen == wanted).count() as u64;
        let figures = HashMap::from([("unique", number(false)), ("repeats", number(true))]);
        Outcome { code: 0, sinks, figures, copies: Some(copies) }
    }
}

/// Whether each record with a key counts as seen, and the content of the filter afterwards.
fn seen(
    dedup: &Dedup,
    items: &Items,
    known: &HashSet<&Key>,
    mut copies: Copies,
) -> (Vec<Option<bool>>, Copies) {
    let (mut left, mut total): (Copies, Copies) = Default::default();
    for key in items.keys() {
        *left.entry(key.clone()).or_default() += 1;
        *total.entry(key.clone()).or_default() += 1;
    }
    let mut is_seen = |key: &Key| {
        let left = left.get_mut(key).expect("it was counted");
        *left -= 1;
        let copies = copies.entry(key.clone()).or_default();
        let is_seen = known.contains(key)
            || match dedup.keep {
                Some("none") => total[key] > 1,
                Some("last") => *left > 0,
                _ => *copies > 0,
            };
        *copies += u64::from(!is_seen);
        is_seen
    };
    let seen = items.all.iter().map(|item| item.key.as_ref().map(&mut is_seen)).collect();
    (seen, copies)
}
