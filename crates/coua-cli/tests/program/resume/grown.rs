//! Inputs that have grown when the run is resumed, like logs from one night to the next.

use super::rounds;
use crate::support::{Folder, Repeats, coua, expected, lines, run_in, until, wait};
use std::fs;
use std::io::Write;
use std::process::Stdio;

const DEDUP: &[&str] = &["dedup", "--filter", "seen", "-o", "out", "--resume"];

fn append(folder: &Folder, name: &str, text: impl AsRef<[u8]>) {
    let mut file = fs::File::options().append(true).open(folder.join(name)).unwrap();
    file.write_all(text.as_ref()).unwrap();
}

#[track_caller]
fn done(folder: &Folder, command: &[&str], inputs: &[&str]) {
    run_in(folder, &[command, inputs].concat()).good();
}

/// The last record of the input has become longer.
#[track_caller]
fn done_with_longer(folder: &Folder, command: &[&str], inputs: &[&str], record: u64) {
    let run = run_in(folder, &[command, inputs].concat());
    let told = format!(
        "coua: a: record {record}: has grown since it was processed; it counts as another record, which is a repeat if \
         it has the same key\n"
    );
    assert_eq!((run.code, run.stderr), (Some(0), told));
}

/// Lines, each preceded by the number of its copies in the filter.
fn counted(folder: &Folder, text: &str) -> String {
    folder.file("asked", text);
    run_in(folder, &["count", "seen", "asked"]).text()
}

/// A folder with two inputs.
fn two() -> Folder {
    let folder = Folder::new();
    folder.file("a", "a1\na2\n");
    folder.file("b", "b1\nb2\nb3\n");
    folder
}

#[test]
fn every_input_may_grow() {
    let folder = two();
    folder.file("empty", "");
    let inputs = ["empty", "a", "b"];
    done(&folder, DEDUP, &inputs);
    append(&folder, "a", "a3\na4\n");
    done(&folder, DEDUP, &inputs);
    assert_eq!(folder.read("out"), b"a1\na2\nb1\nb2\nb3\na3\na4\n");
    for (name, text) in [("b", "b4\na1\n"), ("empty", "e1\n"), ("a", "a5\nb1\n"), ("b", "b5\n")] {
        append(&folder, name, text);
    }
    done(&folder, DEDUP, &inputs);
    let more = b"a1\na2\nb1\nb2\nb3\na3\na4\ne1\na5\nb4\nb5\n";
    assert_eq!(folder.read("out"), more);
    done(&folder, DEDUP, &inputs);
    assert_eq!(folder.read("out"), more);
}

#[test]
fn what_has_come_counts_once() {
    let folder = two();
    folder.file("all", "a1\na2\na3\nb1\nb2\nb3\nb4\n".repeat(2));
    done(&folder, &["add", "seen"], &["all"]);
    let both = ["a", "b"];
    for (command, first, all) in [("add", 3, 3), ("remove", 2, 2)] {
        let folder_text = "a1\na2\na3\nb1\nb2\nb3\nb4\n";
        let before = if command == "add" { 2 } else { 3 };
        fs::write(folder.join("a"), "a1\na2\n").unwrap();
        fs::write(folder.join("b"), "b1\nb2\nb3\n").unwrap();
        done(&folder, &[command, "seen", "--resume"], &both);
        let number = |line: &str| if matches!(line, "a3" | "b4") { before } else { first };
        let counts = |number: &dyn Fn(&str) -> u32| {
            let lines = folder_text.lines().map(|line| format!("{}\t{line}\n", number(line)));
            lines.collect::<Vec<_>>().concat()
        };
        assert_eq!(counted(&folder, folder_text), counts(&number));
        append(&folder, "a", "a3\n");
        append(&folder, "b", "b4\n");
        for _ in 0..2 {
            done(&folder, &[command, "seen", "--resume"], &both);
            assert_eq!(counted(&folder, folder_text), counts(&|_| all));
        }
    }
}

/// A line was read while it was being written: the complete line is another record, and its piece is kept.
#[test]
fn a_line_that_was_cut_off_comes_whole() {
    for next in [&["a"][..], &["a", "b"]] {
        let folder = two();
        folder.file("a", "one\nhttp://exam");
        done(&folder, DEDUP, next);
        let first = folder.read("out");
        assert!(first.starts_with(b"one\nhttp://exam"));
        // Without new input, nothing changes.
        done(&folder, DEDUP, next);
        assert_eq!(folder.read("out"), first);
        append(&folder, "a", "ple.org/\nthree");
        done_with_longer(&folder, DEDUP, next, 2);
        append(&folder, "a", " lines\n");
        done_with_longer(&folder, DEDUP, next, 3);
        let b = if next.len() == 1 { "" } else { "b1\nb2\nb3\n" };
        let all = format!("one\nhttp://exam\n{b}http://example.org/\nthree\nthree lines\n");
        assert_eq!(String::from_utf8(folder.read("out")), Ok(all));
    }
}

/// The row is dropped as a repeat of its own first part, which has the same key.
#[test]
fn a_row_that_was_cut_off_behind_its_key_is_told() {
    let folder = Folder::new();
    folder.file("a", "id,n\n1,al");
    let command = ["dedup", "--filter", "seen", "--resume", "-o", "out", "--csv", "id"];
    done(&folder, &command, &["a"]);
    append(&folder, "a", "ice\n2,bob\n");
    done_with_longer(&folder, &command, &["a"], 2);
    assert_eq!(folder.read("out"), b"id,n\n1,al\n2,bob\n");
}

/// Only the line end was missing: it is the same record.
#[test]
fn a_line_whose_end_comes_later_counts_once() {
    for (options, first, end) in [(&[][..], "x\nlast", "\n"), (&["--csv", "k"], "k\nlast", "\r\n")]
    {
        let folder = Folder::new();
        folder.file("a", first);
        let command = [&["add", "seen", "--resume"], options].concat();
        done(&folder, &command, &["a"]);
        append(&folder, "a", end);
        done(&folder, &command, &["a"]);
        assert_eq!(counted(&folder, "last\n"), "1\tlast\n");
        append(&folder, "a", "next");
        done(&folder, &command, &["a"]);
        append(&folder, "a", " one");
        let numbers = "1\tlast\n1\tnext\n1\tnext one\n";
        done_with_longer(&folder, &command, &["a"], 3);
        assert_eq!(counted(&folder, "last\nnext\nnext one\n"), numbers);
        done(&folder, &command, &["a"]);
        assert_eq!(counted(&folder, "last\nnext\nnext one\n"), numbers);
    }
}

/// The cut row, within quotes, had no key.
#[test]
fn a_row_that_was_cut_off_within_quotes_comes_whole() {
    let folder = Folder::new();
    folder.file("a", "k\n\"first\nhalf, ");
    let command = ["remove", "seen", "--resume", "--csv", "k"];
    folder.file("row", "k\n\"first\nhalf, second\"\n");
    done(&folder, &["add", "seen", "--csv", "k"], &["row"]);
    let said = run_in(&folder, &[&command[..], &["a"]].concat());
    assert!(said.code == Some(0) && said.stderr.contains("without a key"), "{}", said.stderr);
    append(&folder, "a", "second\"\n");
    done_with_longer(&folder, &command, &["a"], 2);
    done(&folder, &["check", "-v", "seen", "--csv", "k"], &["row"]);
}

/// It counts as two inputs.
#[test]
fn a_file_that_is_named_twice_may_grow() {
    let folder = two();
    let inputs = ["a", "b", "a"];
    done(&folder, &["add", "seen", "--resume"], &inputs);
    append(&folder, "a", "a3\n");
    for _ in 0..2 {
        done(&folder, &["add", "seen", "--resume"], &inputs);
        assert_eq!(counted(&folder, "a1\na3\nb3\n"), "2\ta1\n2\ta3\n1\tb3\n");
    }
}

/// The run was killed in the last input, and the first has grown since then.
#[test]
fn an_input_may_grow_before_an_interrupted_run_is_resumed() {
    let folder = Folder::new();
    let command = [DEDUP, &["--checkpoint-every", "0", "a", "many"]].concat();
    let was_killed = rounds().any(|count| {
        let text = lines(count, Repeats::Few);
        fs::remove_file(folder.join("seen")).ok();
        fs::remove_file(folder.join("out")).ok();
        folder.file("a", "a1\na2\n");
        folder.file("many", &text);
        let mut child =
            coua(&command).current_dir(folder.path()).stderr(Stdio::piped()).spawn().unwrap();
        let has_written = || fs::metadata(folder.join("out")).is_ok_and(|it| it.len() > 500_000);
        until(|| has_written() || child.try_wait().unwrap().is_some());
        child.kill().ok();
        let was_killed = !wait(&mut child).success();
        append(&folder, "a", "a3\n");
        append(&folder, "many", "a4\n");
        run_in(&folder, &command).good();
        let out = folder.read("out");
        let sorted = |text: &[u8]| {
            let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort_unstable();
            lines
        };
        let whole = [b"a1\na2\na3\n", &text[..], b"a4\n"].concat();
        assert!(sorted(&out) == sorted(&expected(&whole)));
        was_killed
    });
    assert!(was_killed, "no run was caught at work");
}

/// Its columns were others, and stand in the output.
#[test]
fn a_header_that_was_cut_off_is_refused() {
    let folder = Folder::new();
    let dedup = [DEDUP, &["--csv", "id", "--comment", "#", "a"]].concat();
    for (cut, rest, words) in [
        ("id,na", "me\n1,x\n", "/a: --resume: no longer begins with what was processed"),
        ("# c\nid,na", "me\n1,x\n", "/a: --resume: no longer begins with what was processed"),
        ("id,n", "\n1,x\n", ""),
    ] {
        folder.file("a", cut);
        done(&folder, &dedup, &[]);
        let before = folder.read("out");
        append(&folder, "a", rest);
        let run = run_in(&folder, &dedup);
        assert!(run.stderr.contains(words), "{}", run.stderr);
        if words.is_empty() {
            assert_eq!((run.code, folder.read("out")), (Some(0), folder.read("a")));
        } else {
            assert_eq!((run.code, folder.read("out")), (Some(2), before));
        }
        for name in ["seen", "out"] {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }
}
