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

/// A number that is the name of a column in one file is a place in the next, for every thread.
#[test]
fn a_header_says_nothing_about_the_next_file() {
    let folder = Folder::new();
    folder.file("named", "x,3\n1,a\n");
    folder.file("unnamed", "p,q,r\ns,q,z\n");
    folder.file("long", format!("country,2021\n{}", "us,same\n".repeat(200_000)));
    for threads in ["1", "4"] {
        let both = run_in(&folder, &["dedup", "--csv", "3", "-j", threads, "named", "unnamed"]);
        assert_eq!(both.good(), b"x,3\n1,a\np,q,r\ns,q,z\n");
        folder.file("year", "country,2020\nfr,5\nde,6\n");
        let lacking = run_in(&folder, &["dedup", "--csv", "2020", "-j", threads, "year", "long"]);
        assert!(
            lacking.stderr.contains("200,001 records without a key passed through"),
            "{}",
            lacking.stderr
        );
        assert_eq!(lacking.stdout.len(), 23 + folder.read("long").len());
    }
}

/// Files are joined, each with its mark.
#[test]
fn a_mark_before_a_quoted_field_is_skipped_anywhere() {
    let row = |name: &str| format!("\u{feff}\"{name}\nb\",1\n\"{name}2\",2\n");
    let joined = ["p", "q", "r"].map(row).concat();
    for threads in ["1", "3"] {
        let run = run_with(joined.as_bytes(), ["dedup", "--csv", "1", "-j", threads]);
        assert_eq!(run.good(), joined.as_bytes());
    }
    let twice = "id\n\u{feff}\u{feff}\"a\nb\"\n\"a\nb\"\n";
    let run = run_with(twice.as_bytes(), ["dedup", "--csv", "id"]);
    assert_eq!(run.good(), "id\n\u{feff}\u{feff}\"a\nb\"\n".as_bytes());
    let named = "\u{feff}\u{feff}\"x,y\",id\n1,A\n2,B\n1,B\n";
    let run = run_with(named.as_bytes(), ["dedup", "--csv", "id"]);
    assert_eq!(run.good(), &named.as_bytes()[..named.len() - 4]);
    let text = "0,z\n\u{feff}#x,\"y\n1,a\n1,b\n";
    let run = run_with(text.as_bytes(), ["dedup", "--csv", "1", "--comment", "#"]);
    assert_eq!(run.good(), "0,z\n\u{feff}#x,\"y\n1,a\n".as_bytes());
}

/// They leave with the header, in whichever block it is.
#[test]
fn many_comments_before_a_further_header_leave_with_it() {
    let folder = Folder::new();
    folder.file("first", "#1\nid\n5\n");
    folder.file("second", format!("{}id\n5\n6\n", "# a comment\n".repeat(50_000)));
    let dedup = ["dedup", "--csv", "id", "--comment", "#", "first"];
    let both = run_in(&folder, &[&dedup[..], &["second"]].concat());
    assert_eq!(both.good(), b"#1\nid\n5\n6\n");
    let slowly =
        "(echo '#2'; sleep 0.2; echo id; echo 6) | $COUA dedup --csv id --comment '#' first -";
    assert_eq!(shell(folder.path(), slowly).good(), b"#1\nid\n5\n6\n");
}

#[test]
fn a_run_that_goes_on_with_another_first_input_prints_no_second_header() {
    let folder = Folder::new();
    folder.file("b", "# b\nid,v\nb,1\n");
    folder.file("a", "# a\nid,v\na,2\n");
    for out in ["out", "out.gz"] {
        let filter = format!("f-{out}");
        let options =
            ["dedup", "--csv", "id", "--comment", "#", "--resume", "--filter", &filter, "-o", out];
        run_in(&folder, &[&options[..], &["b"]].concat()).good();
        run_in(&folder, &[&options[..], &["a", "b"]].concat()).good();
        let all = shell(folder.path(), &format!("zcat -f {out}")).text();
        assert_eq!(all, "# b\nid,v\nb,1\na,2\n", "{out}");
    }
}

#[test]
fn a_mark_alone_is_no_record() {
    let folder = Folder::new();
    folder.file("mark", "\u{feff}");
    folder.file("in", "id,v\n1,a\n");
    folder.file("out", "a\u{feff}\u{feff}");
    let append = ["dedup", "-o", "out", "--append", "--delimiter"];
    run_in(&folder, &[&append[..], &["ABCDEF", "in"]].concat()).good();
    assert_eq!(folder.read("out"), "a\u{feff}\u{feff}ABCDEFid,v\n1,a\nABCDEF".as_bytes());
    for options in [&["--csv", "id"][..], &["--csv", "1"], &["--tsv", "1"], &[]] {
        let all = run_in(&folder, &[&["dedup"], options, &["mark", "in"]].concat()).good();
        assert_eq!(all, b"id,v\n1,a\n", "{options:?}");
        for marks in ["\u{feff}", "\u{feff}\u{feff}"] {
            folder.file("out", marks);
            run_in(&folder, &[&["dedup", "-o", "out", "--append"], options, &["in"]].concat())
                .good();
            assert_eq!(folder.read("out"), format!("{marks}id,v\n1,a\n").as_bytes(), "{options:?}");
        }
    }
}

#[test]
fn only_the_first_shard_has_headers() {
    let folder = Folder::new();
    folder.file("in", "id\n1\n2\n3\n4\n5\n");
    let part = |shard: &str, out: &str, more: &[&str]| {
        let args = ["dedup", "--csv", "id", "--shard", shard, "-o", out, "in"];
        run_in(&folder, &[&args[..], more].concat()).good();
    };
    let resumed = &["--filter", "seen", "--resume"][..];
    part("2/2", "of_second", resumed);
    folder.file("in", "id\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    part("2/2", "of_second", resumed);
    part("2/2", "anew", &["--append"]);
    part("2/2", "anew", &["--append"]);
    part("1/2", "of_first", &[]);
    let [first, second] = ["of_first", "of_second"].map(|it| folder.read(it));
    assert!(first.starts_with(b"id\n") && !second.is_empty());
    assert_eq!(folder.read("anew"), second.repeat(2));
    let mut lines = [first, second].concat();
    lines.retain(|byte| *byte != b'\n');
    lines.sort_unstable();
    assert_eq!(lines, b"123456789di");
}

#[test]
fn standard_output_that_is_appended_to_has_one_header() {
    let folder = folder();
    for name in ["-", "/dev/stdout"] {
        folder.file("out", "id,url\n8,h\n");
        let script = |input| format!("$COUA dedup --csv id --append -o {name} {input} >> out");
        shell(folder.path(), &script("first")).good();
        let message = "its header differs from that of /dev/stdout";
        let differs = shell(folder.path(), &script("second"));
        assert!(differs.code == Some(2) && differs.stderr.contains(message), "{}", differs.stderr);
        let headers =
            folder.read("out").split(|it| *it == b'\n').filter(|it| *it == b"id,url").count();
        assert_eq!(headers, 1);
    }
}
