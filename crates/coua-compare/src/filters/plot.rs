//! Time per key against the number of items.

use std::path::Path;

use super::sheet::Sheet;
use super::turn::Step;
use crate::chart::{Axis, Chart, Scale, Series};
use crate::output::Failure;

/// What is drawn: step, name of the file, words of the title.
const STEPS: [(Step, &str, &str); 5] = [
    (Step::Insert, "insert", "Insert to the stated capacity"),
    (Step::Absent, "absent", "Look up absent keys"),
    (Step::Present, "present", "Look up present keys"),
    (Step::Remove, "remove", "Remove"),
    (Step::UniqueMixed, "unique", "Insert if absent, 57 % repeats"),
];

/// One chart for each step and kind of key that was measured at two sizes or more.
///
/// # Errors
///
/// If a file cannot be written.
pub(crate) fn draw(directory: &Path, sheets: &[Sheet]) -> Result<(), Failure> {
    for (keys, short) in [("u64", "u64"), ("strings of 30 to 80 bytes", "strings")] {
        let mut sheets: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.keys == keys).collect();
        sheets.sort_by_key(|sheet| sheet.items);
        if sheets.len() < 2 {
            continue;
        }
        for (step, name, words) in STEPS {
            let path = directory.join(format!("filters-{short}-{name}.svg"));
            chart(step, format!("{words}: {keys} keys"), &sheets).save(&path)?;
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
        if let Some(limit) = sheet.machine.get(super::TWO_LINES) {
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
