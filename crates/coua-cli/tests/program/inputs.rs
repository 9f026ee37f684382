//! Inputs of all kinds: bytes are preserved, and unreadable inputs are reported.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Folder, Repeats, expected, lines, run, run_with, shell};

#[track_caller]
fn dedups(input: &[u8], output: &[u8]) {
    for threads in ["1", "2", "3", "4"] {
        let run = run_with(input, ["dedup", "-j", threads]).good();
        assert_eq!(run.escape_ascii().to_string(), output.escape_ascii().to_string());
    }
}

#[test]
fn empty_input() {
    dedups(b"", b"");
    let folder = Folder::new();
    assert_eq!(run(["dedup", &folder.file("empty", "")]).good(), b"");
    assert_eq!(run(["dedup", "/dev/null"]).good(), b"");
}

#[test]
fn odd_bytes_are_bytes() {
    dedups(b"\xff\xfe\n\xff\n\xff\xfe\n", b"\xff\xfe\n\xff\n");
    let zeros = run_with(b"a\0b\na\0c\na\0b\n\0\n\0\n", ["dedup"]);
    assert_eq!(zeros.stdout, b"a\0b\na\0c\n\0\n");
    assert!(zeros.stderr.contains("contains NUL bytes"), "{}", zeros.stderr);
    dedups(b"\n\n\na\n\n", b"\na\n");
    // A byte order mark is printed, but is not a part of a key.
    dedups(b"\xef\xbb\xbfa\na\n\xef\xbb\xbfb\nb\n", b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n");
}

#[test]
fn a_carriage_return_before_a_newline_belongs_to_no_key() {
    dedups(b"a\r\na\nb\na\r\nb\r\n", b"a\r\nb\n");
    dedups(b"a\r\r\na\r\na\rb\nab\n\r\n\n", b"a\r\r\na\r\na\rb\nab\n\r\n");
    dedups(b"a\na\r", b"a\n");
    let nul = run_with(b"a\r\0a\0", ["dedup", "-0"]).good();
    assert_eq!(nul, b"a\r\0a\0", "these are no lines");
}

#[test]
fn a_missing_last_newline_is_a_record() {
    dedups(b"a\nb", b"a\nb\n");
    dedups(b"a\nb\na", b"a\nb\n");
    dedups(b"a", b"a\n");
}

#[test]
fn files_do_not_run_into_each_other() {
    let folder = Folder::new();
    let first = folder.file("first", "a\nb");
    let second = folder.file("second", "c\nb\nd");
    let third = folder.file("third", "d");
    for threads in ["1", "3", "5"] {
        let together = run(["dedup", "-j", threads, &first, &second, &third, &first]).good();
        assert_eq!(together, b"a\nb\nc\nd\n", "-j {threads}");
    }
    assert_eq!(run(["dedup", "-q", "-0", &first, &second]).good(), b"a\nb\0c\nb\nd\0");
}

#[test]
fn other_ends_of_records() {
    let text = b"a\nb\0c\0a\nb\0";
    for option in ["-0", "--null", "--delimiter=\\0", "--delimiter=\\x00"] {
        assert_eq!(run_with(text, ["dedup", option]).good(), b"a\nb\0c\0", "{option}");
    }
    let text = b"a--b-c--a--b-c";
    assert_eq!(run_with(text, ["dedup", "--delimiter=--"]).good(), b"a--b-c--");
    let pieces = [b"x".repeat(300_000), b"--".to_vec()].concat().repeat(5);
    assert!(run_with(&pieces, ["dedup", "--delimiter=--"]).good() == pieces[..300_002]);
}

#[test]
fn a_missing_file_is_told_before_anything_is_written() {
    let folder = Folder::new();
    let there = folder.file("there", "a\n");
    let missing = folder.join("missing");
    let output = folder.file("output", "old");
    let run = run(["dedup", "-o", &output, &there, &missing]);
    run.failed(2, &format!("coua: {missing}: No such file or directory\n"));
    assert_eq!(folder.read("output"), b"old");
}

#[test]
fn a_directory_is_no_file_of_records() {
    let folder = Folder::new();
    let name = folder.path().to_str().unwrap().to_owned();
    let message = format!("coua: {name}: is a directory, not an input file\n");
    run(["dedup", &name]).failed(2, &message);
    let message = "coua: standard input: is a directory, not an input file\n";
    shell(folder.path(), "$COUA dedup < .").failed(2, message);
}

#[test]
fn broken_compressed_files_are_told_and_what_was_read_is_printed_needs_gzip() {
    let folder = Folder::new();
    let text = lines(100_000, Repeats::Few);
    let good = crate::support::other("gzip", &["-c"], &text);
    let file = folder.file("cut.gz", &good[..good.len() / 2]);
    for threads in ["1", "3"] {
        let run = run(["dedup", "-j", threads, &file]);
        assert_eq!(run.code, Some(2));
        let message = format!("coua: {file}: broken gzip data: ");
        assert!(run.stderr.starts_with(&message), "{}", run.stderr);
        assert!(run.stdout.len() > text.len() / 4 && expected(&text).starts_with(&run.stdout));
    }
    let file = folder.file("bad.gz", [&good[..1000], &[0; 1000], &good[2000..]].concat());
    let run = run(["dedup", &file]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with(&format!("coua: {file}: broken gzip data: ")), "{}", run.stderr);
}

#[test]
fn zeros_behind_the_members_of_a_gzip_file_are_passed_over_needs_gzip() {
    let folder = Folder::new();
    let gzip = |text: &[u8]| crate::support::other("gzip", &["-c"], text);
    // More than one read, and no padding between the last two.
    let pieces = [gzip(b"a\n"), vec![0; 300_000], gzip(b"b\na\n"), gzip(b"c\n"), vec![0; 511]];
    let file = folder.file("padded.gz", pieces.concat());
    assert_eq!(run(["dedup", &file]).good(), b"a\nb\nc\n");
    let file = folder.file("worse.gz", [pieces.concat(), b"x".to_vec()].concat());
    let run = run(["dedup", &file]);
    assert_eq!((run.code, run.stdout.as_slice()), (Some(0), &b"a\nb\nc\n"[..]));
    assert!(run.stderr.contains("other bytes follow the end of the gzip data"), "{}", run.stderr);
}

#[test]
fn texts_that_begin_like_compressed_files() {
    for text in ["BZh9\n", "BZh91AY&S\n", "(\n", "BZ", "B", "\u{fffd}\n"] {
        dedups(text.as_bytes(), format!("{}\n", text.trim_end()).as_bytes());
    }
    dedups(b"\x1f\x8b\n", b"\x1f\x8b\n");
    dedups(b"\xfd7zXZ\n", b"\xfd7zXZ\n");
}

#[test]
fn names_of_files_are_bytes() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"odd \xff\n name");
    let path = folder.path().join(name);
    std::fs::write(&path, "a\na\n").unwrap();
    assert_eq!(run([OsStr::new("dedup"), path.as_os_str()]).good(), b"a\n");
    std::fs::remove_file(&path).unwrap();
    let missing = run([OsStr::new("dedup"), path.as_os_str()]);
    let shown = path.display().to_string().replace('\n', "\\n");
    missing.failed(2, &format!("coua: {shown}: No such file or directory\n"));
}

#[test]
fn empty_input_of_every_command() {
    let folder = Folder::new();
    let filter = folder.join("seen.coua");
    for how in
        [&["dedup", "--csv", "url"][..], &["dedup", "--csv", "1"], &["dedup", "--json", "/a"]]
    {
        assert_eq!(run_with(b"", how).good(), b"", "{how:?}");
    }
    assert_eq!(run_with(b"", ["dedup", "--filter", &filter]).good(), b"");
    assert!(run(["info", &filter]).text().contains("items"), "an empty filter is a filter");
    for command in ["add", "count", "remove"] {
        assert_eq!(run_with(b"", [command, &filter]).good(), b"");
    }
    run_with(b"", ["check", &filter]).failed(1, "");
    assert_eq!(run_with(b"a\n", ["dedup", "--filter", &filter]).good(), b"a\n");
}

#[test]
fn standard_input_among_files() {
    let folder = Folder::new();
    let first = folder.file("first", "a\nb\n");
    let last = folder.file("last", "c\nd\n");
    let run = run_with(b"b\nc\n", ["dedup", &first, "-", &last]).good();
    assert_eq!(run, b"a\nb\nc\nd\n");
}

#[test]
fn named_pipes() {
    let folder = Folder::new();
    let script = "mkfifo pipe; $COUA dedup pipe & sleep 0.2; printf 'a\\nb\\na\\n' > pipe; wait";
    assert_eq!(shell(folder.path(), script).good(), b"a\nb\n");
}

#[test]
fn many_small_files() {
    let folder = Folder::new();
    let text = lines(2000, Repeats::Many);
    let pieces: Vec<Vec<u8>> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let files: Vec<String> = pieces
        .chunks(7)
        .enumerate()
        .map(|(number, lines)| folder.file(&number.to_string(), lines.concat()))
        .collect();
    for threads in ["1", "2", "3", "6"] {
        let args = ["dedup", "-j", threads].into_iter().chain(files.iter().map(String::as_str));
        assert!(run(args).good() == expected(&text), "-j {threads}");
    }
}

/// The system may give the first thread a tiny stack.
#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_is_enough() {
    let folder = Folder::new();
    let script = "ulimit -s 32; printf 'a\\nb\\na\\n' | $COUA dedup --filter seen";
    assert_eq!(shell(folder.path(), script).good(), b"a\nb\n");
}

/// A file of paragraphs ends with one newline: the output, read again, holds the same records.
#[test]
fn the_beginning_of_a_last_separator_belongs_to_no_record() {
    for (separator, input, output) in [
        ("\\n\\n", "a\n\nb\n\na\n", "a\n\nb\n\n"),
        ("\\n\\n", "a\n\n\n", "a\n\n"),
        ("aa", "xaaa", "xaa"),
        ("aba", "xab", "xaba"),
        ("ab", "xa", "xaab"),
        ("\\r\\n", "x\r", "x\r\r\n"),
    ] {
        let dedup = ["dedup", "--delimiter", separator];
        let printed = run_with(input.as_bytes(), dedup).good();
        assert_eq!(printed, output.as_bytes(), "{separator} {input}");
        assert_eq!(run_with(&printed, dedup).good(), output.as_bytes(), "{separator} {input}");
    }
}
