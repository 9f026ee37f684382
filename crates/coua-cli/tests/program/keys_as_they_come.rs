//! Keys in real-world files: headers in unusual places, empty cells, JSON that is not quite JSON.

use crate::support::{Folder, json, run, run_in, run_with};

#[track_caller]
fn dedups(options: &[&str], input: &[u8], output: &[u8]) {
    let found = run_with(input, [&["dedup"][..], options].concat());
    assert_eq!(
        (found.stdout.escape_ascii().to_string(), found.code, found.stderr.as_str()),
        (output.escape_ascii().to_string(), Some(0), ""),
        "{options:?}"
    );
}

/// The standard error of a run.
fn told(options: &[&str], input: &str) -> String {
    run_with(input.as_bytes(), [&["dedup"][..], options].concat()).stderr
}

#[test]
fn columns_in_one_list_and_by_names_that_are_numbers() {
    let table = b"id,name,x\n1,a,1\n1,a,2\n1,b,3\n";
    dedups(&["--csv", "id,name"], table, b"id,name,x\n1,a,1\n1,b,3\n");
    dedups(&["--csv", "id", "--csv", "2"], table, b"id,name,x\n1,a,1\n1,b,3\n");
    let years = b"country,2019,2020\nA,1,5\nB,2,5\nC,3,6\n";
    dedups(&["--csv", "2020"], years, b"country,2019,2020\nA,1,5\nC,3,6\n");
    dedups(&["--csv", "3"], years, b"country,2019,2020\nA,1,5\nC,3,6\n");
    dedups(&["--csv", "\"a,b\""], b"\"a,b\",c\n1,2\n1,3\n", b"\"a,b\",c\n1,2\n");
    dedups(&["--csv", "=3"], b"1,2,3,4\n5,6,a,b\n5,6,a,c\n", b"1,2,3,4\n5,6,a,b\n");
}

#[test]
fn whole_rows_and_all_columns_but_some() {
    let table = b"id,name,at\n1,a,5\n2,a,6\n1,\"a\",7\n1,a,5\n1,,5\n1,,6\n";
    dedups(&["--csv", "*"], b"a,\"b\"\na,b\n\na,\n\na,b,\n", b"a,\"b\"\n\na,\na,b,\n");
    dedups(&["--tsv", "*"], b"a\tb\na\t\na\tb\n", b"a\tb\na\t\n");
    let kept = b"id,name,at\n1,a,5\n2,a,6\n1,,5\n";
    dedups(&["--csv", "*", "--except", "at"], table, kept);
    dedups(&["--csv", "*", "--except", "3-"], table, kept);
    let name = b"id,name,at\n1,a,5\n1,,5\n";
    dedups(&["--csv", "*", "--except", "at", "--except", "id"], table, name);
    let blanks = b"id,n,at\n1, A\n2,a\n";
    dedups(&["--csv", "*", "--except", "id,at", "-i", "--trim"], blanks, b"id,n,at\n1, A\n");
    let bars = b"at|q\n1|\"a\n2|\"a\n3|a\n";
    dedups(&["--tsv", "*", "-t", "|", "--except", "at"], bars, b"at|q\n1|\"a\n3|a\n");
    assert_eq!(
        told(&["--csv", "*", "--except", "at,id"], "id,at\n1,2\n"),
        "coua: standard input: --except names all columns (id, at); none is left for the key\n"
    );
    assert_eq!(
        told(&["--csv", "*", "--except", "at"], "id,time\n"),
        "coua: standard input: no column \"at\" in the header (found id, time)\n"
    );
    assert_eq!(
        told(&["--csv", "*", "--csv", "id"], "id\n"),
        "coua: '*': means all columns, so give it alone; --csv '=*' selects a column named *\n"
    );
    assert_eq!(
        told(&["--csv", "*", "--except", "1"], "5\n6\n"),
        "coua: standard input: record 1: no column other than those of --except: no key in 2 \
         records; fix the option that selects keys, or add --missing\n"
    );
}

#[test]
fn two_columns_of_one_name_are_told_apart() {
    let table = "id,a,id\n1,x,5\n2,x,5\n";
    assert_eq!(
        told(&["--csv", "id"], table),
        "coua: standard input: several columns are named \"id\" (numbers 1 and 3); use a number, \
         or --csv 'id[2]'\n"
    );
    dedups(&["--csv", "id[2]"], table.as_bytes(), b"id,a,id\n1,x,5\n");
    dedups(&["--csv", "id[2],a"], table.as_bytes(), b"id,a,id\n1,x,5\n");
}

/// Files whose columns are in another order have the same keys, also in another run.
#[test]
fn all_columns_but_some_are_found_by_name() {
    let folder = Folder::new();
    folder.file("a", "at,home,away\n1,p,q\n");
    folder.file("b", "at,away,home\n2,p,q\n3,q,p\n");
    folder.file("c", "home,away,hour\np,q,4\n");
    let dedup = ["dedup", "--csv", "*", "--except", "at", "--filter", "f", "--output-dir"];
    run_in(&folder, &[&dedup[..], &["o", "a", "b"]].concat()).good();
    assert_eq!(folder.read("o/b"), b"at,away,home\n2,p,q\n");
    let other = ["dedup", "--csv", "*", "--except", "hour", "--filter", "f", "c"];
    assert_eq!(run_in(&folder, &other).stdout, b"home,away,hour\n");
}

#[test]
fn whole_json_records_but_some_members() {
    let lines = concat!(
        "{\"@timestamp\":1,\"m\":\"x\",\"h\":{\"n\":1,\"p\":2}}\n",
        "{\"@timestamp\":2,\"h\":{\"p\":2, \"n\":1},\"m\":\"x\"}\n",
        "{\"@timestamp\":3,\"m\":\"x\",\"h\":{\"n\":1,\"p\":3}}\n",
    );
    let at = |number: usize| lines.split_inclusive('\n').nth(number).unwrap();
    let dedups = |options: &[&str], kept: &[usize]| {
        let kept: String = kept.iter().map(|number| at(*number)).collect();
        dedups(options, lines.as_bytes(), kept.as_bytes());
    };
    dedups(&["--except", "/@timestamp"], &[0, 2]);
    dedups(&["--except", "/@timestamp", "--except", "/h/p"], &[0]);
    dedups(&["--except", "/m"], &[0, 1, 2]);
    assert_eq!(
        told(&["--except", "at"], ""),
        "coua: --except at: is not a JSON pointer such as /time; for columns, add --csv '*' or --tsv '*'\n"
    );
    assert_eq!(
        told(&["--csv", "id", "--except", "at"], ""),
        "coua: --except: leaves columns out of whole rows; use --csv '*'\n"
    );
}

#[test]
fn ranges_of_columns() {
    dedups(&["--csv", "1-3"], b"c,1,5,a\nc,1,5,b\nc,2,5,a\n", b"c,1,5,a\nc,2,5,a\n");
    dedups(&["--tsv", "2-"], b"1\ta\tb\n2\ta\tb\n3\ta\n", b"1\ta\tb\n3\ta\n");
    dedups(&["--csv", "id,-1"], b"x,y,id\n1,2,3\n1,4,3\n", b"x,y,id\n1,2,3\n");
    dedups(&["-k", "1", "-k", "3-"], b"a 1 b\na 2 b\na 2 c\n", b"a 1 b\na 2 c\n");
    assert_eq!(
        told(&["--tsv", "0"], ""),
        "coua: --tsv 0: columns count from 1; --tsv '=0' selects a column named 0\n"
    );
}

#[test]
fn an_empty_match_is_no_key() {
    for (options, input, output) in [
        (&[r"id=(\d*)"][..], "id=\nid= x\nid=1\nid=1 y\n", "id=\nid= x\nid=1\n"),
        (&["(a*)-(b*)"], "-\n-b\n-b\na-b\na-b\n", "-\n-b\n-b\na-b\n"),
        (&["(a*)-(b)?(c)?"], "-\n-c\n-c\na-\na-\na-c\na-c\n", "-\n-c\n-c\na-\na-c\n"),
        (&[r"\d*"], "x\ny\n1\n1\n", "x\ny\n1\n"),
        (&[r"\d*", "--missing", "value"], "x\ny\n1\n1\n", "x\n1\n"),
        (&[" *x", "--trim"], " x\nx\n", " x\n"),
        (&[" *", "--trim", "--missing", "keep"], "  x\n y\n", "  x\n y\n"),
    ] {
        let run = run_with(input.as_bytes(), [&["dedup", "--regex"], options].concat());
        assert_eq!(run.text(), output, "{options:?}");
    }
}

#[test]
fn comments_are_printed_and_no_records() {
    let bed = "track x\n# a\nchr1 1\nchr1 1\n# a\nchr2 5\n";
    let shown = "track x\n# a\nchr1 1\n# a\nchr2 5\n";
    for keys in [&[][..], &["-k", "1-"], &["--regex", ".*"], &["-i"], &["--tsv", "1"]] {
        for threads in ["1", "3"] {
            let options = [keys, &["--comment", "#", "-j", threads]].concat();
            dedups(&options, bed.as_bytes(), shown.as_bytes());
        }
    }
    let folder = Folder::new();
    let (file, filter) = (folder.file("in", bed), folder.join("f"));
    let stats = run(["add", &filter, &file, "--comment", "# ", "--stats=json"]).stderr;
    assert_eq!((&json(&stats)["records"], &json(&stats)["items"]), (&4.into(), &4.into()));
    assert_eq!(run(["check", "-c", &filter, &file, "--comment", "#"]).text(), "4\n");
    let counted = run(["dedup", "-c", &file, "--comment", "#"]).text();
    assert_eq!(counted, "1\ttrack x\n# a\n2\tchr1 1\n# a\n1\tchr2 5\n");
    assert_eq!(run(["dedup", "-d", &file, "--comment", "#"]).text(), "# a\nchr1 1\n# a\n");
}

#[test]
fn lines_before_a_header() {
    let excel = b"sep=;\n\nid;x\n1;2\n1;3\n";
    dedups(&["--csv", "id", "-t", ";"], excel, b"sep=;\n\nid;x\n1;2\n");
    assert_eq!(
        told(&["--csv", "id"], "sep=;\nid;x\n"),
        "coua: standard input: its first line declares ';' as the separator, not ','; use -t ';'\n"
    );
    let commented = b"# made by hand\n# twice\nid,x\n1,2\n# 1,3\n1,4\n";
    dedups(
        &["--csv", "id", "--comment", "#"],
        commented,
        b"# made by hand\n# twice\nid,x\n1,2\n# 1,3\n",
    );
    dedups(
        &["--csv", "1", "--comment", "#"],
        b"# it's \"quoted\n1,2\n#,\"1\n1,2\n#\n#\n",
        b"# it's \"quoted\n1,2\n#,\"1\n#\n#\n",
    );
    // Lines before the header of a further file are dropped with it, and are not records.
    let folder = Folder::new();
    let (first, second) = (folder.file("a", "#1\nid\n5\n"), folder.file("b", "#2\n\nid\n5\n6\n"));
    for threads in ["1", "3"] {
        let args = [
            "dedup",
            "--csv",
            "id",
            "--comment",
            "#",
            "-j",
            threads,
            "--stats=json",
            &first,
            &second,
        ];
        let run = run(args);
        assert_eq!(
            (run.stdout, json(&run.stderr)["records"].as_u64()),
            (b"#1\nid\n5\n6\n".to_vec(), Some(3))
        );
    }
}

#[test]
fn a_record_that_equals_the_header_is_one() {
    dedups(&["--csv", "id"], b"id,n\n1,a\nid,n\n1,c\n2,b\nid,n\n", b"id,n\n1,a\n2,b\n");
    // Columns by number: there is no header.
    dedups(&["--csv", "2"], b"id,n\n1,a\nid,n\n", b"id,n\n1,a\n");
}

#[test]
fn blanks_around_names() {
    let table = b"id, name\n1, a\n2,a \n";
    dedups(&["--csv", "name", "--trim"], table, b"id, name\n1, a\n");
    assert_eq!(
        told(&["--csv", "name"], "id, name\n"),
        "coua: standard input: no column \"name\" in the header (found id, \" name\")\n"
    );
}

#[test]
fn quotes_that_mean_nothing() {
    let table = b"id\tname\r\n1\t\"hello\n2\tx\n2\ty\n3\t\"end\n";
    let output = b"id\tname\r\n1\t\"hello\n2\tx\n3\t\"end\n";
    dedups(&["--tsv", "id"], table, output);
    let bars = |text: &[u8]| String::from_utf8(text.to_vec()).unwrap().replace('\t', "|");
    dedups(&["--tsv", "id", "-t", "|"], bars(table).as_bytes(), bars(output).as_bytes());
    dedups(&["--tsv", "1"], b"a\t1\na\t2\n", b"a\t1\n");
}

#[test]
fn an_empty_part_is_a_missing_one_unless_told() {
    let people = "id,email\n1,\n2,\n3,x@y\n4,x@y\n";
    let first = "coua: 2 records without a key passed through (first: standard input: record 2: \
                 empty key, which --missing=value accepts)\n";
    let found = run_with(people.as_bytes(), ["dedup", "--csv", "email"]);
    assert_eq!(
        (found.stdout, found.stderr.as_str()),
        (b"id,email\n1,\n2,\n3,x@y\n".to_vec(), first)
    );
    dedups(&["--csv", "email", "--missing=value"], people.as_bytes(), b"id,email\n1,\n3,x@y\n");
    for (options, input) in [
        (&["-k", "2", "-t", ","][..], "a,\nb,\nc,x\n"),
        (&["--json", "/a"], "{\"a\":\"\"}\n{\"a\":\"\"}\n{\"a\":\"x\"}\n"),
        (&["--json", "/a", "--trim"], "{\"a\":\" \"}\n{\"a\":\"\"}\n{\"a\":\"x\"}\n"),
    ] {
        let args = [&["dedup"][..], options].concat();
        assert_eq!(run_with(input.as_bytes(), args).stdout, input.as_bytes(), "{options:?}");
        let key = [options, &["--missing=value"]].concat();
        let once: Vec<&str> = input.split_inclusive('\n').collect();
        dedups(&key, input.as_bytes(), [once[0], once[2]].concat().as_bytes());
    }
    // Lines are keys whatever they contain.
    dedups(&[], b"\n\na\n", b"\na\n");
}

#[test]
fn parts_that_are_missing_may_count() {
    let lines = "{\"a\":1}\n{\"a\":1,\"b\":null}\n{\"a\":1,\"b\":2}\n{\"a\":1}\n";
    let args = ["--json", "/a", "--json", "/b", "--missing=value"];
    dedups(&args, lines.as_bytes(), b"{\"a\":1}\n{\"a\":1,\"b\":2}\n");
    let few = b"{\"c\":1}\n{}\n{\"a\":\"\"}\n{\"b\":1}\n";
    dedups(&args, few, b"{\"c\":1}\n{\"b\":1}\n");
    // What is no JSON has no value.
    let told = run_with(b"{\"a\":1}\n{\n{\n", [&["dedup"][..], &args].concat());
    assert_eq!(told.stdout, b"{\"a\":1}\n{\n{\n");
    assert!(told.stderr.contains("2 records without a key passed through"), "{}", told.stderr);
}

#[test]
fn json_lines_as_programs_write_them() {
    let nan = b"{\"id\":1,\"x\":NaN}\n{\"id\":1,\"x\":-Infinity}\n{\"id\":2}\n";
    dedups(&["--json", "/id"], nan, b"{\"id\":1,\"x\":NaN}\n{\"id\":2}\n");
    let mark = b"\xef\xbb\xbf{\"id\":1}\n{\"id\":1}\n";
    dedups(&["--json", "/id"], mark, b"\xef\xbb\xbf{\"id\":1}\n");
    let latin = b"{\"id\":1,\"n\":\"\xe9\"}\n{\"id\":1}\n";
    dedups(&["--json", "/id"], latin, b"{\"id\":1,\"n\":\"\xe9\"}\n");
    let halves = br#"{"t":"x\ud83d"}
{"t":"x\ud83e"}
{"t":"x\ud83d"}
"#;
    dedups(&["--json", "/t"], halves, &halves[..halves.len() / 3 * 2]);
    let objects = b"{\"t\":{\"a\":1,\"b\":2}}\n{\"t\":{\"b\":2, \"\\u0061\":1}}\n";
    dedups(&["--json", "/t"], objects, b"{\"t\":{\"a\":1,\"b\":2}}\n");
}

#[test]
fn what_is_no_line_of_json_is_named() {
    assert_eq!(
        told(&["--json", ".user.id"], ""),
        "coua: --json .user.id: a JSON pointer begins with a slash; use /user/id\n"
    );
    let array = told(&["--json", "/id"], "[{\"id\":1},{\"id\":1}]\n");
    assert!(array.contains("a JSON array; split it into lines with `jq -c '.[]'`"), "{array}");
    let pretty = told(&["--json", "/id"], "[\n  {\"id\":1}\n]\n");
    assert!(pretty.contains("a JSON array; split it into lines"), "{pretty}");
}

#[test]
fn bytes_that_are_not_utf_8_do_not_end_a_match() {
    let paths = b"/caf\xe9/a?1\n/caf\xe9/a?2\n/caf\xe8/a?3\n";
    dedups(&["--regex", "^[^?]*"], paths, b"/caf\xe9/a?1\n/caf\xe8/a?3\n");
    dedups(
        &["--regex", r"\w+$"],
        b"1 \xe9t\xe9\n2 \xe9t\xe9\n3 \xe9t\n",
        b"1 \xe9t\xe9\n3 \xe9t\n",
    );
}

#[test]
fn fields_to_the_end() {
    dedups(&["-k", "3-"], b"1 x a b\n2 y a  b\n3 z a\n", b"1 x a b\n3 z a\n");
    dedups(&["-k", "-2"], b"a b 1\na b 2\n", b"a b 1\n");
}

#[test]
fn the_habits_of_uniq() {
    dedups(&["-i"], b"a\nA\n", b"a\n");
    dedups(&["-z"], b"a\0a\0", b"a\0");
}
