//! Time per key against the number of items.

use std::collections::BTreeMap;
use std::path::Path;

use super::sheet::Sheet;
use super::turn::Step;
use crate::chart::{Axis, Chart, Scale, Series};
use crate::keys::{Key, Text};
use crate::output::Failure;

/// What is drawn: step, name of the file, words of the title.
const STEPS: [(Step, &str, &str); 5] = [
    (Step::Insert, "insert", "Insert to the stated capacity"),
    (Step::Absent, "absent", "Look up absent keys"),
    (Step::Present, "present", "Look up present keys"),
    (Step::Remove, "remove", "Remove"),
    (Step::UniqueMixed, "unique", "Insert if absent, 57 % repeats"),
];

/// One chart for each step, kind of key and rate that was measured at two sizes or more.
///
/// # Errors
///
/// If a file cannot be written.
pub(crate) fn draw(directory: &Path, sheets: &[Sheet]) -> Result<(), Failure> {
    let mut groups: BTreeMap<String, Vec<&Sheet>> = BTreeMap::new();
    for sheet in sheets {
        let short = if sheet.keys == u64::NAME { u64::SHORT_NAME } else { Text::SHORT_NAME };
        groups.entry(format!("{short}-{}", sheet.rate)).or_default().push(sheet);
    }
    for (group, mut sheets) in groups.into_iter().filter(|(_, sheets)| sheets.len() > 1) {
        sheets.sort_by_key(|sheet| sheet.items);
        for (step, name, words) in STEPS {
            let path = directory.join(format!("filters-{group}-{name}.svg"));
            let title = format!("{words}; keys: {}; rate {}", sheets[0].keys, sheets[0].rate);
            chart(step, title, &sheets).save(&path)?;
        }
    }
    Ok(())
}

fn chart(step: Step, title: String, sheets: &[&Sheet]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: &str, point| match series.iter_mut().find(|series| series.name == name) {
        Some(known) => known.points.push(point),
        None => series.push(Series { name: name.to_owned(), points: vec![point] }),
    };
    for sheet in sheets {
        let items = sheet.items as f64;
        for line in &sheet.lines {
            if let Some(time) = line.nanoseconds.get(&step) {
                add(&line.name, (items, time.median));
            }
        }
        let measured = sheet.lines.iter().any(|line| line.nanoseconds.contains_key(&step));
        if let Some(limit) = sheet.machine.get(super::TWO_LINES).filter(|_| measured) {
            add("limit: two random lines", (items, limit.median));
        }
    }
    Chart {
        title,
        x: Axis { label: "items", scale: Scale::Logarithmic },
        y: Axis { label: "ns per key", scale: Scale::Logarithmic },
        series,
    }
}
