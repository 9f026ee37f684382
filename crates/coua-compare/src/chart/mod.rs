//! Line charts as SVG, with a legend beside them.

mod look;
mod ticks;

use std::ops::Range;
use std::path::Path;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::output::Failure;
use look::{Look, look};
use ticks::Along;

const SIZE: (u32, u32) = (1000, 560);
const LEGEND: u32 = 260;
const TEXT: i32 = 14;
const GRID: RGBColor = RGBColor(225, 225, 225);
const AXIS: RGBColor = RGBColor(90, 90, 90);

/// How values are laid along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal distances for equal differences, from zero.
    Linear,
    /// Equal distances for equal ratios.
    Logarithmic,
}

/// What an axis shows, with its unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// What stands beside it.
    pub(crate) label: &'static str,
    /// How values are laid along it.
    pub(crate) scale: Scale,
}

/// A line with its name.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What the legend says.
    pub(crate) name: String,
    /// From left to right.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What stands above it.
    pub(crate) title: String,
    /// To the right.
    pub(crate) x: Axis,
    /// Upwards.
    pub(crate) y: Axis,
    /// The lines.
    pub(crate) series: Vec<Series>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Chart {
    /// Draws it, if there is a point to draw. Lines without points are left out, and those that
    /// `look` does not know.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut chart = self.clone();
        chart.series.retain(|series| !series.points.is_empty() && look(&series.name).is_some());
        // The legend stands in the order in which the lines end.
        let end = |series: &Series| series.points.last().map_or(0.0, |point| point.1);
        chart.series.sort_by(|one, other| end(other).total_cmp(&end(one)));
        if chart.series.is_empty() {
            return Ok(());
        }
        chart.draw(path).map_err(|why| Failure::of(path.display(), &why))
    }

    fn draw(&self, path: &Path) -> Drawn {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
        let x = Along { scale: self.x.scale, range: self.range(self.x, |point| point.0) };
        let y = Along { scale: self.y.scale, range: self.range(self.y, |point| point.1) };
        self.plot(&left, x, y)?;
        self.legend(&right)?;
        root.present()?;
        Ok(())
    }

    /// From zero, or the least value on a logarithmic axis, to a little above the most.
    fn range(&self, axis: Axis, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.series.iter().flat_map(|series| &series.points).map(&of);
        let most = values().fold(f64::MIN_POSITIVE, f64::max);
        match axis.scale {
            Scale::Linear => 0.0..most * 1.05,
            Scale::Logarithmic => {
                let least = values().filter(|&value| value > 0.0).fold(most, f64::min);
                least * 0.9..most * 1.1
            }
        }
    }

    fn plot(&self, area: &Area<'_>, x: Along, y: Along) -> Drawn {
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", TEXT + 3))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .label_style(("sans-serif", TEXT - 1))
            .draw()?;
        for (series, look) in self.drawn() {
            let points = series.points.iter().copied();
            if look.dashed {
                chart.draw_series(DashedLineSeries::new(points, 6, 4, look.style()))?;
            } else {
                chart.draw_series(LineSeries::new(points, look.style()))?;
            }
            // A line of a thousand points needs no marks.
            if series.points.len() <= 20 && !look.dashed {
                let mark = |&point| Circle::new(point, 3, look.style().filled());
                chart.draw_series(series.points.iter().map(mark))?;
            }
        }
        Ok(())
    }

    /// The lines with their looks, Coua's last, so that they lie on top.
    fn drawn(&self) -> impl Iterator<Item = (&Series, Look)> {
        let ours = |series: &&Series| series.name.starts_with("coua");
        let others = self.series.iter().filter(move |series| !ours(series));
        let all = others.chain(self.series.iter().filter(ours));
        all.filter_map(|series| Some((series, look(&series.name)?)))
    }

    fn legend(&self, area: &Area<'_>) -> Drawn {
        let looks = self.series.iter().filter_map(|series| Some((series, look(&series.name)?)));
        for ((series, look), y) in looks.zip((48..).step_by(22)) {
            let pieces = if look.dashed { vec![(0, 6), (10, 16), (20, 26)] } else { vec![(0, 26)] };
            for (from, to) in pieces {
                area.draw(&PathElement::new([(from, y), (to, y)], look.style()))?;
            }
            let text = ("sans-serif", TEXT).into_font();
            area.draw(&Text::new(series.name.clone(), (34, y - TEXT / 2), text))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Chart, Scale, Series};

    #[test]
    fn a_chart_is_an_svg_with_its_words() {
        let axis = |label, scale| Axis { label, scale };
        let points = vec![(1.0, 2.0), (100.0, 3.0)];
        for (x, y) in [
            (Scale::Linear, Scale::Linear),
            (Scale::Logarithmic, Scale::Linear),
            (Scale::Linear, Scale::Logarithmic),
            (Scale::Logarithmic, Scale::Logarithmic),
        ] {
            let chart = Chart {
                title: "a title".into(),
                x: axis("items", x),
                y: axis("ns", y),
                series: vec![Series { name: "coua".into(), points: points.clone() }],
            };
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("chart.svg");
            chart.save(&path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(["<svg", "a title", "items", "coua"].iter().all(|word| text.contains(word)));
        }
    }
}
