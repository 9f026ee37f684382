//! Time per key against the number of items.

use std::path::Path;

use super::sheet::Sheet;
use super::turn::Step;
use crate::chart::{Axis, Chart, Scale, Series};
use crate::output::Failure;

/// One chart for each step and kind of key that was measured at two sizes or more.
pub(super) fn draw(directory: &Path, sheets: &[Sheet]) -> Result<(), Failure> {
    for (keys, short) in [("u64", "u64"), ("strings of 30 to 80 bytes", "strings")] {
        let sheets: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.keys == keys).collect();
        if sheets.len() < 2 {
            continue;
        }
        for (step, name) in
            [(Step::Insert, "insert"), (Step::Absent, "absent"), (Step::Present, "present")]
        {
            let path = directory.join(format!("filters-{short}-{name}.svg"));
            chart(step, keys, &sheets).save(&path)?;
        }
    }
    Ok(())
}

fn chart(step: Step, keys: &str, sheets: &[&Sheet]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (sheet, line) in sheets.iter().flat_map(|sheet| sheet.lines.iter().map(move |l| (sheet, l)))
    {
        let Some(time) = line.nanoseconds.get(&step) else {
            continue;
        };
        let point = (sheet.items as f64, time.median);
        match series.iter_mut().find(|series| series.name == line.name) {
            Some(known) => known.points.push(point),
            None => series.push(Series { name: line.name.into(), points: vec![point] }),
        }
    }
    Chart {
        title: format!("{step}: time per key, {keys} keys"),
        x: Axis { label: "items", scale: Scale::Logarithmic },
        y: Axis { label: "ns per key", scale: Scale::Logarithmic },
        series,
    }
}
