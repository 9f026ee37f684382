//! An output with content is never emptied while the filter holds items.

use super::rounds;
use crate::compressed::unpacked;
use crate::output_dir::tree;
use crate::support::{
    Folder, Repeats, Run, coua, expected, lines, run_in, run_with, shell, until, wait,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

const APPEND: &str = "; append with --append, or move the file away\n";

#[track_caller]
fn refused(run: &Run, words: &str) {
    assert!(run.code == Some(2) && run.stderr.ends_with(words), "{:?} {}", run.code, run.stderr);
}

fn items(folder: &Folder, filter: &str) -> u64 {
    run_in(folder, &["info", "--json", filter]).json()["items"].as_u64().unwrap()
}

/// A service that is killed, and started again by the same command.
#[test]
fn the_output_of_a_stream_is_kept() {
    for (options, name) in [(&[][..], "out"), (&["--compress", "gz"], "out"), (&[], "out.zst")] {
        let folder = Folder::new();
        folder.file("in", "a\nb\n");
        let dedup = ["dedup", "--filter", "f", "-o", name, "--checkpoint-every", "0.01"];
        let dedup = [&dedup, options].concat();
        let mut command = coua(&dedup);
        let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"a\nb\n").unwrap();
        let items = || run_in(&folder, &["check", "-c", "f", "in"]).stdout;
        until(|| items() == b"2\n");
        child.kill().unwrap();
        wait(&mut child);
        let before = folder.read(name);
        assert_eq!(unpacked(&before), b"a\nb\n");
        let feed = |text: &str, more: &str| {
            let words = [&dedup.join(" "), more].join(" ");
            shell(folder.path(), &format!("printf '{text}' | $COUA {words}"))
        };
        refused(&feed("b\nc\n", ""), APPEND);
        assert_eq!(folder.read(name), before);
        feed("b\nc\n", "--append").good();
        assert_eq!(unpacked(&folder.read(name)), b"a\nb\nc\n");
        refused(&feed("b\nc\n", ""), APPEND);
        assert_eq!(unpacked(&folder.read(name)), b"a\nb\nc\n");
        let named = ["dedup", "--filter", "f", "-o", name, "in"];
        folder.file("in", "d\n");
        refused(&run_in(&folder, &[&named, options].concat()), APPEND);
        // Standard input is silent now, and all is in order.
        feed("", "--append").good();
        assert_eq!(unpacked(&folder.read(name)), b"a\nb\nc\n");
    }
}

/// What was in the output before is kept, even if nothing was committed of what was appended.
#[test]
fn an_output_is_kept_when_a_run_that_appends_is_killed_early() {
    let lines = (0..200_000).fold(String::new(), |lines, n| lines + &format!("{n:050}\n"));
    for from in ["in", "<in"] {
        let folder = Folder::new();
        folder.file("in", "first\n");
        folder.file("other", "x\n");
        let dedup = "$COUA dedup -j1 --filter f --checkpoint-every 1000 -o out";
        shell(folder.path(), &format!("{dedup} --append {from}")).good();
        folder.file("in", &lines);
        let killed = format!("ulimit -c 0; ulimit -f 17000; exec {dedup} --append {from}");
        assert_eq!(shell(folder.path(), &killed).code, None, "killed");
        let refused = shell(folder.path(), &format!("{dedup} other"));
        let words = "/out: holds the output of ";
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{}", refused.stderr);
        assert!(folder.read("out").starts_with(b"first\n"), "{from}");
        if from == "<in" {
            let append = || shell(folder.path(), &format!("{dedup} --append other"));
            let (refused, out) = (append(), folder.read("out"));
            let words = " bytes at its end, which an interrupted `coua dedup` wrote; cut them off with `truncate -s 6 ";
            assert!(
                refused.code == Some(2) && refused.stderr.contains(words),
                "{}",
                refused.stderr
            );
            assert!(folder.read("out") == out);
            shell(folder.path(), "truncate -s 6 out").good();
            append().good();
            assert_eq!(folder.read("out"), b"first\nx\n");
        }
    }
}

/// Repeats are remembered too.
#[test]
fn outputs_of_repeats_are_kept() {
    let folder = Folder::new();
    folder.file("in", "a\na\n");
    let script = |more: &str| shell(folder.path(), &format!("$COUA dedup --filter f {more}"));
    script("-d -o tee in").good();
    assert_eq!(folder.read("tee"), b"a\n");
    refused(&script("-o tee in"), APPEND);
    refused(&script("-d -o tee < in"), APPEND);
    assert_eq!((folder.read("tee"), items(&folder, "f")), (b"a\n".to_vec(), 1));
}

/// Whatever its inputs and outputs are.
#[test]
fn the_same_finished_command_does_nothing() {
    let folder = Folder::new();
    folder.file("a", "1\n2\n");
    folder.file("b", "2\n3\n");
    shell(folder.path(), "gzip < /dev/null > empty.gz").good();
    for command in [
        "dedup --filter f1 -o out1 a b",
        "dedup --filter f2 -o out2.zst a b",
        "dedup --filter f3 --output-dir out3 --compress gz b a",
        "dedup --filter f4 -d -o out4 a b",
        "dedup --filter f6 -o out6 empty.gz a b",
    ] {
        shell(folder.path(), &format!("$COUA {command}")).good();
        let before = tree(folder.path());
        let again = shell(folder.path(), &format!("$COUA {command}"));
        let words = ": is finished already; nothing to do\n";
        assert!(again.code == Some(0) && again.stderr.ends_with(words), "{}", again.stderr);
        shell(folder.path(), &format!("$COUA {command} -q")).good();
        let figures = shell(folder.path(), &format!("$COUA {command} -q --stats=json"));
        assert!(figures.stderr.contains("\"records\":4,"), "{}", figures.stderr);
        assert!(tree(folder.path()) == before, "{command}");
    }
}

/// A finished run goes on with further inputs, anywhere in the list, and an interrupted one too.
#[test]
fn a_run_goes_on_with_further_inputs() {
    for to in ["-o out", "-o out.gz", "--output-dir out"] {
        let folder = Folder::new();
        for (name, text) in [("1", "a\nb"), ("2", "b\nc\n"), ("3", "c\nd\n"), ("4", "a\ne\n")] {
            folder.file(name, text);
        }
        let dedup = format!("$COUA dedup --filter f {to} --resume");
        let mut printed = Vec::new();
        for inputs in ["2", "2", "1 2", "1 2 4", "3 1 2 4", "3 1 2 4", "1 2"] {
            shell(folder.path(), &format!("{dedup} {inputs}")).good();
            printed.push(printed_records(&folder));
        }
        let counts: Vec<_> = printed.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 2, 3, 4, 5, 5, 5], "{to}: {printed:?}");
        assert_eq!(printed.concat().iter().collect::<BTreeSet<_>>().len(), 5);
        assert_eq!(items(&folder, "f"), 5);
    }
}

/// The lines of all outputs.
fn printed_records(folder: &Folder) -> Vec<String> {
    let files = tree(folder.path());
    let out = files.iter().filter(|(name, _)| name.starts_with("out"));
    let text: Vec<_> = out.map(|(_, bytes)| unpacked(bytes)).collect();
    let lines = text.iter().flat_map(|text| std::str::from_utf8(text).unwrap().lines());
    lines.map(str::to_owned).collect()
}

/// An output without a known input of that run is not taken for a new one.
#[test]
fn an_unknown_output_of_a_further_input_is_kept() {
    let folder = Folder::new();
    folder.file("1", "a\n");
    folder.file("2", "b\n");
    let dedup = ["dedup", "--filter", "f", "--output-dir", "out", "--resume"];
    run_in(&folder, &[&dedup[..], &["1"]].concat()).good();
    fs::write(folder.join("out/2"), "mine\n").unwrap();
    let run = run_in(&folder, &[&dedup[..], &["1", "2"]].concat());
    refused(
        &run,
        "/out/2: --resume: no run with these inputs and options wrote this file; move the file away\n",
    );
    assert_eq!(folder.read("out/2"), b"mine\n");
}

/// A run that was killed goes on with one more input: nothing is lost or printed twice.
#[test]
fn a_killed_run_goes_on_with_a_further_input() {
    let was_killed = rounds().any(|count| {
        let (folder, text) = (Folder::new(), lines(count, Repeats::Many));
        folder.file("many", &text);
        folder.file("first", "one more\n");
        let dedup = ["dedup", "--filter", "f", "-o", "out.zst", "--resume"];
        let every = [&dedup[..], &["--checkpoint-every", "0", "many"]].concat();
        let mut child = coua(every).current_dir(folder.path()).spawn().unwrap();
        let has_written = || fs::metadata(folder.join("out.zst")).is_ok_and(|it| it.len() > 9_000);
        until(|| has_written() || child.try_wait().unwrap().is_some());
        child.kill().ok();
        let was_killed = !wait(&mut child).success();
        for _ in 0..2 {
            run_in(&folder, &[&dedup[..], &["first", "many"]].concat()).good();
            let sorted = |text: &[u8]| {
                let mut lines: Vec<_> = text.split(|it| *it == b'\n').map(<[u8]>::to_vec).collect();
                lines.sort_unstable();
                lines
            };
            let whole = [b"one more\n", &text[..]].concat();
            assert!(sorted(&unpacked(&folder.read("out.zst"))) == sorted(&expected(&whole)));
        }
        was_killed
    });
    assert!(was_killed, "no run was caught at work");
}

/// What other runs leave in the notes makes no run with the option be forgotten.
#[test]
fn many_other_runs_make_none_be_forgotten() {
    let folder = Folder::new();
    folder.file("in", "a\n");
    let add = || run_in(&folder, &["add", "f", "in", "--resume"]).good();
    add();
    for number in 0..70 {
        let output = folder.join(&format!("out{number}"));
        let text = format!("{number}\n");
        run_with(text.as_bytes(), ["dedup", "--filter", &folder.join("f"), "-o", &output]).good();
    }
    add();
    assert_eq!(items(&folder, "f"), 71);
}

/// An empty list is no error.
#[test]
fn no_inputs_have_no_outputs() {
    let folder = Folder::new();
    folder.file("list", "");
    for options in ["", "--filter f", "--filter f --resume", "--keep last"] {
        let dedup = format!("$COUA dedup --files-from list --output-dir out {options}");
        shell(folder.path(), &dedup).good();
    }
    assert!(!folder.has("out"));
}

/// Nothing is copied before all is known to be in order: standard input never ends here.
#[test]
fn two_passes_are_refused_before_their_input_is_copied() {
    let folder = Folder::new();
    folder.file("file", "");
    for options in [
        "-o no/such/folder",
        "-o .",
        "-o out --secret missing",
        "-o out.xz",
        "-o out --known missing",
    ] {
        let words = [&["dedup", "--keep", "none"][..], &options.split(' ').collect::<Vec<_>>()];
        let mut command = coua(words.concat());
        command.current_dir(folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // It may have ended already.
        input.write_all(b"a\n").ok();
        assert_eq!(wait(&mut child).code(), Some(2), "{options}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        drop(input);
        assert!(!folder.has("out"), "{options}");
    }
}

/// Whatever it holds, and whatever the filter's notes know of it.
#[test]
fn an_output_is_never_emptied_while_the_filter_holds_items() {
    let cases = [
        ("cp a x; dedup -o y b; dedup -o x big", "x"),
        ("cp a x; dedup -o y b; dedup --resume -o x big", "x"),
        ("cp a x; dedup -o y b; dedup -d -o x b", "x"),
        ("mkdir d; cp a d/b; dedup -o y b2; dedup --output-dir d b b2", "d/b"),
        ("dedup -o out a; mv out x; dedup -o x b", "x"),
        ("dedup a > x; dedup -o x b", "x"),
        ("dedup -o x a; for i in $(seq 65); do echo $i | dedup -o o$i; done; dedup -o x b", "x"),
        ("dedup -o out.gz a; mv out.gz o.gz; dedup -o o.gz b; gzip -dc o.gz > x", "x"),
        ("dedup -o out a; mv out x; ln -s x out; dedup -o out b", "x"),
        ("dedup -o x a; (ulimit -f 400; dedup --append -o x big); dedup --resume -o x big", "x"),
        (
            "(ulimit -f 100; dedup -o x big); : > x; ln x y; dedup -o y a; dedup --resume -o x big",
            "x",
        ),
        // What the second run would find in the output is not all that the first has written there.
        (
            "dedup --shard 1/2 -o x a; dedup --shard 2/2 -o x a; dedup --append -o x a; sort x -o x",
            "x",
        ),
        ("dedup -o x.gz a; dedup --compress none -o x.gz b; gzip -dc x.gz > x", "x"),
        ("dedup -o x a; dedup -0 -o x b", "x"),
        ("dedup -o x a; dedup --comment 1 -o x b", "x"),
        ("cp a x; dedup --window 8-items -o x --append big; dedup --window 8-items -o x b", "x"),
        ("cp a x; dedup -o x --append b; cat big >> x; dedup -o x --append b2; dedup -o x b", "x"),
    ];
    for (script, output) in cases {
        let folder = Folder::new();
        folder.file("a", "1 of a\n2 of a\n3 of a\n");
        folder.file("b", "1 of b\n2 of b\n3 of b\n");
        folder.file("b2", "another\n");
        folder.file("big", lines(200_000, Repeats::Few));
        let dedup = "dedup() { $COUA dedup -q --filter f \"$@\"; }";
        shell(folder.path(), &format!("{dedup}\n{script}"));
        let kept = folder.read(output);
        let kept = String::from_utf8_lossy(&kept);
        assert!(kept.starts_with("1 of a\n2 of a\n3 of a\n"), "{script}: {kept:.60}");
    }
}

/// Outputs have the names of their inputs below the folder of all of them.
#[test]
fn inputs_of_other_folders_rename_no_outputs() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        fs::create_dir(folder.join(name)).unwrap();
        folder.file(&format!("{name}/1"), format!("{name}\n"));
    }
    let dedup = |inputs: &str| {
        shell(folder.path(), &format!("$COUA dedup --filter f --output-dir out --resume {inputs}"))
    };
    dedup("a/1").good();
    refused(&dedup("a/1 b/1"), "/out/a/1 now; use the same inputs and folder, or another filter\n");
    assert!(folder.read("out/1") == b"a\n" && !folder.has("out/a"));
}

/// Its records are remembered, so nothing is printed; that is told.
#[test]
fn a_finished_command_whose_output_is_gone_says_so() {
    let folder = Folder::new();
    folder.file("in", "a\nb\n");
    let dedup = || run_in(&folder, &["dedup", "--filter", "f", "-o", "out", "in"]);
    dedup().good();
    for script in ["rm out", ": > out", "rm -f out"] {
        shell(folder.path(), script).good();
        let again = dedup();
        let words = "/out is gone; what f remembers of it is not printed again, except with another filter\n";
        assert!(again.code == Some(0) && again.stderr.ends_with(words), "{}", again.stderr);
        assert_eq!(folder.read("out"), b"");
        shell(folder.path(), "rm f out").good();
        dedup().good();
    }
}
