//! Inputs at a limit: giant records, and more files than a filter records or than may be open. They cannot be smaller, so
//! `scripts/check` leaves them out.

use crate::output_dir::tree;
use crate::support::{Folder, coua, run, run_as_is, run_in, run_with, shell};
use coua_dev::random::Random;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

#[test]
fn a_line_of_100_megabytes() {
    let folder = Folder::new();
    let mut line = vec![b'x'; 100_000_000];
    line.push(b'\n');
    let text = [b"a\n", line.as_slice(), b"b\n", &line, b"a\n"].concat();
    let file = folder.file("long", &text);
    let unique = [b"a\n", line.as_slice(), b"b\n"].concat();
    assert!(run(["dedup", &file]).good() == unique);
    assert!(run_with(&text, ["dedup"]).good() == unique);
    // The same without the line end.
    let file = folder.file("long", &line[..line.len() - 1]);
    assert!(run(["dedup", "-j1", &file]).good() == line);
}

/// The record fits into memory, but not together with its key.
#[cfg(target_os = "linux")]
#[test]
fn a_giant_record_without_memory_for_its_key_is_told() {
    let folder = Folder::new();
    fs::File::create(folder.join("big")).unwrap().set_len(300_000_000).unwrap();
    for option in ["--trim", "--ignore-case", "-k 1", "--csv 1", "--url", "--json /a"] {
        let script = format!("ulimit -v 700000; $COUA dedup -q -j1 {option} big");
        shell(folder.path(), &script)
            .failed(2, "coua: big: no memory for a record of more than 299999999 bytes\n");
    }
}

/// A giant record takes memory once, whatever follows it.
#[cfg(target_os = "linux")]
#[test]
fn short_records_behind_a_giant_take_no_memory() {
    let folder = Folder::new();
    folder.file("big", [vec![b'x'; 33_600_000], vec![b'\n'; 33_400_000]].concat());
    let found = shell(folder.path(), "ulimit -v 400000; $COUA dedup -j1 big | wc -c").text();
    assert_eq!(found.trim(), "33600002");
}

/// Fields after the last wanted one take no memory either.
#[cfg(target_os = "linux")]
#[test]
fn a_record_of_commas_takes_no_memory_for_its_columns() {
    let folder = Folder::new();
    folder.file("commas", vec![b','; 20_000_000]);
    let script = "ulimit -v 240000; $COUA dedup -j1 --csv 1 commas | wc -c";
    assert_eq!(shell(folder.path(), script).text().trim(), "20000001");
    folder.file("named", [b"id".to_vec(), vec![b','; 20_000_000]].concat());
    let script = "ulimit -v 240000; $COUA dedup -j1 --csv id named | wc -c";
    assert_eq!(shell(folder.path(), script).text().trim(), "20000003");
    // Unless all fields are wanted.
    let script = "ulimit -v 240000; $COUA dedup -j1 --csv 2- commas";
    shell(folder.path(), script)
        .failed(2, "coua: commas: no memory for a record of more than 19999999 bytes\n");
}

/// More records in each shard than are kept in memory.
#[test]
fn the_last_of_many_lines() {
    let (folder, mut random) = (Folder::new(), Random::new(9));
    let lines: Vec<String> =
        (0..1_500_000).map(|_| format!("{}\n", random.below(400_000))).collect();
    let file = folder.file("in", lines.concat());
    let last: HashMap<&str, usize> =
        lines.iter().enumerate().map(|(nth, line)| (&**line, nth)).collect();
    let expected: String = lines
        .iter()
        .enumerate()
        .filter(|(nth, line)| last[&***line] == *nth)
        .map(|(_, line)| line.as_str())
        .collect();
    for threads in ["1", "2", "3", "8", "40"] {
        let ours = run(["dedup", "-j", threads, "--keep", "last", &file]).text();
        assert!(ours == expected, "-j {threads}");
    }
}

/// Only one segment at a time is in memory; commands that need the whole filter say what to do.
#[cfg(target_os = "linux")]
#[test]
fn verify_takes_little_memory() {
    use crate::support::{Repeats, lines};
    let folder = Folder::new();
    let growing = ["add", "--capacity", "20M", &folder.join("grow")];
    run_with(&lines(1_000, Repeats::Few), growing).good();
    let fixed = ["add", "--capacity", "40M", "--rate", "0.001", "--when-full=stop"];
    let name = folder.join("fixed");
    let fixed = [&fixed[..], &[&name]].concat();
    run_with(&lines(1_000, Repeats::Few), fixed).good();
    let limited = |words: &str| shell(folder.path(), &format!("ulimit -v 60000; $COUA {words}"));
    for name in ["grow", "fixed"] {
        let bytes = folder.read(name);
        assert!(bytes.len() > 65_000_000, "more than the limit");
        let intact = limited(&format!("verify {name}")).text();
        assert!(intact.starts_with(&format!("{name}: intact, ")), "{intact}");
        for at in [100, bytes.len() / 2, bytes.len() - 200] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            folder.file("damaged", damaged);
            let run = limited("verify damaged");
            assert!(
                run.code == Some(2) && run.stderr.contains("damaged: "),
                "{at}: {}",
                run.stderr
            );
        }
        let rest = "free some memory, or raise the limit of this process (ulimit -v)\n";
        for words in [format!("compact {name}"), format!("merge -o both {name} {name}")] {
            let run = limited(&words);
            assert_eq!(run.code, Some(2), "{}", run.stderr);
            let begin = format!("coua: {name}: out of memory: ");
            assert!(run.stderr.starts_with(&begin) && run.stderr.ends_with(rest), "{}", run.stderr);
        }
        assert!(folder.read(name) == bytes && !folder.has("both"));
    }
}

/// Only one output is open at a time.
#[test]
fn there_may_be_more_inputs_than_files_may_be_open() {
    let folder = Folder::new();
    fs::create_dir(folder.join("in")).unwrap();
    for number in 0..2_000 {
        folder.file(&format!("in/{number}"), format!("{number}\n{}\nhot\n", number / 2));
    }
    let script = "ulimit -n 40; $COUA dedup -j3 --filter seen --output-dir out in/*";
    shell(folder.path(), script).good();
    let found = tree(Path::new(&folder.join("out")));
    assert_eq!(found.len(), 2_000);
    let lines: usize =
        found.values().map(|text| text.split(|byte| *byte == b'\n').count() - 1).sum();
    assert_eq!(lines, 2_001);
    // `info` does not list a thousand outputs in full.
    let info = run_in(&folder, &["info", "seen"]).text();
    assert!(info.lines().count() < 40, "{info}");
}

/// Inputs whose names do not fit into a frame of the log.
#[test]
fn a_run_of_too_many_inputs_is_not_recorded() {
    let folder = Folder::new();
    let deep = folder.deep(3_800);
    fs::write(deep.join("a"), "one\n").unwrap();
    let filter = folder.join("seen");
    let with = |option: &'static str| {
        let mut command = coua(["add", "--unique", &filter, option]);
        run_as_is(command.args(vec!["a"; 20_000]).current_dir(&deep))
    };
    let reason = "it has 20,000 files with ";
    let refused = with("--resume");
    assert!(refused.code == Some(2), "{}", refused.stderr);
    assert!(refused.stderr.starts_with(&format!("coua: --resume: {reason}")), "{}", refused.stderr);
    assert!(!folder.has("seen"));
    let told = with("--trim");
    let words = format!("coua: this run cannot be resumed after an interruption: {reason}");
    assert!(told.code == Some(0) && told.stderr.starts_with(&words), "{}", told.stderr);
    assert_eq!(told.stderr.lines().count(), 1);
    with("--quiet").good();
    let mut piped = coua(["dedup", "--filter", &filter]);
    run_as_is(piped.args(vec!["a"; 20_000]).current_dir(&deep)).good();
    let items = run(["info", "--json", &filter]).json();
    assert_eq!((&items["items"], &items["unfinished_run"]), (&1.into(), &serde_json::Value::Null));
}

/// Each file's position is a note of the filter.
#[test]
fn more_files_than_a_filter_has_notes_for_are_refused() {
    let folder = Folder::new();
    fs::write(folder.join("a"), "one\n").unwrap();
    fs::write(folder.join("names"), "a\n".repeat((1 << 19) + 1)).unwrap();
    let filter = folder.join("seen");
    let mut command = coua(["add", "--unique", &filter, "--resume", "--files-from", "names"]);
    let refused = run_as_is(command.current_dir(folder.path()));
    let reason = "coua: --resume: it has 524,289 files with ";
    assert!(refused.code == Some(2) && refused.stderr.starts_with(reason), "{}", refused.stderr);
    assert!(!folder.has("seen"));
}
