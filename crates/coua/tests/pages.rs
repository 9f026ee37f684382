//! Which pages a table lies in. A program of its own: it counts the mappings of the process.

#![cfg(target_os = "linux")]

use std::path::Path;

use coua::CuckooFilter;
use coua_dev::instruction_sets::skipped;

const HUGE_PAGE: usize = 2 << 20;

/// Bytes of this process that are mapped with advice: the huge pages asked for, and those refused.
fn advised() -> (usize, usize) {
    let mappings = std::fs::read_to_string("/proc/self/smaps").expect("mappings");
    let (mut asked, mut refused, mut bytes) = (0, 0, 0);
    let mut begin = 0;
    for line in mappings.lines() {
        let hex = line.split_once('-').map(|(begin, _)| usize::from_str_radix(begin, 16));
        if let Some(Ok(address)) = hex {
            begin = address;
        } else if let Some(size) = line.strip_prefix("Size:") {
            bytes = size.trim().trim_end_matches(" kB").parse::<usize>().expect("a size") << 10;
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |wanted| flags.split_whitespace().any(|flag| flag == wanted);
            assert!(!has("hg") || begin % HUGE_PAGE == 0, "{begin:x}");
            asked += if has("hg") { bytes } else { 0 };
            refused += if has("nh") { bytes } else { 0 };
        }
    }
    (asked, refused)
}

#[test]
fn only_whole_huge_pages_are_asked_for() {
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        skipped("a system without huge pages");
        return;
    }
    let before = advised();
    let filter = CuckooFilter::with_capacity(10_000_000, 0.001).unwrap();
    let whole = filter.memory_bytes() / HUGE_PAGE * HUGE_PAGE;
    let by_default = advised();
    assert_eq!(by_default.0 - before.0, whole);
    assert_eq!(by_default.1 - before.1, HUGE_PAGE);
}
