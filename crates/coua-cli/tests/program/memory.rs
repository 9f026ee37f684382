//! The memory of a filter without `--capacity`, which README.md states for a distinct line: 6 to 13 bytes.

use crate::support::{Folder, json, run, run_with};
use coua_dev::cases::few_usual_or_all;
use coua_dev::random::Random;

const LINES: u64 = 1_300_000;

/// Bytes of memory for each distinct line.
fn bytes_a_line(stats: &str) -> f64 {
    let figures = json(stats);
    figures["memory_bytes"].as_f64().unwrap() / figures["unique"].as_f64().unwrap()
}

fn text(lines: impl IntoIterator<Item = u64>) -> Vec<u8> {
    lines.into_iter().flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

/// Whatever repeats, and wherever: a filter grows with the distinct lines alone.
#[test]
fn a_distinct_line_takes_what_the_readme_says() {
    let (folder, mut random) = (Folder::new(), Random::new(1));
    let shapes = [
        ("all different", text(0..LINES)),
        ("a list that comes twice", text((0..LINES).chain(0..LINES))),
        ("each line twice", text((0..2 * LINES).map(|number| number / 2))),
        ("draws from a fixed set", text((0..2 * LINES).map(|_| random.below(LINES)))),
        ("repeats at the end", text((0..LINES).chain((0..LINES).map(|_| 7)))),
    ];
    let threads = few_usual_or_all([&["2"][..], &["1", "2"], &["1", "2", "3", "8"]]);
    for (shape, text) in shapes {
        let file = folder.file("lines", &text);
        for threads in threads {
            let dedup = ["dedup", "-j", threads, "--stats=json"];
            let from_file = bytes_a_line(&run([&dedup[..], &[&file]].concat()).stderr);
            let from_pipe = bytes_a_line(&run_with(&text, dedup).stderr);
            let seen = format!("{shape}, -j {threads}: {from_file:.2}, {from_pipe:.2}");
            assert!((6.0..13.0).contains(&from_file), "{seen}");
            assert!((from_pipe / from_file - 1.0).abs() < 0.01, "{seen}");
        }
    }
}
