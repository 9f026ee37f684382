//! CSV inputs whose headers differ from each other, or lack the column of the key.

use crate::support::{Folder, json, run, run_in, run_with, shell};

const ORDER: &str = "second: its header differs from that of first (found url, id, expected id, \
                     url), but both go to one output; run them separately, or give both the same \
                     columns";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("first", "id,url\n1,a\n2,b");
    folder.file("second", "url,id\na,3\nc,4\n");
    folder.file("same", "\u{feff}\"id\",\"url\"\r\n5,a\r\n6,d\r\n");
    folder
}

#[test]
fn a_header_is_printed_once() {
    let folder = folder();
    let (first, same) = (folder.join("first"), folder.join("same"));
    for threads in ["1", "2", "3", "4", "7"] {
        let both = run(["dedup", "--csv", "url", "-j", threads, &first, &same]).good();
        assert_eq!(both, b"id,url\n1,a\n2,b\n6,d\r\n", "-j {threads}");
    }
    let repeats = run(["dedup", "--csv", "url", "-d", &first, &same]).good();
    assert_eq!(repeats, b"id,url\n5,a\r\n");
    let figures = run(["dedup", "--csv", "url", "--stats=json", &first, &same]).stderr;
    assert_eq!(json(&figures)["records"].as_u64(), Some(4), "headers are no records");
}

#[test]
fn records_under_different_headers_go_to_no_output_together() {
    let folder = folder();
    folder.file("out", "kept\n");
    for command in [
        &["dedup", "-o", "out"][..],
        &["dedup", "-d"],
        &["dedup", "--filter", "none", "-o", "new"],
        &["check", "f"],
        &["check", "-v", "f"],
        &["count", "f"],
    ] {
        run_in(&folder, &["add", "f", "--csv", "url", "first"]).good();
        let args = [command, &["--csv", "url", "first", "second"]].concat();
        let refused = run_in(&folder, &args);
        refused.failed(2, &format!("coua: {ORDER}\n"));
        assert_eq!(refused.stdout, b"", "{command:?}");
        assert_eq!(folder.read("out"), b"kept\n", "{command:?}");
        assert!(!folder.has("none") && !folder.has("new"), "{command:?}");
    }
    // The header of a pipe is known only when it is read.
    let piped = shell(folder.path(), "cat second | $COUA dedup --csv url first - | cat");
    let words = ORDER.replacen("second", "standard input", 1);
    assert_eq!(
        (piped.stdout, piped.stderr),
        (b"id,url\n1,a\n2,b\n".to_vec(), format!("coua: {words}\n"))
    );
    // Other columns make a different header too.
    folder.file("second", "id,url,size\n1,a,5\n");
    let more = ORDER.replace("url, id,", "id, url, size,");
    run_in(&folder, &["dedup", "--csv", "url", "first", "second"])
        .failed(2, &format!("coua: {more}\n"));
}

/// The column is found in each input.
#[test]
fn headers_may_differ_where_no_record_is_printed() {
    let folder = folder();
    run_in(&folder, &["add", "f", "--csv", "url", "first", "second"]).good();
    assert_eq!(
        run_in(&folder, &["count", "f", "--csv", "url", "second"]).good(),
        b"2\ta,3\n1\tc,4\n"
    );
    let both = ["--csv", "url", "first", "second"];
    assert_eq!(run_in(&folder, &[&["check", "-c", "f"][..], &both].concat()).good(), b"4\n");
    run_in(&folder, &[&["remove", "f"][..], &both].concat()).good();
    run_in(&folder, &["check", "f", "--csv", "url", "first"])
        .failed(1, "coua: f: contains none of 2 records\n");
}

#[test]
fn a_column_that_is_missing_is_told_with_those_there_are() {
    let folder = folder();
    folder.file("out", "kept\n");
    let message =
        |name: &str| format!("coua: {name}: no column \"x\" in the header (found id, url)\n");
    for command in
        [&["dedup", "-o", "out"][..], &["dedup", "--filter", "f", "-o", "out"], &["add", "f"]]
    {
        let args = [command, &["--csv", "x", "first"]].concat();
        run_in(&folder, &args).failed(2, &message("first"));
        let script = format!("$COUA {} --csv x <first", command.join(" "));
        shell(folder.path(), &script).failed(2, &message("standard input"));
        assert_eq!(folder.read("out"), b"kept\n", "{command:?}");
        assert!(!folder.has("f"), "{command:?}");
    }
    folder.file("third", "id\n1\n");
    let run = run_in(&folder, &["dedup", "--csv", "url", "first", "third"]);
    run.failed(2, "coua: third: no column \"url\" in the header (found id)\n");
    assert_eq!(run.stdout, b"", "files are looked at first");
    let names = "long name\n".repeat(100).replace('\n', ",");
    let many = run_with(names.as_bytes(), ["dedup", "--csv", "x"]);
    assert!(many.stderr.len() < 400 && many.stderr.ends_with("...)\n"), "{}", many.stderr);
}

/// Standard input that is a file is read completely from its current position.
#[test]
fn looking_at_a_header_leaves_standard_input_as_it_was() {
    let folder = folder();
    let script = "(read line; echo x,y; $COUA dedup --csv zz) <first";
    let run = shell(folder.path(), script);
    assert_eq!((run.code, run.stdout), (Some(2), b"x,y\n".to_vec()));
    folder.file("three", "skipped\nid,url\n1,a\n2,a\n");
    let script = "(read line; $COUA dedup --csv url) <three";
    assert_eq!(shell(folder.path(), script).good(), b"id,url\n1,a\n");
}

/// An input with only a byte order mark has no record.
#[test]
fn a_mark_alone_is_no_header() {
    for column in ["url", "1"] {
        let run = run_with("\u{feff}".as_bytes(), ["dedup", "--csv", column]);
        assert_eq!(run.good(), b"", "{column}");
    }
    let comma = run_with(b"\n,\n", ["dedup", "--csv", "url"]);
    comma.failed(2, "coua: standard input: no column \"url\" in the header (found none)\n");
}
