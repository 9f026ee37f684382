//! Figures against the size of the filter and of the work.

use coua_store::Access;

use crate::Settings;
use crate::filters::{Cache, Filter};
use crate::measure::Work;

const CHANGES: [u64; 3] = [100, 10_000, 1_000_000];

pub(crate) fn run(settings: &Settings) {
    println!(
        "| items | file MB | changes | cache | open ms | change ms | commit ms | all ms | written MB | memory MB | of it its own |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let sizes = (6..).map(|exponent| 10u64.pow(exponent));
    for items in sizes.take_while(|items| *items <= settings.items) {
        let filter = Filter::new(items, &settings.folder);
        for changes in CHANGES {
            for cache in Cache::ALL {
                let work = Work { access: Access::BySize, changes, cache, max_log: None };
                row(&filter, work, settings.rounds);
            }
        }
    }
}

fn row(filter: &Filter, work: Work, rounds: usize) {
    let Filter { items, bytes, .. } = filter;
    let Work { changes, cache, .. } = work;
    let figures = work.measure(filter, rounds);
    let (ms, mb) = (|seconds: f64| seconds * 1e3, |bytes: f64| bytes / 1e6);
    println!(
        "| {items} | {:.0} | {changes} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.3} | {:.1} | {:.1} |",
        mb(*bytes as f64),
        cache.name(),
        ms(figures.open),
        ms(figures.change),
        ms(figures.commit),
        ms(figures.total()),
        mb(figures.written),
        mb(figures.memory),
        mb(figures.private),
    );
}
