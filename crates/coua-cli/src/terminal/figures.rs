//! Figures about the filter of a run: `--stats`.

use crate::terminal::report::Report;
use crate::terminal::text::{grouped, percent, significant, tenths};
use coua::window::Generations;

/// The filter at the end of the run.
#[derive(Debug, Default)]
pub(crate) struct FilterFigures {
    pub(crate) items: u64,
    /// None, as the others: it is on a server, and in another module's layout.
    pub(crate) load: Option<f64>,
    pub(crate) memory_bytes: u64,
    pub(crate) hash_bits: Option<f64>,
    pub(crate) false_positive_rate: Option<f64>,
    /// What a window has done.
    pub(crate) window: Option<WindowFigures>,
}

/// What only filters that forget have.
#[derive(Debug)]
pub(crate) struct WindowFigures {
    /// The most items, and the false-positive rate with them.
    limit: Option<(u64, f64)>,
    generations: u64,
    forgotten: u64,
    outdated: u64,
}

impl From<&Generations> for FilterFigures {
    fn from(filter: &Generations) -> Self {
        let max_items = Some(filter.max_items()).filter(|items| *items != u64::MAX);
        Self {
            items: filter.len(),
            load: Some(filter.load()),
            memory_bytes: filter.memory_bytes() as u64,
            hash_bits: Some(filter.hash_bits()),
            false_positive_rate: Some(filter.false_positive_rate()),
            window: filter.window().map(|_| WindowFigures {
                limit: max_items.map(|items| (items, items as f64 / filter.hash_bits().exp2())),
                generations: filter.generations().count() as u64,
                forgotten: filter.forgotten(),
                outdated: filter.outdated(),
            }),
        }
    }
}

impl FilterFigures {
    /// Memory in bits, by items.
    pub(crate) fn bits_per_item(&self) -> f64 {
        8.0 * self.memory_bytes as f64 / self.items.max(1) as f64
    }

    /// Adds the figures.
    pub(crate) fn tell(&self, report: &mut Report) {
        report.number("items", "items in filter", self.items);
        report.measure("load", "load", self.load, percent);
        report.measure("bits_per_item", "bits per item", self.bits_per_item(), tenths);
        report.bytes("memory_bytes", "memory", self.memory_bytes);
        report.measure("hash_bits", "hash bits", self.hash_bits, significant);
        let rate = self.false_positive_rate;
        report.measure("false_positive_rate", "false-positive rate", rate, significant);
        if let Some(window) = &self.window {
            window.tell(report);
        }
    }
}

impl WindowFigures {
    fn tell(&self, report: &mut Report) {
        report.field("max_items", self.limit.map(|(items, _)| items));
        report.field("rate_at_max_items", self.limit.map(|(_, rate)| rate));
        let limit = self.limit;
        report.row_if_any("max items", limit.map(|(items, _)| grouped(items)));
        let rate = limit.map(|(_, rate)| significant(rate));
        report.row_if_any("false-positive rate at max items", rate);
        report.number("generations", "generations", self.generations);
        report.number("forgotten", "items forgotten", self.forgotten);
        report.number("outdated", "records too old", self.outdated);
    }
}
