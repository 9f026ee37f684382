//! `coua dedup` prints what `awk '!seen[$0]++'`, `sort` and `uniq` print, byte for byte.

use crate::packed::{COMPRESSIONS, zstd};
use crate::support::{Folder, Repeats, coua, lines, other, run, run_with};
use coua_dev::cases::sample;
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const ALL: [Repeats; 3] = [Repeats::Few, Repeats::Many, Repeats::Only];

/// What a checkpoint saves is laid out in the file by the time of the checkpoint.
const NO_CHECKPOINT: &str = "--checkpoint-every=100000";

fn awk(text: &[u8]) -> Vec<u8> {
    other("awk", &["!seen[$0]++"], text)
}

/// From a file, a pipe, a slow pipe, and compressed in each format.
#[track_caller]
fn check(count: u64, repeats: Repeats) {
    let folder = Folder::new();
    let text = lines(count, repeats);
    let wanted = awk(&text);
    let same = |ours: Vec<u8>, how: &str| assert!(ours == wanted, "{count} {repeats:?} {how}");
    same(run(["dedup", &folder.file("lines", &text)]).good(), "from a file");
    same(run_with(&text, ["dedup"]).good(), "from a pipe");
    same(slowly(&text), "from a slow pipe");
    for (name, compress) in COMPRESSIONS {
        same(run(["dedup", &folder.file("lines", compress(&text))]).good(), name);
    }
}

/// The output for a text that arrives in pieces, which end anywhere in a line.
fn slowly(text: &[u8]) -> Vec<u8> {
    let mut child = coua(["dedup"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let pieces = text.to_vec();
    let writer = thread::spawn(move || {
        for (number, piece) in pieces.chunks((pieces.len() / 1_000).max(701)).enumerate() {
            stdin.write_all(piece).unwrap();
            if number % 10 == 0 {
                thread::sleep(Duration::from_millis(3));
            }
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
    output.stdout
}

#[test]
fn one_to_a_hundred_thousand_lines() {
    let counts = [1, 2, 3, 5, 10, 100, 1000, 4096, 10_000, 65_537, 100_000];
    for count in sample(counts, [4, 1]) {
        for repeats in ALL {
            check(count, repeats);
        }
    }
}

#[test]
#[ignore = "slow (half a minute): run with ./test --all"]
fn a_million_lines() {
    for repeats in ALL {
        check(1_000_000, repeats);
    }
}

#[test]
#[ignore = "slow (some minutes): run with ./test --all"]
fn ten_million_lines() {
    for repeats in ALL {
        check(10_000_000, repeats);
    }
}

/// Options that need all records before the first one is printed.
#[test]
fn two_passes_print_what_awk_sort_and_uniq_print() {
    let all = |condition: &str| {
        format!(
            "{{ line[NR] = $0; count[$0]++; last[$0] = NR; if (count[$0] == 1) first[$0] = NR }}
             END {{ for (n = 1; n <= NR; n++) {{ key = line[n]; if ({condition}) print line[n] }} }}"
        )
    };
    let folder = Folder::new();
    let texts = [(1, ALL[0]), (1_000, ALL[1]), (1_000, ALL[2]), (100_000, ALL[1])];
    for (count, repeats) in sample(texts, [2, 1]) {
        let text = [lines(count, Repeats::Few), lines(count, repeats)].concat();
        let file = folder.file("lines", &text);
        let sorted = |text: &[u8]| other("sort", &[], text);
        for (options, condition) in [
            ("--keep=first", "first[key] == n"),
            ("--keep=last", "last[key] == n"),
            ("--keep=none", "count[key] == 1"),
            ("--keep=first -d", "first[key] != n"),
            ("--keep=last -d", "last[key] != n"),
            ("--keep=none -d", "count[key] != 1"),
        ] {
            let wanted = other("awk", &[&all(condition)], &text);
            let args = || ["dedup"].into_iter().chain(options.split(' '));
            assert!(run(args().chain([&*file])).good() == wanted, "{options} {count} {repeats:?}");
            let piped = run_with(&text, args()).good();
            assert!(piped == wanted, "{options} {count} {repeats:?} from a pipe");
        }
        let alone = other("uniq", &["-u"], &sorted(&text));
        assert!(
            sorted(&run(["dedup", "--keep", "none", &file]).good()) == alone,
            "{count} {repeats:?}"
        );
        let counted = other("uniq", &["-c"], &sorted(&text));
        let counted = other("awk", &["{ print $1 \"\\t\" $2 }"], &counted);
        let ours = run(["dedup", "-c", &file]).good();
        assert!(sorted(&ours) == sorted(&counted), "{count} {repeats:?}");
    }
}

#[test]
fn whatever_the_number_of_threads() {
    let folder = Folder::new();
    let text = lines(100_000, Repeats::Many);
    let file = folder.file("lines", &text);
    let mut filters = Vec::new();
    for threads in ["1", "2", "3", "4", "5", "9"] {
        let filter = folder.join(threads);
        let ours = run(["dedup", "-j", threads, NO_CHECKPOINT, "--filter", &filter, &file]).good();
        assert!(ours == awk(&text), "-j {threads}");
        filters.push(folder.read(threads));
    }
    assert!(filters.windows(2).all(|pair| pair[0] == pair[1]), "filters are the same");
}

/// Without a filter file there are two shards, each with half of the keys.
#[test]
fn whatever_the_number_of_threads_without_a_file() {
    let folder = Folder::new();
    let text = lines(200_000, Repeats::Few);
    let file = folder.file("lines", &text);
    let expected = awk(&text);
    for threads in ["1", "2", "3", "4", "5", "9"] {
        assert!(run(["dedup", "-j", threads, &file]).good() == expected, "-j {threads}");
        assert!(run_with(&text, ["dedup", "-j", threads]).good() == expected, "-j {threads}");
    }
}

#[test]
fn a_filter_depends_on_the_records_alone() {
    let folder = Folder::new();
    let text = lines(300_000, Repeats::Few);
    let middle = text[..text.len() / 2].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let [whole, head, tail, zip] = [
        folder.file("whole", &text),
        folder.file("head", &text[..middle]),
        folder.file("tail", &text[middle..]),
        folder.file("zip", zstd(&text)),
    ];
    let names = ["file", "pipe", "parts", "zipped"];
    let [file, pipe, parts, zipped] = names.map(|name| folder.join(name));
    run(["dedup", NO_CHECKPOINT, "--filter", &file, &whole]).good();
    run_with(&text, ["dedup", NO_CHECKPOINT, "--filter", &pipe]).good();
    run(["dedup", NO_CHECKPOINT, "--filter", &parts, &head, &tail]).good();
    run(["dedup", NO_CHECKPOINT, "--filter", &zipped, &zip]).good();
    for name in names {
        assert!(folder.read(name) == folder.read("file"), "{name}");
    }
}

#[test]
fn from_compressed_pipes_and_several_streams() {
    let folder = Folder::new();
    for count in [0, 1, 50_000] {
        let text = lines(count, Repeats::Many);
        let wanted = awk(&text);
        for (name, compress) in sample(COMPRESSIONS, [3, 1]) {
            let ours = run_with(&compress(&text), ["dedup", "-"]).good();
            assert!(ours == wanted, "{name} {count} piped");
            // Concatenated, as the tools append them.
            let (head, tail) = text.split_at(text.len() / 3);
            let file = folder.file("two", [compress(head), compress(tail)].concat());
            assert!(run(["dedup", &file]).good() == wanted, "{name} {count} in two streams");
        }
    }
}

#[test]
fn the_example_of_the_repository_needs_gzip() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/homepages.txt.gz");
    let plain = other("gzip", &["-dc"], &std::fs::read(example).unwrap());
    assert!(run(["dedup", example]).good() == awk(&plain));
}
