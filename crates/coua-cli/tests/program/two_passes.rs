//! Options that need two passes over the records: the last record of each key, unique ones, and counts. The exact
//! output is tested in `which_copy`.

use crate::packed::COMPRESSIONS;
use crate::support::{Folder, coua, run_in, run_with, shell};
use coua_dev::cases::sample;
use std::fs;
use std::io::Write;

/// Without a key each record is unique, whatever is kept.
#[test]
fn records_without_a_key() {
    let text = b"a,1\nb\nc,1\nb\n";
    for (options, expected) in [
        (&["--keep", "last"][..], "b\nc,1\nb\n"),
        (&["--keep", "none"], "b\nb\n"),
        (&["-c"], "2\ta,1\n1\tb\n1\tb\n"),
        (&["-d", "--keep", "none"], "a,1\nc,1\n"),
    ] {
        let run = run_with(text, [&["dedup", "-k2", "-t,"], options].concat());
        assert_eq!(run.stdout, expected.as_bytes(), "{options:?}");
        assert_eq!(run.stderr.matches("2 records without a key").count(), 1, "{}", run.stderr);
    }
    run_with(b"a\nb\n", ["dedup", "-k2", "--keep", "none"]).failed(
        2,
        "coua: standard input: record 1: no field 2: no key in 2 records; fix the option that \
         selects keys, or add --missing\n",
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
    assert_eq!(dedup(&["--keep", "none", "-c"]), "count;id;v\n1;2;b\n");
}

/// The number of a header comes after its byte order mark, that of a record before all of the record. Messages are about
/// the columns of the input.
#[test]
fn numbers_are_before_byte_order_marks_of_records() {
    let run = run_with("\u{feff}id,v\n1,a\n1,b\n".as_bytes(), ["dedup", "--csv", "id", "-c"]);
    assert_eq!(run.text(), "\u{feff}count,id,v\n2,1,a\n");
    assert_eq!(
        run_with("\u{feff}a\nb\na\n".as_bytes(), ["dedup", "-c"]).text(),
        "2\t\u{feff}a\n1\tb\n"
    );
    let folder = Folder::new();
    run_with(b"a\n", ["add", "-q", &folder.join("f")]).good();
    let count = run_with("\u{feff}a\nb\n".as_bytes(), ["count", &folder.join("f")]);
    assert_eq!(count.text(), "1\t\u{feff}a\n0\tb\n");
    run_with(b"id,v\n", ["dedup", "--csv", "key", "-c"])
        .failed(2, "coua: standard input: no column \"key\" in the header (found id, v)\n");
}

/// Such lines are for spreadsheets, or have no meaning.
#[test]
fn lines_before_a_header_have_no_number() {
    let text = b"sep=,\n\nid,v\n1,a\n1,b\n";
    let run = run_with(text, ["dedup", "--csv", "id", "-c"]);
    assert_eq!(run.text(), "sep=,\n\ncount,id,v\n2,1,a\n");
}

#[test]
fn several_inputs_of_all_kinds() {
    let folder = Folder::new();
    let expected = "only\nb\na\nlast\n";
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
    // If standard input is a file, the rest of it is read twice.
    folder.file("lines", "x\na\nb\na\n");
    let rest = shell(folder.path(), "(read line; $COUA dedup --keep none) < lines").good();
    assert_eq!(rest, b"b\n");
    // It has nothing left for a second reader.
    let twice = shell(folder.path(), "(read line; $COUA dedup --keep none - -) < lines").good();
    assert_eq!(twice, b"b\n");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new();
    folder.file("in", "a\nb\n");
    for (options, words) in [
        (
            &["--keep", "last", "--filter", "f"][..],
            "--keep: reads the inputs twice, with its own filter",
        ),
        (&["-c", "--filter", "f"], "-c: reads the inputs twice"),
        (&["--keep", "none", "--window", "1h"], "--capacity, --rate or --window; drop one of them"),
        (
            &["--keep", "none", "--rate", "0.1", "--capacity", "9"],
            "--capacity, --rate or --window; drop one of them",
        ),
        (&["--keep", "third"], "invalid value 'third'"),
    ] {
        let run = run_in(&folder, &[&["dedup", "in"], options].concat());
        assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
        assert!(!folder.has("f"));
    }
    run_in(&folder, &["dedup", "--keep", "first", "--filter", "f", "in"]).text();
}

#[test]
fn a_copy_that_finds_no_room_is_told() {
    let folder = Folder::new();
    fs::create_dir(folder.join("none")).unwrap();
    fs::remove_dir(folder.join("none")).unwrap();
    let refused = shell(folder.path(), "seq 3 | TMPDIR=$PWD/none $COUA dedup --keep none -o out");
    assert!(
        refused.code == Some(2)
            && refused
                .stderr
                .contains("/none: cannot store a copy of standard input for the second pass: ")
    );
    assert!(!folder.has("out"));
    // At the limit of the file size.
    let script =
        "trap '' XFSZ; ulimit -f 8; seq 99999 | TMPDIR=$PWD $COUA dedup --keep none -o out";
    let full = shell(folder.path(), script);
    let words = ": cannot store a copy of standard input for the second pass: File too large (TMPDIR sets \
                 the folder)\n";
    assert!(full.code == Some(2) && full.stderr.ends_with(words), "{}", full.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

/// Memory for each key: a number of 8 bytes beside its hash, and room for growth.
#[test]
fn the_last_of_many_records_has_the_figures_of_dedup() {
    let folder = Folder::new();
    let lines = (0..700_000).map(|n| format!("{}\n", n % 600_000)).collect::<Vec<_>>().concat();
    folder.file("in", lines);
    let expected = (100_000..600_000).chain(0..100_000).map(|n| format!("{n}\n"));
    let expected = expected.collect::<String>().into_bytes();
    let last = run_in(&folder, &["dedup", "--keep", "last", "--stats=json", "in", "-o", "out"]);
    assert!(folder.read("out") == expected);
    let stats = crate::support::json(last.stderr.lines().last().unwrap());
    let memory = stats["memory_bytes"].as_u64().unwrap();
    assert!((600_000 * 16..600_000 * 45).contains(&memory), "{memory}");
    let plain = run_in(&folder, &["dedup", "--stats=json", "in"]);
    let plain = crate::support::json(plain.stderr.lines().last().unwrap());
    for name in ["records", "unique", "repeats", "items", "expected_wrongly_dropped"] {
        assert_eq!(stats[name], plain[name], "{name}");
    }
}

#[test]
fn a_full_disk_and_a_closed_pipe_end_the_second_pass() {
    let folder = Folder::new();
    folder.file("in", (0..200_000).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat());
    for threads in ["1", "3"] {
        let options = ["--keep last", "--keep none", "-c", "--keep last --compress zst"];
        for options in sample(options, [3, 1]) {
            let dedup = format!("$COUA dedup -j {threads} {options} in");
            let full = "No space left on device\n";
            let to_file = shell(folder.path(), &format!("{dedup} -o /dev/full"));
            to_file.failed(2, &format!("coua: /dev/full: {full}"));
            let to_stdout = shell(folder.path(), &format!("{dedup} > /dev/full"));
            to_stdout.failed(2, &format!("coua: standard output: {full}"));
            let script = format!("{{ {dedup}; echo $? >&2; }} | head -c 9 > /dev/null");
            shell(folder.path(), &script).failed(0, "0\n");
        }
    }
}

#[test]
fn figures_are_those_of_the_second_pass() {
    let run = run_with(b"a\nb\na\n", ["dedup", "--keep", "none", "--stats=json"]);
    let stats = crate::support::json(run.stderr.lines().last().unwrap());
    assert_eq!(run.stdout, b"b\n");
    assert_eq!(
        (&stats["records"], &stats["unique"], &stats["repeats"]),
        (&3.into(), &1.into(), &2.into())
    );
    assert!(stats["expected_wrongly_dropped"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["items"], 3, "two keys, and a copy of one");
}

/// During the first pass: a pipe with known records blocks it after the states of the inputs are noted.
#[test]
fn an_input_that_changes_in_the_first_pass_is_noticed() {
    let folder = Folder::new();
    let change = [
        "echo more >> in",
        "printf 'B\\n' | dd of=in conv=notrunc 2>&1 | grep -v B",
        "cp in other; mv other in",
        "rm in",
    ];
    for (change, output) in change.iter().flat_map(|it| [(it, "out"), (it, "out.zst")]) {
        let script = format!(
            "rm -f pipe; mkfifo pipe; printf 'a\\nb\\na\\n' > in
            $COUA dedup --keep last --known pipe in -o {output} & exec 3> pipe
            sleep 0.02; {change}; exec 3>&-; wait $!"
        );
        let run = shell(folder.path(), &script);
        let words = if *change == "rm in" {
            "coua: in: No such file or directory\n"
        } else {
            "coua: in: changed while it was read twice, so the output may be wrong; run the \
             command again\n"
        };
        run.failed(2, words);
        assert!(!folder.has(output), "{change}");
    }
}

/// A file that grows during the second pass: the output is reported as unreliable.
#[test]
fn an_input_that_changes_in_the_second_pass_is_noticed() {
    let folder = Folder::new();
    let lines = (0..400_000).map(|n| format!("{}\n", n % 300_000)).collect::<Vec<_>>().concat();
    let file = folder.file("in", &lines);
    let (mut pipe, writer) = std::io::pipe().unwrap();
    let mut command = coua(["dedup", "--keep", "none", &file]);
    let mut child = command.stdout(writer).spawn().unwrap();
    // The command holds the other end of the pipe.
    drop(command);
    // The first byte shows that the second pass has begun; the pipe is too small for all of the output.
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut pipe, &mut first).unwrap();
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"more\n").unwrap();
    std::io::copy(&mut pipe, &mut std::io::sink()).ok();
    let messages = crate::support::messages(&mut child);
    assert_eq!(crate::support::wait(&mut child).code(), Some(2));
    assert!(messages.contains("/in: changed while it was read twice"), "{messages}");
}
