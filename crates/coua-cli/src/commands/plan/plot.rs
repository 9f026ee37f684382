//! The comparison as a chart: bits per item over the false-positive rate.

use super::compare;
use crate::terminal::{Failure, Result, counted};
use coua::sizing::CuckooPlan;
use plotters::prelude::*;
use std::fmt::Display;
use std::path::Path;

const SIZE: (u32, u32) = (900, 600);
/// Rates from 10^-1 to 10^-9.
const EXPONENTS: std::ops::Range<f64> = 1.0..9.0;
const STEPS: u32 = 160;
const MOST_BITS: f64 = 64.0;

/// Writes the chart for the planned number of items, with the plan as a dot.
pub(super) fn write(path: &Path, plan: &CuckooPlan) -> Result<()> {
    let mut picture = String::new();
    draw(&mut picture, plan).map_err(|error| Failure::at(path.display(), error))?;
    std::fs::write(path, picture).map_err(|error| Failure::io(path.display(), &error))
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(picture: &mut String, plan: &CuckooPlan) -> Drawn {
    let area = SVGBackend::with_string(picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(20)
        .caption(format!("Bits per item, {}", counted(plan.items, "item")), ("sans-serif", 20))
        .x_label_area_size(45)
        .y_label_area_size(45)
        .build_cartesian_2d(EXPONENTS, 0.0..MOST_BITS)?;
    chart
        .configure_mesh()
        .x_desc("false-positive rate")
        .x_label_formatter(&|exponent| format!("1e-{exponent:.0}"))
        .y_desc("bits per item")
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (number, (name, points)) in lines(plan.items).into_iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let width = if number < 2 { 3 } else { 1 };
        let style = color.stroke_width(width);
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    let dot = (-plan.rate.log10(), plan.bits_per_item());
    if EXPONENTS.contains(&dot.0) && dot.1 < MOST_BITS {
        chart.draw_series([Circle::new(dot, 5, BLACK.filled())])?;
    }
    let labels = chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).draw();
    labels.map_err(plot_error)?;
    area.present().map_err(plot_error)
}

fn plot_error(error: impl Display) -> Box<dyn std::error::Error> {
    error.to_string().into()
}

/// The filters' names and their points, without sets, which have no rate.
fn lines(items: u64) -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for step in 0..=STEPS {
        let share = f64::from(step) / f64::from(STEPS);
        let exponent = EXPONENTS.start + (EXPONENTS.end - EXPONENTS.start) * share;
        let peers = compare::peers(items, 10_f64.powf(-exponent), 0);
        for (number, peer) in peers.iter().filter(|peer| !peer.exact).enumerate() {
            if number == lines.len() {
                lines.push((peer.name, Vec::new()));
            }
            let bits = peer.bits_per_item.filter(|bits| *bits <= MOST_BITS);
            lines[number].1.extend(bits.map(|bits| (exponent, bits)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::CuckooFilter;

    #[test]
    fn a_picture_names_all_filters() {
        let plan = CuckooFilter::builder().capacity(1_000_000).rate(0.001).plan().unwrap();
        let mut picture = String::new();
        draw(&mut picture, &plan).unwrap();
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        for name in ["coua", "blocked Bloom", "binary fuse", "1,000,000 items"] {
            assert!(picture.contains(name), "{name}");
        }
        assert!(picture.contains("<circle"));
    }
}
