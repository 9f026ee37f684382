//! What needs two passes over the records: the last one of each key, those that are alone, and how many there are.

use crate::packed::COMPRESSIONS;
use crate::support::{Folder, coua, run, run_in, run_with, shell};
use coua_dev::random::Random;
use std::collections::HashMap;
use std::fs;
use std::io::Write;

/// Lines of which many are alike: some once, most a few times, and a hot one.
fn text(random: &mut Random, lines: u64) -> Vec<String> {
    let line = |_| match random.below(10) {
        0 => "hot hot".to_owned(),
        1..4 => format!("alone {}", random.next()),
        _ => format!("line {}", random.below(lines / 4 + 1)),
    };
    (0..lines).map(line).collect()
}

/// What is expected of `keep`, without the options and with them: (printed, the others), each record after the number of
/// those with its key.
fn model<'a>(lines: &'a [String], keep: &str, key: fn(&str) -> &str) -> [Vec<(u64, &'a str)>; 2] {
    let mut totals: HashMap<&str, u64> = HashMap::new();
    for line in lines {
        *totals.entry(key(line)).or_default() += 1;
    }
    let mut before: HashMap<&str, u64> = HashMap::new();
    let mut both = [Vec::new(), Vec::new()];
    for line in lines {
        let (total, before) = (totals[key(line)], before.entry(key(line)).or_default());
        let is_kept = match keep {
            "first" => *before == 0,
            "last" => *before + 1 == total,
            _ => total == 1,
        };
        *before += 1;
        both[usize::from(!is_kept)].push((total, line.as_str()));
    }
    both
}

fn printed(records: &[(u64, &str)]) -> String {
    records.iter().flat_map(|(_, line)| [line, "\n"]).collect()
}

fn printed_with_counts(records: &[(u64, &str)]) -> String {
    let lines = records.iter().map(|(total, line)| format!("{total}\t{line}\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn all_ways_agree_with_a_model() {
    let mut random = Random::new(5);
    for (lines, key_options) in [(0, &[][..]), (1, &[]), (300, &[]), (300, &["-k2"]), (60_000, &[])]
    {
        let lines = text(&mut random, lines);
        let input = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
        let key: fn(&str) -> &str = match key_options {
            [] => |line| line,
            _ => |line| line.split(' ').nth(1).unwrap_or(line),
        };
        let folder = Folder::new();
        let file = folder.file("in", &input);
        for keep in ["first", "last", "none"] {
            let [kept, others] = model(&lines, keep, key);
            for (more, expected) in [
                (&[][..], printed(&kept)),
                (&["-d"], printed(&others)),
                (&["-c"], printed_with_counts(&kept)),
                (&["-d", "-c"], printed_with_counts(&others)),
            ] {
                for threads in ["1", "2", "3", "8"] {
                    let options = ["dedup", "--keep", keep, "-j", threads];
                    let command = [&options[..], more, key_options].concat();
                    let of_file = run([&command[..], &[&file]].concat()).stdout;
                    assert!(of_file == expected.as_bytes(), "{command:?}");
                }
                let command = [&["dedup", "--keep", keep], more, key_options].concat();
                let piped = run_with(input.as_bytes(), &command).stdout;
                assert!(piped == expected.as_bytes(), "{command:?}");
            }
        }
    }
}

/// Without a key each record is alone, whatever is kept.
#[test]
fn records_without_a_key() {
    let text = b"a,1\nb\nc,1\nb\n";
    for (options, expected) in [
        (&["--keep", "last"][..], "b\nc,1\nb\n"),
        (&["-u"], "b\nb\n"),
        (&["-c"], "2\ta,1\n1\tb\n1\tb\n"),
        (&["-d", "-u"], "a,1\nc,1\n"),
    ] {
        let run = run_with(text, [&["dedup", "-k2", "-t,"], options].concat());
        assert_eq!(run.stdout, expected.as_bytes(), "{options:?}");
        assert_eq!(run.stderr.matches("2 records without a key").count(), 1, "{}", run.stderr);
    }
    run_with(b"a\nb\n", ["dedup", "-k2", "-u"]).failed(
        2,
        "coua: standard input: record 1: no field 2: no key in 2 records; correct the option that says where \
         keys are, or add --on-missing\n",
    );
}

#[test]
fn csv_has_its_header_once_and_a_name_for_the_number() {
    let text = b"id;v\n1;a\n2;b\n1;c\n";
    let dedup = |options: &[&str]| {
        run_with(text, [&["dedup", "--csv", "id", "-t", ";"], options].concat()).text()
    };
    assert_eq!(dedup(&["--keep", "last"]), "id;v\n2;b\n1;c\n");
    assert_eq!(dedup(&["-c"]), "count;id;v\n2;1;a\n1;2;b\n");
    assert_eq!(dedup(&["-u", "-c"]), "count;id;v\n1;2;b\n");
}

/// They say something to spreadsheets, or to nobody.
#[test]
fn lines_before_a_header_have_no_number() {
    let text = b"sep=,\n\nid,v\n1,a\n1,b\n";
    let run = run_with(text, ["dedup", "--csv", "id", "-c"]);
    assert_eq!(run.text(), "sep=,\n\ncount,id,v\n2,1,a\n");
}

#[test]
fn several_inputs_of_all_kinds() {
    let folder = Folder::new();
    let expected = "only\nb\na\nlast";
    for (name, compress) in COMPRESSIONS {
        let file = folder.file(&format!("in.{name}"), compress(b"a\nonly\nb\n"));
        let script = format!("$COUA dedup --keep last {file} <(printf 'b\\na\\n') - < last");
        folder.file("last", "last");
        let bash = std::process::Command::new("bash")
            .args(["-c", &script])
            .env("COUA", env!("CARGO_BIN_EXE_coua"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&bash.stdout), expected, "{name}");
    }
    // Of a file that is standard input, the rest is read twice.
    folder.file("lines", "x\na\nb\na\n");
    let rest = shell(folder.path(), "(read line; $COUA dedup -u) < lines").good();
    assert_eq!(rest, b"b\n");
    let tee = run_in(&folder, &["dedup", "--keep", "last", "--tee-dups", "others", "lines"]).text();
    assert_eq!((tee.as_str(), folder.read("others")), ("x\nb\na\n", b"a\n".to_vec()));
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new();
    folder.file("in", "a\nb\n");
    for (options, words) in [
        (
            &["--keep", "last", "--filter", "f"][..],
            "--keep last: reads the inputs twice, with a filter of its own",
        ),
        (&["-c", "--filter", "f"], "-c: reads the inputs twice"),
        (&["-u", "--window", "1h"], "--keep none: reads the inputs twice, and remembers all bits"),
        (
            &["-u", "--rate", "0.1", "--max-items", "9"],
            "drop options about rates, numbers of items and windows",
        ),
        (&["-u", "--keep", "first"], "cannot be used with"),
        (&["--keep", "third"], "invalid value 'third'"),
    ] {
        let run = run_in(&folder, &[&["dedup", "in"], options].concat());
        assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
        assert!(!folder.has("f"));
    }
    run_with(b"a\n", ["dedup", "-u", "--no-spool"]).failed(
        2,
        "coua: standard input: can be read only once, but this job reads its inputs twice: drop --no-spool, or give a file\n",
    );
    assert_eq!(run_in(&folder, &["dedup", "-u", "--no-spool", "in"]).text(), "a\nb\n");
    run_in(&folder, &["dedup", "--keep", "first", "--filter", "f", "in"]).text();
}

#[test]
fn a_copy_that_finds_no_room_is_told() {
    let folder = Folder::new();
    fs::create_dir(folder.join("none")).unwrap();
    fs::remove_dir(folder.join("none")).unwrap();
    let refused = shell(folder.path(), "seq 3 | TMPDIR=$PWD/none $COUA dedup -u -o out");
    assert!(
        refused.code == Some(2)
            && refused.stderr.contains("/none: a copy of standard input for the second pass: ")
    );
    assert!(!folder.has("out"));
}

#[test]
fn figures_are_those_of_the_second_pass() {
    let run = run_with(b"a\nb\na\n", ["dedup", "-u", "--stats=json"]);
    let stats = crate::support::json(run.stderr.lines().last().unwrap());
    assert_eq!(run.stdout, b"b\n");
    assert_eq!(
        (&stats["records"], &stats["unique"], &stats["repeats"]),
        (&3.into(), &1.into(), &2.into())
    );
    assert!(stats["expected_wrongly_dropped"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["items"], 3, "two keys, and a copy of one");
}

/// A file that grows between the passes: what is printed is not called right.
#[test]
fn an_input_that_changes_is_noticed() {
    let folder = Folder::new();
    let lines = (0..400_000).map(|n| format!("{}\n", n % 300_000)).collect::<Vec<_>>().concat();
    let file = folder.file("in", &lines);
    let (mut pipe, writer) = std::io::pipe().unwrap();
    let mut command = coua(["dedup", "-u", &file]);
    let mut child = command.stdout(writer).spawn().unwrap();
    // It has the other end of the pipe.
    drop(command);
    // The first output says that the second pass is at work; the pipe is too small for all of it.
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut pipe, &mut first).unwrap();
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"more\n").unwrap();
    std::io::copy(&mut pipe, &mut std::io::sink()).ok();
    let messages = crate::support::messages(&mut child);
    assert_eq!(crate::support::wait(&mut child).code(), Some(2));
    assert!(messages.contains("/in: was changed while it was read twice"), "{messages}");
}
