//! The charts of growth.

use std::path::Path;

use super::sheet::{Line, Sheet};
use crate::chart::{Axis, Chart, Scale, Series};
use crate::contestant::Way;
use crate::output::Failure;

type Points = Vec<(f64, f64)>;

impl Sheet {
    /// Draws the charts of this way of filling.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn draw(&self, directory: &Path) -> Result<(), Failure> {
        let items = self.items as f64;
        let axis = |label, scale| Axis { label, scale };
        let ns = axis("ns per insert", Scale::Logarithmic);
        if self.way == Way::Stated {
            let x = axis("per cent of the stated capacity", Scale::Linear);
            let title = format!("Insert cost against load, {} items", self.items);
            let cost = |line: &Line| line.cost(|end| end as f64 / items * 100.0);
            return self.chart(title, x, ns, cost).save(&directory.join("growth-load.svg"));
        }
        let x = axis("items", Scale::Logarithmic);
        let title = |what: &str| format!("{what} while growing to {} items", self.items);
        let cost = |line: &Line| line.cost(|end| end as f64);
        self.chart(title("Insert cost"), x, ns, cost).save(&directory.join("growth-cost.svg"))?;
        let y = axis("longest single insert so far, us", Scale::Logarithmic);
        self.chart(title("Longest insert"), x, y, Line::longest)
            .save(&directory.join("growth-longest.svg"))?;
        let y = axis("bits per item", Scale::Logarithmic);
        self.chart(title("Memory"), x, y, Line::bits).save(&directory.join("growth-memory.svg"))
    }

    fn chart(&self, title: String, x: Axis, y: Axis, of: impl Fn(&Line) -> Points) -> Chart {
        let shown = |line: &&Line| self.way == Way::Growing || line.fills_up;
        let series = self
            .lines
            .iter()
            .filter(shown)
            .map(|line| Series { name: line.name.into(), points: of(line) });
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

    fn longest(&self) -> Points {
        self.longest_so_far.iter().map(|&(items, longest)| (items as f64, longest / 1e3)).collect()
    }
}
