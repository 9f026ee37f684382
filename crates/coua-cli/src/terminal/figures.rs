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
    pub(crate) window: Option<Report>,
}

impl From<&Generations> for FilterFigures {
    fn from(filter: &Generations) -> Self {
        Self {
            items: filter.len(),
            load: Some(filter.load_factor()),
            memory_bytes: filter.memory_bytes() as u64,
            hash_bits: Some(filter.hash_bits()),
            false_positive_rate: Some(filter.false_positive_rate()),
            window: filter.window().map(|_| of_window(filter)),
        }
    }
}

impl FilterFigures {
    /// Memory in bits, by items.
    pub(crate) fn bits_per_item(&self) -> f64 {
        8.0 * self.memory_bytes as f64 / self.items.max(1) as f64
    }

    /// Adds how exact a filter is, and how large.
    pub(crate) fn write_measures(&self, report: &mut Report) {
        let rate = self.false_positive_rate;
        report.measure("false_positive_rate", "false-positive rate now", rate, significant);
        report.measure("hash_bits", "hash bits", self.hash_bits, significant);
        report.measure("load", "load", self.load, percent);
        report.bytes("memory_bytes", "memory", self.memory_bytes);
        report.measure("bits_per_item", "bits per item", self.bits_per_item(), tenths);
    }

    /// Adds the figures of a run.
    pub(crate) fn write_report(self, report: &mut Report) {
        report.number("items", "items in filter", self.items);
        report.measure("load", "load", self.load, percent);
        report.measure("bits_per_item", "bits per item", self.bits_per_item(), tenths);
        report.bytes("memory_bytes", "memory", self.memory_bytes);
        report.measure("hash_bits", "hash bits", self.hash_bits, significant);
        let rate = self.false_positive_rate;
        report.measure("false_positive_rate", "false-positive rate", rate, significant);
        report.append(self.window.unwrap_or_default());
    }
}

/// What only filters that forget have.
fn of_window(filter: &Generations) -> Report {
    let mut report = Report::default();
    write_limit(filter, None, &mut report);
    report.number("generations", "generations", filter.generations().count() as u64);
    report.number("forgotten", "items forgotten", filter.forgotten());
    report.number("outdated", "records too old", filter.outdated());
    report
}

/// Adds the most items, and the false-positive rate with them; to people, this if there is no limit.
pub(crate) fn write_limit(filter: &Generations, no_limit: Option<&str>, report: &mut Report) {
    let items = Some(filter.max_items()).filter(|items| *items != u64::MAX);
    let rate = items.map(|items| items as f64 / filter.hash_bits().exp2());
    report.field("max_items", items);
    report.row_if_any("max items", items.map(grouped).or(no_limit.map(str::to_owned)));
    report.field("rate_at_max_items", rate);
    report.row_if_any("false-positive rate at max items", rate.map(significant));
}
