//! Where the line lies between mapping and reading.
//!
//! A change touches two pages. The *weight* of a number of changes is the pages of the file for each
//! page that they touch, counting every touch: work of weight w touches at most one page in w. Mapping
//! is faster above some weight; that weight is the number in `access.rs`.

use coua_store::Access;

use crate::Settings;
use crate::filters::{Cache, Filter};
use crate::measure::Work;

const PAGE: u64 = 4096;
/// Both buckets of a key.
const PAGES_PER_CHANGE: u64 = 2;
const WEIGHTS: [u64; 9] = [128, 64, 32, 16, 8, 4, 2, 1, 0];

pub(crate) fn run(settings: &Settings) {
    let filter = Filter::new(settings.items, &settings.folder);
    println!("{} items, {} bytes", filter.items, filter.bytes);
    println!();
    println!(
        "| cache | weight | changes | map ms | of it open | read ms | of it open | read / map |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for cache in Cache::ALL {
        let mut ratios = Vec::new();
        for weight in WEIGHTS {
            // Half a page for each touch, at the end.
            let touched = filter.bytes.checked_div(weight).unwrap_or(2 * filter.bytes);
            let changes = touched / (PAGE * PAGES_PER_CHANGE);
            let max_log = Some(u64::MAX - 1);
            let [map, read] = [Access::Map, Access::Load].map(|access| {
                Work { access, changes, cache, max_log }.measure(&filter, settings.rounds)
            });
            let ratio = read.total() / map.total();
            let weight = filter.bytes as f64 / touched as f64;
            ratios.push((weight, ratio));
            println!(
                "| {} | {weight:.1} | {changes} | {:.1} | {:.1} | {:.1} | {:.1} | {ratio:.2} |",
                cache.name(),
                map.total() * 1e3,
                map.open * 1e3,
                read.total() * 1e3,
                read.open * 1e3,
            );
        }
        println!();
        let found = crossing(&ratios).map_or_else(
            || "one of the two is faster all over".to_owned(),
            |weight| format!("mapping is faster above a weight of {weight:.1}"),
        );
        println!("{}: {found}", cache.name());
        println!();
    }
}

/// Between the last weight at which mapping is faster and the next, on logarithmic scales.
fn crossing(ratios: &[(f64, f64)]) -> Option<f64> {
    ratios.windows(2).rev().find_map(|pair| {
        let [(above, faster), (below, slower)] = pair else { return None };
        let is_crossing = *faster >= 1.0 && *slower < 1.0;
        let part = faster.ln() / (faster.ln() - slower.ln());
        is_crossing.then(|| (above.ln() + part * (below.ln() - above.ln())).exp())
    })
}
