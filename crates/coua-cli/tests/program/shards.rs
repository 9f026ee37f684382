//! `--shard`: several runs divide the records among themselves.

use crate::support::{Folder, Repeats, expected, lines, run, run_with};

/// The outputs of `shards` runs, each with its own filter.
fn shared_out(folder: &Folder, shards: usize, file: &str) -> Vec<Vec<u8>> {
    let number = |number: usize| {
        let (shard, filter) = (format!("{number}/{shards}"), folder.join(&number.to_string()));
        run(["dedup", "--shard", &shard, "--filter", &filter, file]).good()
    };
    (1..=shards).map(number).collect()
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn outputs_concatenate_and_filters_merge() {
    let text = lines(50_000, Repeats::Few);
    for shards in [1, 2, 3, 7] {
        let folder = Folder::new();
        // The last line has no newline.
        let file = folder.file("lines", &text[..text.len() - 1]);
        let outputs = shared_out(&folder, shards, &file);
        assert!(outputs.iter().all(|part| part.len() > text.len() / 3 / shards));
        assert!(sorted(&outputs.concat()) == sorted(&expected(&text)), "{shards} shards");
        let whole = expected(&text);
        for part in outputs {
            let mut rest = whole.split_inclusive(|byte| *byte == b'\n');
            let in_order = |line: &[u8]| rest.any(|other| other == line);
            assert!(part.split_inclusive(|byte| *byte == b'\n').all(in_order));
        }
        let merged = folder.join("merged");
        let parts = (1..=shards).map(|number| folder.join(&number.to_string()));
        let args = ["merge".to_owned(), "-o".to_owned(), merged.clone()];
        run(args.into_iter().chain(parts)).good();
        assert_eq!(run(["check", "-v", "-c", &merged, &file]).stdout, b"0\n");
        let items = run(["info", "--json", &merged]).json()["items"].as_u64();
        assert_eq!(items, Some(sorted(&whole).len() as u64));
    }
}

#[test]
fn output_and_figures_are_those_of_the_shards_own_records() {
    let folder = Folder::new();
    let text = lines(20_000, Repeats::Many);
    let file = folder.file("lines", &text);
    let (mut records, mut own) = (0, Vec::new());
    for shard in ["1/2", "2/2"] {
        let one = run(["dedup", "-j", "1", "--shard", shard, &file]).good();
        for threads in ["2", "3", "5"] {
            assert!(run(["dedup", "-j", threads, "--shard", shard, &file]).good() == one);
        }
        let run = run(["dedup", "--stats=json", "--shard", shard, &file]);
        let figures = crate::support::json(&run.stderr);
        records += figures["records"].as_u64().unwrap();
        assert_eq!(figures["without_key"], 0);
        own.push(one);
    }
    assert_eq!(records, 20_000);
    let filter = folder.join("seen");
    run_with(&own.concat(), ["add", &filter]).good();
    let all = expected(&text);
    let count = |args: &[&str]| -> u64 {
        let run = run_with(&all, [&["check", "-c", &filter], args].concat());
        String::from_utf8(run.stdout).unwrap().trim().parse().unwrap()
    };
    assert_eq!(count(&["--shard", "1/2"]) + count(&["--shard", "2/2"]), count(&[]));
    let counted = run_with(&all, ["count", "--shard", "2/2", &filter]).good();
    assert_eq!(sorted(&counted).len(), sorted(&own[1]).len());
    run_with(&all, ["remove", "--shard", "1/2", &filter]).good();
    assert_eq!(run_with(&all, ["check", &filter]).good(), own[1]);
}

#[test]
fn a_full_filter_counts_the_shards_own_records_before_it() {
    let folder = Folder::new();
    let text = (0..2000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let file = folder.file("lines", text);
    for shard in ["1/3", "2/3", "3/3"] {
        let size = ["--capacity", "100", "--rate", "0.001", "--when-full=stop"];
        let args = ["dedup", "--stats=json", "--shard", shard, &file];
        let run = run(args.into_iter().chain(size));
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        let figures = crate::support::json(run.stderr.lines().next().unwrap());
        let [records, unique, repeats] =
            ["records", "unique", "repeats"].map(|name| figures[name].as_u64().unwrap());
        assert_eq!((records, unique), (unique + repeats, 100), "{figures}");
    }
}

#[test]
fn what_has_no_key_is_in_the_first() {
    let csv = b"id,name\n1,a\n2,b\n3,c\n4,d\n5\n1,z\n";
    let shard =
        |shard| run_with(csv, ["dedup", "--csv", "name", "--quiet", "--shard", shard]).good();
    let [first, second] = ["1/2", "2/2"].map(shard);
    assert!(first.starts_with(b"id,name\n") && !second.starts_with(b"id"), "{first:?}");
    assert!(first.windows(3).any(|three| three == b"\n5\n"));
    assert_eq!(sorted(&[first, second].concat()), sorted(csv));
    let error = ["dedup", "--csv", "name", "--missing=error", "--shard"];
    let shard = |shard| run_with(csv, error.into_iter().chain([shard]));
    shard("1/2").failed(2, "coua: standard input: record 6: no column 2\n");
    assert_eq!(shard("2/2").code, Some(0));
}

#[test]
fn what_is_no_shard_is_refused() {
    for shard in ["0/2", "3/2", "1", "1/0", "x/y"] {
        let run = run(["dedup", "--shard", shard]);
        assert_eq!(run.code, Some(2));
        let reason = format!(
            "error: invalid value '{shard}' for '--shard <I/N>': expected I/N with I from 1 to N, \
             such as 2/8\n"
        );
        assert!(run.stderr.starts_with(&reason), "{}", run.stderr);
    }
}
