//! Where an axis has its marks, and what stands there.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::Scale;

/// Above so many decades only powers of ten have a mark.
const MOST_DECADES: f64 = 3.2;
/// As many marks as a linear axis may have.
const MOST_MARKS: f64 = 10.0;
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// An axis: where its values lie, and which are marked.
#[derive(Clone, Debug)]
pub(super) struct Along {
    pub(super) scale: Scale,
    pub(super) range: Range<f64>,
}

impl Ranged for Along {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let share = match self.scale {
            Scale::Linear => (value - start) / (end - start),
            Scale::Logarithmic => (value.max(start) / start).ln() / (end / start).ln(),
        };
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { ticks(&self.range, self.scale) }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Along {
    fn format(value: &f64) -> String {
        label(*value)
    }
}

/// Round values within the range: 1, 2, 5, 10, 20, ... on a logarithmic axis.
fn ticks(range: &Range<f64>, scale: Scale) -> Vec<f64> {
    // The ends come from the data, by way of rounding.
    let inside = |value: &f64| (range.start * 0.999..=range.end * 1.001).contains(value);
    let decade = |value: f64| value.log10().floor() as i32;
    match scale {
        Scale::Logarithmic => {
            let coarse = (range.end / range.start).log10() > MOST_DECADES;
            let steps = &STEPS[..if coarse { 1 } else { STEPS.len() }];
            let decades = decade(range.start)..=decade(range.end);
            let marks =
                decades.flat_map(|ten| steps.iter().map(move |step| step * 10f64.powi(ten)));
            marks.filter(inside).collect()
        }
        Scale::Linear => {
            let least = (range.end - range.start) / MOST_MARKS;
            let ten = 10f64.powi(decade(least));
            let fits = |step: &f64| step * ten >= least * 0.999;
            let step = STEPS.into_iter().find(fits).unwrap_or(10.0) * ten;
            let end = (range.end / step * 1.001).floor() as i64;
            ((range.start / step).ceil() as i64..=end).map(|place| place as f64 * step).collect()
        }
    }
}

/// A round value in few characters: 1M, 20k, 500, 0.5.
fn label(value: f64) -> String {
    let (value, unit) = match value.abs() {
        millions if millions > 0.999e6 => (value / 1e6, "M"),
        thousands if thousands > 0.999e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::{Scale, label, ticks};

    fn labels(from: f64, to: f64, scale: Scale) -> Vec<String> {
        ticks(&(from..to), scale).into_iter().map(label).collect()
    }

    #[test]
    fn marks_are_round_and_within_the_range() {
        assert_eq!(labels(0.9e6, 1.1e7, Scale::Logarithmic), ["1M", "2M", "5M", "10M"]);
        assert_eq!(labels(0.4, 9.0, Scale::Logarithmic), ["0.5", "1", "2", "5"]);
        let wide = labels(0.02, 9e4, Scale::Logarithmic);
        assert_eq!(wide, ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!(labels(0.0, 105.0, Scale::Linear).len(), 6);
        assert_eq!(labels(0.0, 21.0, Scale::Linear), ["0", "5", "10", "15", "20"]);
    }
}
