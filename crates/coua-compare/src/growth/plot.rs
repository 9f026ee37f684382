//! The charts of growth.

use std::path::Path;

use super::sheet::{Filling, Line, Sheet};
use crate::chart::{Axis, Chart, Scale, Series};
use crate::contestant::Way;
use crate::markdown::grouped;
use crate::output::Failure;

type Points = Vec<(f64, f64)>;

impl Sheet {
    /// Draws the charts.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn draw(&self, directory: &Path) -> Result<(), Failure> {
        let items = self.items as f64;
        let ns = Axis { label: "ns per insert", scale: Scale::Logarithmic };
        let save = |name: &str, chart: Chart| {
            chart.save(&directory.join(format!("growth-{}-{name}.svg", self.items)))
        };
        let of = |way| self.fillings.iter().find(|filling| filling.way == way);
        if let Some(filling) = of(Way::Stated) {
            let x = Axis { label: "items, % of the stated capacity", scale: Scale::Linear };
            let title = format!("Insert cost against load, {} items", grouped(self.items));
            let cost = |line: &Line| line.cost(|end| end as f64 / items * 100.0);
            save("load", filling.chart(title, x, ns, cost))?;
        }
        let Some(filling) = of(Way::Growing) else {
            return Ok(());
        };
        let x = Axis { label: "items", scale: Scale::Logarithmic };
        let title = |what: &str| format!("{what} while growing to {} items", grouped(self.items));
        let cost = |line: &Line| line.cost(|end| end as f64);
        save("cost", filling.chart(title("Insert cost"), x, ns, cost))?;
        let y = Axis { label: "longest single insert so far, us", scale: Scale::Logarithmic };
        save("longest", filling.chart(title("Longest insert"), x, y, Line::longest))?;
        let y = Axis { label: "bits per item", scale: Scale::Logarithmic };
        save("memory", filling.chart(title("Memory"), x, y, Line::bits))
    }
}

impl Filling {
    fn chart(&self, title: String, x: Axis, y: Axis, of: impl Fn(&Line) -> Points) -> Chart {
        let shown = |line: &&Line| self.way == Way::Growing || line.fills_up;
        let series = self
            .lines
            .iter()
            .filter(shown)
            .map(|line| Series { name: line.name.clone(), points: of(line) });
        Chart { title, x, y, series: series.collect() }
    }
}

impl Line {
    fn cost(&self, x: impl Fn(u64) -> f64) -> Points {
        self.windows.iter().map(|&(end, time, _)| (x(end), time)).collect()
    }

    fn bits(&self) -> Points {
        self.windows.iter().map(|&(end, _, bytes)| (end as f64, bytes * 8.0 / end as f64)).collect()
    }

    /// A record stands until the next one: stairs.
    fn longest(&self) -> Points {
        let records =
            self.longest_so_far.iter().map(|&(items, longest)| (items as f64, longest / 1e3));
        let mut stairs = Points::new();
        for (items, longest) in records {
            if let Some(&(_, before)) = stairs.last() {
                stairs.push((items, before));
            }
            stairs.push((items, longest));
        }
        stairs
    }
}

#[cfg(test)]
mod tests {
    use super::super::sheet::Line;

    #[test]
    fn records_are_stairs() {
        let line: Line = serde_json::from_str(
            r#"{"name": "coua", "remark": "", "fills_up": true, "most_bits_per_key": 1.0,
                "nanoseconds": {"low": 1.0, "median": 1.0, "high": 1.0, "ratio": null},
                "bits_per_key": 1.0, "largest_step_bytes": 0.0, "resident_bytes": 0.0,
                "peak_bytes": 0.0, "rate": 0.0, "lost": 0, "refused": 0,
                "longest_nanoseconds": 5e3, "windows": [],
                "longest_so_far": [[10, 2e3], [30, 5e3], [40, 5e3]]}"#,
        )
        .unwrap();
        let expected = [(10.0, 2.0), (30.0, 2.0), (30.0, 5.0), (40.0, 5.0), (40.0, 5.0)];
        assert_eq!(line.longest(), expected);
    }
}
