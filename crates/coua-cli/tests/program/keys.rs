//! Keys: parts of records, normalized; records without one.

use crate::support::{Folder, json, run, run_with};

#[track_caller]
fn text(input: &str, args: &[&str]) -> String {
    run_with(input.as_bytes(), ["dedup"].iter().chain(args)).text()
}

#[test]
fn fields() {
    let input = "1 a x\n2 a y\n3 b x\n4  a z\n";
    assert_eq!(text(input, &["-k", "2"]), "1 a x\n3 b x\n");
    assert_eq!(text(input, &["-k", "2,3"]), input);
    let input = "1,a\n2,a\n3,b\n";
    assert_eq!(text(input, &["-k2", "-t,"]), "1,a\n3,b\n");
    let input = "1\ta\n2\ta\n";
    assert_eq!(text(input, &["-k2", "-t", r"\t"]), "1\ta\n");
    let bad = run_with(b"", ["dedup", "-k", "0"]);
    bad.failed(
        2,
        "coua: -k 0: expected a list of fields counted from 1, such as 2 or 2,4 or 3-5 or 4-; for names in a \
         header, use --csv\n",
    );
    let bad = run_with(b"", ["dedup", "-t", ","]);
    bad.failed(2, "coua: -t: needs -k, --csv, --tsv or --time-field\n");
}

#[test]
fn one_record_without_a_key_is_told_as_one() {
    let run = run_with(b"short\n1 a\n", ["dedup", "-k2"]);
    assert!(
        run.stderr.starts_with("coua: 1 record without a key passed through (first: "),
        "{}",
        run.stderr
    );
    let run = run_with(b"short\n", ["dedup", "-k2"]);
    assert!(run.stderr.contains(": no key in 1 record; "), "{}", run.stderr);
}

#[test]
fn records_without_a_key() {
    let input = "1 a\nshort\n2 a\n\n3 b\nshort\n";
    let run = run_with(input.as_bytes(), ["dedup", "-k2"]);
    assert_eq!(run.stdout, b"1 a\nshort\n\n3 b\nshort\n");
    let message = "coua: 3 records without a key passed through (first: standard input: record 2: \
                   no field 2)\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), message));
    let run = run_with(input.as_bytes(), ["dedup", "-k2", "--missing=drop"]);
    assert_eq!(run.stdout, b"1 a\n3 b\n");
    let message = "coua: 3 records without a key dropped (first: standard input: record 2: no \
                   field 2)\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), message));
    for threads in ["1", "2", "3", "4"] {
        let args = ["dedup", "-k2", "--missing=error", "-j", threads];
        let run = run_with(input.as_bytes(), args);
        run.failed(2, "coua: standard input: record 2: no field 2\n");
        assert_eq!(run.stdout, b"1 a\n", "what came before it is done");
    }
    let quiet = run_with(input.as_bytes(), ["dedup", "-k2", "--quiet", "--stats=json"]);
    let figures = json(&quiet.stderr);
    for (name, value) in [("records", 6), ("unique", 2), ("repeats", 1), ("without_key", 3)] {
        assert_eq!(figures[name].as_u64(), Some(value), "{name}");
    }
    // They are not remembered, and do not count as repeats.
    let folder = Folder::new();
    let filter = folder.join("f");
    for _ in 0..2 {
        let run =
            run_with(b"x\n", ["dedup", "-k2", "--missing=keep", "--quiet", "--filter", &filter]);
        assert_eq!(run.good(), b"x\n");
    }
    assert_eq!(run_with(b"x\n", ["dedup", "-k2", "--missing=keep", "--quiet", "-d"]).good(), b"");
}

/// The option must be wrong.
#[test]
fn an_option_that_finds_no_key_at_all_is_refused() {
    let folder = Folder::new();
    let filter = folder.join("f");
    run_with(b"{\"id\":1}\n", ["add", &filter]).good();
    let input = b"{\"id\":1}\n{\"id\":2}\n";
    let message = |what: &str| {
        format!(
            "coua: standard input: record 1: {what}: no key in 2 records; fix the option that \
             selects keys, or add --missing\n"
        )
    };
    for (option, what) in [
        (&["--json", "/idx"][..], "nothing at /idx"),
        (&["-k", "2"], "no field 2"),
        (&["--csv", "2"], "no column 2"),
        (&["--regex", "x"], "the regular expression does not match"),
    ] {
        for command in [
            &["dedup"][..],
            &["dedup", "--quiet"],
            &["dedup", "--filter", &filter],
            &["add", &filter],
            &["remove", &filter],
            &["check", &filter],
            &["count", &filter],
        ] {
            let args = [command, option].concat();
            run_with(input, &args).failed(2, &message(what));
            for policy in ["keep", "drop"] {
                let args = [&args, &["--missing", policy][..]].concat();
                let code = run_with(input, &args).code;
                assert_eq!(code, Some(i32::from(command[0] == "check")), "{args:?}");
            }
        }
    }
    // An empty input proves nothing, and a single key is enough.
    assert_eq!(run_with(b"", ["dedup", "--json", "/idx"]).good(), b"");
    assert_eq!(run_with(b"x\n{\"idx\":1}\n", ["dedup", "--json", "/idx"]).code, Some(0));
    // The only record with a key is in one of two shards.
    for shard in ["1/2", "2/2"] {
        let args = ["dedup", "--json", "/idx", "--shard", shard];
        assert_eq!(run_with(b"x\n{\"idx\":1}\n", args).code, Some(0), "{shard}");
    }
}

/// Some of many blocks are hashed by the reading thread, others by the answering one.
#[test]
fn keys_are_the_same_whoever_hashes() {
    let folder = Folder::new();
    let mut text: Vec<u8> = Vec::new();
    for number in 0..300_000 {
        text.extend(format!("{number} key{}\n", number % 70_000).as_bytes());
    }
    let expected =
        text.split_inclusive(|byte| *byte == b'\n').take(70_000).collect::<Vec<_>>().concat();
    let whole = folder.file("whole", &text);
    text.extend(b"keyless\n");
    text.extend_from_within(..1_000_000);
    let broken = folder.file("broken", &text);
    for threads in ["1", "2", "3", "4", "5", "9"] {
        let filter = ["--filter", &folder.join(threads)];
        for filter in [&filter[..], &[]] {
            let args = [&["dedup", "-k2", "-j", threads, &whole], filter].concat();
            assert!(run(args).good() == expected, "-j {threads} {filter:?}");
        }
        let run = run(["dedup", "-k2", "--missing=error", "-j", threads, &broken]);
        run.failed(2, &format!("coua: {broken}: record 300001: no field 2\n"));
        assert!(run.stdout == expected, "-j {threads}: what came before it is done");
    }
}

#[test]
fn csv_columns() {
    let input = "id,url\n1,\"a\nb\"\n2,\"a\nb\"\n3,a\n1,c\n";
    assert_eq!(text(input, &["--csv", "url"]), "id,url\n1,\"a\nb\"\n3,a\n1,c\n");
    assert_eq!(text(input, &["--csv", "1"]), "id,url\n1,\"a\nb\"\n2,\"a\nb\"\n3,a\n");
    assert_eq!(text(input, &["--csv", "id", "--csv", "url"]), input);
    let input = "id;url\r\n1;x\r\n2;x\r\n";
    assert_eq!(text(input, &["--csv", "url", "-t;"]), "id;url\r\n1;x\r\n");
    let zero = "coua: --csv 0: columns count from 1; --csv '=0' selects a column named 0\n";
    run_with(b"", ["dedup", "--csv", "0"]).failed(2, zero);
}

#[test]
fn csv_with_a_byte_order_mark() {
    let input = "\u{feff}\"id\nx\",v\n1,a\n2,a\n";
    assert_eq!(text(input, &["--csv", "v"]), "\u{feff}\"id\nx\",v\n1,a\n");
    assert_eq!(text(input, &["--csv", "id\nx"]), input);
}

#[test]
fn ragged_csv() {
    let input = "id,url\n1,a\n2\n3,a,extra\n4,\"open\n5,b\n";
    let run = run_with(input.as_bytes(), ["dedup", "--csv", "url"]);
    assert_eq!(run.stdout, b"id,url\n1,a\n2\n4,\"open\n5,b\n");
    let message = "coua: 2 records without a key passed through (first: standard input: record 3: \
                   no column 2)\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), message));
    let run = run_with(input.as_bytes(), ["dedup", "--csv", "url", "--missing=drop"]);
    assert_eq!(run.stdout, b"id,url\n1,a\n");
    let open = b"id,url\n1,\"open\n";
    let run = run_with(open, ["dedup", "--csv", "url", "--missing=error"]);
    run.failed(2, "coua: standard input: record 2: unclosed quote\n");
}

#[test]
fn json_pointers() {
    let input = r#"{"id": 1, "u": {"n": "a"}}
{"u": {"n": "\u0061"}, "id": 2}
{"id": 3, "u": {"n": "b"}}
"#;
    assert_eq!(text(input, &["--json", "/u/n"]).lines().count(), 2);
    assert_eq!(text(input, &["--json", "/id"]), input);
    assert_eq!(text(input, &["--json", "/id", "--json", "/u/n"]), input);
    // Any depth.
    let deep = format!("{}1{}\n", "{\"a\":".repeat(1000), "}".repeat(1000));
    let twice = [&deep[..], &deep].concat();
    assert_eq!(text(&twice, &["--json", &"/a".repeat(1000)]), deep);
    let bad = run_with(b"", ["dedup", "--json", "id"]);
    bad.failed(2, "coua: --json id: a JSON pointer begins with a slash; use /id\n");
}

#[test]
fn broken_json() {
    let input = "{\"id\":1}\nnot json\n{\"id\":1\n{\"id\":null}\n{\"id\":1}\n\n\u{1}\n";
    let run = run_with(input.as_bytes(), ["dedup", "--json", "/id"]);
    assert_eq!(run.stdout, b"{\"id\":1}\nnot json\n{\"id\":1\n{\"id\":null}\n\n\x01\n");
    let message = "coua: 5 records without a key passed through (first: standard input: record 2: \
                   invalid JSON)\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), message));
    let run = run_with(input.as_bytes(), ["dedup", "--json", "/id", "--missing=error"]);
    run.failed(2, "coua: standard input: record 2: invalid JSON\n");
    let run = run_with(b"{}\n", ["dedup", "--json", "/id", "--missing=error"]);
    run.failed(2, "coua: standard input: record 1: nothing at /id\n");
    let deep = "[".repeat(1_000_000) + "\n";
    let run = run_with(deep.as_bytes(), ["dedup", "--quiet", "--json", "/0/0", "--missing=keep"]);
    assert_eq!(run.good(), deep.as_bytes());
}

#[test]
fn regular_expressions() {
    let input = "x id=1 a\ny id=1 b\nz id=2 c\n";
    assert_eq!(text(input, &["--regex", "id=([0-9]+)"]), "x id=1 a\nz id=2 c\n");
    assert_eq!(text(input, &["--regex", "id=[0-9]"]), "x id=1 a\nz id=2 c\n");
    assert_eq!(text("a-x\nb-x\nc-y\n", &["--regex", "-x|-y"]), "a-x\nc-y\n");
    let bad = run_with(b"", ["dedup", "--regex", "("]);
    assert_eq!(bad.code, Some(2));
    assert_eq!(bad.stderr, "coua: --regex (: unclosed group\n");
}

#[test]
fn groups_of_a_regular_expression_that_took_no_part() {
    let input = "ab\nba\naa\nid=5\nkey=5\nid=5 b\n";
    let alternatives = "^(a)|^(b)|id=(.)|key=(.)";
    assert_eq!(text(input, &["--regex", alternatives]), "ab\nba\nid=5\nkey=5\n");
    assert_eq!(text("k1 x\nk1\nk1 x\nk1\n", &["--regex", "(k.)( x)?"]), "k1 x\nk1\n");
    let run = run_with(b"a\nax\n", ["dedup", "--regex", "a(x)?", "--missing=error"]);
    let message = "coua: standard input: record 1: no group of the regular expression matched\n";
    run.failed(2, message);
}

#[test]
fn values_may_begin_with_a_dash() {
    assert_eq!(text("a-1\nb-1\nc-2\n", &["-k2", "-t", "-"]), "a-1\nc-2\n");
    assert_eq!(text("a--1\nb--1\nc--2\n", &["-k", "2", "-t", "--"]), "a--1\nc--2\n");
    assert_eq!(text("a---b---a---", &["--delimiter", "---"]), "a---b---");
    assert_eq!(text("-id,v\n1,a\n1,b\n", &["--csv", "-id"]), "-id,v\n1,a\n");
    let window = ["--window", "1h", "--time-field", "1", "--time-format", "--%s"];
    assert_eq!(text("--5 a\n--6 b\n", &window), "--5 a\n--6 b\n");
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let args = ["dedup", "--csv"].map(OsStr::new);
    let run = run_with(b"", args.into_iter().chain([OsStr::from_bytes(b"caf\xe9")]));
    run.failed(2, "coua: caf\u{fffd}: is not UTF-8; only file names may contain other bytes\n");
}

#[test]
fn spellings() {
    assert_eq!(text("Ab\naB\n\u{c4}\n\u{e4}\n", &["--ignore-case"]), "Ab\n\u{c4}\n\u{e4}\n");
    assert_eq!(text(" a\na \n\ta\n", &["--trim"]), " a\n");
    let urls = "http://A.example\nHTTP://a.example:80/#x\nhttp://a.example./\nhttps://a.example\n";
    assert_eq!(text(urls, &["--url"]), "http://A.example\nhttps://a.example\n");
    assert_eq!(text("1 A\n2 a\n", &["-k2", "--ignore-case"]), "1 A\n");
}

#[test]
fn a_key_means_the_same_in_every_command() {
    let folder = Folder::new();
    let filter = folder.join("f");
    run_with(b"1 a\n", ["add", "-k2", &filter]).good();
    assert_eq!(run_with(b"a\nb\n", ["check", &filter]).good(), b"a\n");
    assert_eq!(run_with(b"\"a\"\n", ["check", "--json", "", &filter]).good(), b"\"a\"\n");
    assert_eq!(run_with(b"x,a\n", ["check", "--csv", "2", &filter]).good(), b"x,a\n");
    assert_eq!(run_with(b"a\0b\0", ["check", "-0", &filter]).good(), b"a\0");
}
