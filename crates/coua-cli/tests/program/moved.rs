//! A filter is one file, and may be copied, moved and replaced like any file.

use crate::support::{Folder, Repeats, coua, lines, run, run_in, run_with, shell, until, wait};
use coua_dev::cases::sample;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// A folder with a filter that has a log and remembers an interrupted run and one that has ended.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file(
        "many",
        (0..200_000).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat(),
    );
    run_in(&folder, &["add", "seen", "many", "--resume"]).good();
    folder.file("first", "a\nb\n");
    // A broken compressed file ends the run.
    folder.file("second", b"\x1f\x8b\x08\0broken");
    let args = ["add", "seen", "first", "second", "--checkpoint-every", "0"];
    assert_eq!(run_in(&folder, &args).code, Some(2));
    folder.file("second", "c\n");
    let info = run_in(&folder, &["info", "--json", "seen"]).json();
    assert!(info["transactions"].as_u64().unwrap() > 0, "{info}");
    folder
}

#[test]
fn a_filter_can_be_moved_copied_and_linked() {
    let scripts = [
        "mv seen other",
        "cp seen other",
        "ln seen other",
        "ln seen other; rm seen",
        "ln -s seen other",
        "cat seen >other; rm seen",
        "mkdir sub; mv seen sub; ln -s sub/seen other",
        "tar cf - seen | (mkdir sub; cd sub; tar xf -); mv sub/seen other",
    ];
    for script in sample(scripts, [3, 1]) {
        let folder = folder();
        let described = |name| {
            let mut info = run_in(&folder, &["info", "--json", name]).json();
            info.as_object_mut().unwrap().remove("file");
            (info, run_in(&folder, &["verify", name]).text().replace(name, ""))
        };
        let before = described("seen");
        shell(folder.path(), script).good();
        assert!(described("other") == before, "{script}");
        folder.file("asked", "a\nb\nc\n7\n");
        assert_eq!(run_in(&folder, &["check", "other", "asked"]).good(), b"a\nb\n7\n");
        run_in(&folder, &["add", "-q", "other", "many", "--resume"]).good();
        run_in(&folder, &["add", "-q", "other", "first", "second", "--resume"]).good();
        assert_eq!(
            run_in(&folder, &["count", "other", "asked"]).text(),
            "1\ta\n1\tb\n1\tc\n1\t7\n"
        );
    }
}

/// The copy is a committed state, or is recognized as damaged.
#[test]
fn a_copy_of_a_filter_that_is_written_is_whole_or_refused() {
    let folder = Folder::new();
    folder.file("many", lines(200_000, Repeats::Few));
    let filter = folder.join("seen");
    let (mut whole, mut copies) = (0, 0);
    for _ in 0..3 {
        let args = ["add", "-q", "--checkpoint-every", "0", "seen", "many"];
        let mut writer = coua(args).current_dir(folder.path()).spawn().unwrap();
        until(|| fs::metadata(&filter).is_ok_and(|found| found.len() > 0));
        while writer.try_wait().unwrap().is_none() {
            fs::copy(&filter, folder.join("copy")).unwrap();
            let verified = run_in(&folder, &["verify", "copy"]);
            let checked = run_in(&folder, &["check", "-c", "copy", "many"]);
            copies += 1;
            if verified.code == Some(0) {
                whole += 1;
                assert_eq!(checked.code, Some(0), "{}", checked.stderr);
            } else {
                assert!(
                    verified.code == Some(2) && verified.stderr.contains("copy: "),
                    "{}",
                    verified.stderr
                );
            }
        }
        assert!(wait(&mut writer).success());
    }
    assert!(whole > 0, "{whole} of {copies}");
}

#[test]
fn a_reader_finishes_with_the_filter_that_it_has_opened() {
    let folder = folder();
    let mut reader =
        coua(["check", "seen"]).current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = reader.stdin.take().unwrap();
    input.write_all(b"a\n").unwrap();
    let mut output = BufReader::new(reader.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    run_with(b"z\n", ["add", &folder.join("new")]).good();
    shell(folder.path(), "mv seen old; mv new seen").good();
    input.write_all(b"z\n7\nb\n").unwrap();
    drop(input);
    let rest: Vec<_> = output.lines().map(Result::unwrap).collect();
    assert_eq!((rest, wait(&mut reader).code()), (vec!["7".to_owned(), "b".to_owned()], Some(0)));
}

/// The writer changes the filter that has the name when its turn comes.
#[test]
fn a_filter_may_be_replaced_while_a_writer_waits() {
    let folder = Folder::new();
    let filter = folder.join("seen");
    let start = |line: &str| {
        let mut child = coua(["add", &filter]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        (child, input)
    };
    run_with(b"a\n", ["add", &filter]).good();
    let dedup = ["dedup", "--filter", &filter, "--checkpoint-every", "1000"];
    let mut holder = coua(dedup).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = holder.stdin.take().unwrap();
    input.write_all(b"b\n").unwrap();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let (mut waiting, its_input) = start("c\n");
    let mut said = BufReader::new(waiting.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.ends_with("seen: waiting for another process\n"), "{line}");
    run_with(b"new\n", ["add", &folder.join("new")]).good();
    shell(folder.path(), "mv new seen").good();
    drop(input);
    // The first writer's file is gone, so its changes are lost.
    assert_eq!(wait(&mut holder).code(), Some(2));
    drop(its_input);
    assert!(wait(&mut waiting).success());
    let counts = run_with(b"a\nb\nc\nnew\n", ["count", &filter]).text();
    assert_eq!(counts, "0\ta\n0\tb\n1\tc\n1\tnew\n");
    run(["verify", &filter]).text();
}
