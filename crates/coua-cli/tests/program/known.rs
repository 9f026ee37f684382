//! Records that count as seen from the start (`--known`), files named by a list (`--files-from`), and outputs that are
//! appended to (`--append`).

use crate::support::{Folder, filter_of, json, run_in, run_with, shell};
use coua::{CuckooFilter, KeyHasher};

#[test]
fn lines_of_b_that_are_not_in_a() {
    let folder = Folder::new();
    folder.file("a", "1\n2\n3\n");
    folder.file("b", "3\n4\n4\n1\n5");
    folder.file("c", "5\n");
    for threads in ["1", "3"] {
        let dedup = |options: &[&str]| {
            run_in(&folder, &[&["dedup", "-j", threads], options, &["b"]].concat())
        };
        assert_eq!(dedup(&["--known", "a"]).text(), "4\n5\n");
        assert_eq!(dedup(&["--known", "a", "--known", "c"]).text(), "4\n");
        assert_eq!(dedup(&["--known", "a", "-d"]).text(), "3\n4\n1\n");
        assert_eq!(dedup(&["--known", "a", "--keep", "none"]).text(), "5\n");
        assert_eq!(dedup(&["--known", "a", "-c"]).text(), "2\t4\n1\t5\n");
        assert_eq!(dedup(&["--known", "a", "-c", "-d"]).text(), "1\t3\n2\t4\n1\t1\n");
        assert_eq!(
            dedup(&["--known", "c", "--known", "b", "-c", "-d"]).text(),
            "1\t3\n2\t4\n2\t4\n1\t1\n1\t5\n"
        );
        let run = dedup(&["--known", "a", "--stats=json"]);
        let stats = json(run.stderr.lines().last().unwrap());
        let numbers = ["records", "unique", "repeats", "items"].map(|name| stats[name].as_u64());
        assert_eq!(numbers, [5, 2, 3, 2].map(Some));
    }
}

#[test]
fn known_lines_may_come_from_a_pipe() {
    let folder = Folder::new();
    folder.file("names", "b\n");
    shell(folder.path(), "$COUA dedup --known - --files-from - < names").failed(
        2,
        "coua: --known -: standard input already supplies the file names; use a file for one of them\n",
    );
    folder.file("b", "3\n4\n");
    let script = "mkfifo known; (echo 3 >known) & $COUA dedup --known known b; wait";
    assert_eq!(shell(folder.path(), script).text(), "4\n");
}

/// A filter with a high rate takes new records for known ones.
#[test]
fn wrongly_known_records_are_expected() {
    let folder = Folder::new();
    let lines = |from: u32, to: u32| {
        (from..to).fold(String::new(), |lines, number| lines + &format!("{number:06}\n"))
    };
    let add = [
        "add",
        "-q",
        "--rate",
        "0.1",
        "--capacity",
        "10000",
        "--when-full",
        "stop",
        &folder.join("known"),
    ];
    run_with(lines(0, 10_000).as_bytes(), add).good();
    folder.file("in", lines(10_000, 110_000));
    for options in [&[][..], &["-c"], &["--keep", "none"]] {
        let dedup = [&["dedup", "--known", "known", "in"], options].concat();
        let run = run_in(&folder, &[&dedup[..], &["--stats=json"]].concat());
        let stats = json(run.stderr.lines().last().unwrap());
        let [expected, found] =
            ["expected_wrongly_dropped", "repeats"].map(|name| stats[name].as_f64().unwrap());
        assert!((found / expected - 1.0).abs() < 0.1, "{options:?}: {expected}, {found}");
        let warned = run_in(&folder, &dedup).stderr;
        assert!(warned.contains("because a filter of --known remembers few bits"), "{warned}");
    }
    folder.file("exact", lines(0, 10_000));
    let exact = run_in(&folder, &["dedup", "--known", "exact", "in"]);
    assert_eq!((exact.stderr.as_str(), exact.stdout.len()), ("", 700_000));
}

/// Outputs would empty it.
#[test]
fn a_known_file_is_no_output() {
    let folder = Folder::new();
    folder.file("in", "2\n3\n");
    let lines = folder.file("known", "1\n2\n");
    std::fs::hard_link(&lines, folder.join("link")).unwrap();
    for output in [["-o", "known"], ["-o", "link"], ["-o", "./known"]] {
        for more in [&[][..], &["--keep", "none"], &["--append", "--resume", "--filter", "f"]] {
            let (words, name) = (["dedup", "--known", "known", "in"], output[1]);
            let message = format!("coua: {name}: is also a --known file; choose another output\n");
            run_in(&folder, &[&words[..], &output, more].concat()).failed(2, &message);
        }
    }
    assert_eq!(folder.read("known"), b"1\n2\n");
    run_in(&folder, &["dedup", "--known", "known", "in", "--append", "-o", "known"]).good();
    assert_eq!(folder.read("known"), b"1\n2\n3\n");
    shell(folder.path(), "echo 4 | $COUA dedup --known known >> known").good();
    assert_eq!(folder.read("known"), b"1\n2\n3\n4\n");
    shell(folder.path(), "echo 4 | $COUA dedup --known new >> new").good();
    let message = "coua: standard output: is also a --known file, which the shell has emptied; choose another output\n";
    shell(folder.path(), "echo 4 | $COUA dedup --known new > new").failed(2, message);
    run_with(b"1\n", ["add", &folder.join("f")]).good();
    let message = "coua: standard output: is also a --known file; choose another output\n";
    shell(folder.path(), "$COUA dedup --known f in >> f").failed(2, message);
}

#[test]
fn known_records_without_a_key_are_told() {
    let folder = Folder::new();
    folder.file("ids", "a\nb\n");
    let dedup = |options: &[&str]| {
        run_with(b"{\"id\":\"a\"}\n", [&["dedup", "--json", "/id", "--known"], options].concat())
    };
    dedup(&[&folder.join("ids")]).failed(
        2,
        &format!(
            "coua: {}: record 1: invalid JSON: no key in 2 records; fix the option that \
             selects keys, or add --missing; for keys in another form, make a filter of them \
             (`coua add FILTER`), and name that\n",
            folder.join("ids")
        ),
    );
    assert_eq!(dedup(&[&folder.join("ids"), "--missing", "keep"]).text(), "{\"id\":\"a\"}\n");
    // Empty files have nothing that could lack a key.
    folder.file("empty", "");
    assert_eq!(dedup(&[&folder.join("empty")]).text(), "{\"id\":\"a\"}\n");
}

/// Known files may be filters, which are neither changed nor merged.
#[test]
fn filters_may_be_known() {
    let folder = Folder::new();
    folder.file("b", "3\n4\n");
    run_with(b"1\n2\n3\n", ["add", &folder.join("f")]).good();
    let before = folder.read("f");
    assert_eq!(run_in(&folder, &["dedup", "--known", "f", "--filter", "g", "b"]).text(), "4\n");
    assert_eq!(run_in(&folder, &["info", "--json", "g"]).json()["items"], 1);
    assert!(folder.read("f") == before);
    assert_eq!(run_in(&folder, &["dedup", "--filter", "g", "b"]).text(), "3\n");
    for name in ["seeded", "alike"] {
        let seeded = CuckooFilter::builder().hasher(KeyHasher::Xxh3 { seed: 7 });
        filter_of(seeded, &folder.join(name));
    }
    run_with(b"1\n", ["add", &folder.join("seeded")]).good();
    run_in(&folder, &["dedup", "--known", "seeded", "b"]).failed(
        2,
        "coua: seeded: --known: the hash of its keys differs from that of this run; use the same --secret, or a filter with the same seed\n",
    );
    assert_eq!(
        run_in(&folder, &["dedup", "--filter", "alike", "--known", "seeded", "b"]).text(),
        "3\n4\n"
    );
    run_with(b"x\n", ["add", "-i", &folder.join("lower")]).good();
    let other = run_in(&folder, &["dedup", "--known", "lower", "b"]);
    assert!(
        other.code == Some(2)
            && other.stderr.contains("lower: its keys were made with --ignore-case")
    );
    assert_eq!(run_in(&folder, &["dedup", "-i", "--known", "lower", "b"]).text(), "3\n4\n");
}

#[test]
fn keys_of_known_files_are_found_as_those_of_inputs() {
    let folder = Folder::new();
    folder.file("a.csv", "x,id\nq,7\n");
    folder.file("b.csv", "id,v\n7,a\n8,b\n");
    let dedup = ["dedup", "--csv", "id", "--known", "a.csv", "b.csv"];
    assert_eq!(run_in(&folder, &dedup).text(), "id,v\n8,b\n");
    folder.file("a", "A\n");
    assert_eq!(run_with(b"a\nb\n", ["dedup", "-i", "--known", &folder.join("a")]).text(), "b\n");
    let missing = run_in(&folder, &["dedup", "--known", "none", "a"]);
    missing.failed(2, "coua: none: No such file or directory\n");
    let both = run_with(b"a\n", ["dedup", "--known", "-"]);
    both.failed(
        2,
        "coua: --known -: standard input is already an input; use a file for one of them\n",
    );
    assert_eq!(shell(folder.path(), "echo A | $COUA dedup --known - a").good(), b"");
}

#[test]
fn a_resumed_run_knows_the_same() {
    let folder = Folder::new();
    folder.file("a", "1\n");
    folder.file("in", "1\n2\n");
    let dedup = ["dedup", "--known", "a", "--filter", "f", "-o", "out", "--resume", "in"];
    run_in(&folder, &dedup).good();
    folder.file("in", "1\n2\n1\n3\n");
    run_in(&folder, &dedup).good();
    assert_eq!(folder.read("out"), b"2\n3\n");
    run_in(&folder, &["dedup", "--filter", "f", "-o", "out", "--resume", "in"]).code.unwrap();
}

#[test]
fn files_from_a_list() {
    let folder = Folder::new();
    for (name, text) in [("one", "a\n"), ("two words", "b\na\n"), ("three", "c\n")] {
        folder.file(name, text);
    }
    folder.file("list", "two words\nthree\n");
    folder.file("empty", "");
    folder.file("itself", "three\n-\n");
    let dedup = |script: &str| shell(folder.path(), &format!("$COUA dedup {script}")).text();
    assert_eq!(dedup("--files-from list one"), "a\nb\nc\n");
    assert_eq!(shell(folder.path(), "cat list | $COUA dedup --files-from -").text(), "b\na\nc\n");
    let found = "find . -name 't*' -print0 | sort -z | $COUA dedup --files-from -";
    assert_eq!(shell(folder.path(), found).text(), "c\nb\na\n");
    assert_eq!(dedup("--files-from empty"), "", "it does not wait for standard input");
    run_in(&folder, &["dedup", "--files-from", "list", "-o", "list"])
        .failed(2, "coua: list: is also an input; choose another output\n");
    let none = run_in(&folder, &["dedup", "--files-from", "none"]);
    none.failed(2, "coua: none: No such file or directory\n");
    for script in ["--files-from - - < /dev/null", "--files-from - one < itself"] {
        shell(folder.path(), &format!("$COUA dedup {script}")).failed(
            2,
            "coua: --files-from -: standard input cannot supply both file names and records\n",
        );
    }
}

#[test]
fn an_output_is_added_to() {
    let folder = Folder::new();
    folder.file("in", "a\nb\na\n");
    folder.file("out", "old");
    let dedup = |options: &[&str]| {
        run_in(&folder, &[&["dedup", "-o", "out", "--append", "in"], options].concat())
    };
    dedup(&[]).good();
    assert_eq!(folder.read("out"), b"old\na\nb\n", "with the end that the last record lacked");
    dedup(&["--known", "out"]).good();
    assert_eq!(folder.read("out"), b"old\na\nb\n");
    dedup(&["--keep", "last"]).good();
    assert_eq!(folder.read("out"), b"old\na\nb\nb\na\n");
    let new = run_in(&folder, &["dedup", "-o", "new", "--append", "in"]);
    new.good();
    assert_eq!(folder.read("new"), b"a\nb\n");
    let standard = run_in(&folder, &["dedup", "--append", "in"]);
    assert_eq!(standard.code, Some(2));
}

#[test]
fn a_header_is_added_to_nothing_only_and_must_be_the_same() {
    let folder = Folder::new();
    folder.file("in", "id,v\n1,a\n2,b\n1,c\n");
    folder.file("other", "id,w\n3,d\n");
    let dedup =
        |file: &str| run_in(&folder, &["dedup", "--csv", "id", "-o", "out", "--append", file]);
    dedup("in").good();
    dedup("in").good();
    assert_eq!(folder.read("out"), b"id,v\n1,a\n2,b\n1,a\n2,b\n");
    let refused = dedup("other");
    assert!(
        refused.code == Some(2)
            && refused.stderr.contains("other: its header differs from that of out")
    );
    assert_eq!(folder.read("out"), b"id,v\n1,a\n2,b\n1,a\n2,b\n");
    folder.file("text", "no header\n");
    let refused = run_in(&folder, &["dedup", "--csv", "id", "-o", "text", "--append", "in"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("text: no column \"id\" in the header")
    );
    assert_eq!(folder.read("text"), b"no header\n");
}

#[test]
fn a_header_with_a_number_is_the_same_as_another_one_with_a_number() {
    let folder = Folder::new();
    folder.file("in", "id,v\n1,a\n1,b\n");
    let dedup = |options: &[&str]| {
        let args = ["dedup", "--csv", "id", "-o", "out", "--append", "in"];
        run_in(&folder, &[&args[..], options].concat())
    };
    dedup(&["-c"]).good();
    dedup(&["-c"]).good();
    assert_eq!(folder.read("out"), b"count,id,v\n2,1,a\n2,1,a\n");
    dedup(&[]).failed(
        2,
        "coua: in: its header differs from that of out (found id, v, expected count, id, v), but \
         both go to one output; run them separately, or give both the same columns\n",
    );
    folder.file("out", "id,v\n");
    let other = dedup(&["-c"]);
    assert!(other.code == Some(2) && other.stderr.contains("found count, id, v, expected id, v"));
    assert_eq!(folder.read("out"), b"id,v\n");
}

/// With a filter, the same command adds nothing the second time, and an interrupted run must be resumed.
#[test]
fn outputs_of_several_runs_with_one_filter() {
    let folder = Folder::new();
    let dedup = |options: &[&str], file: &str| {
        run_in(
            &folder,
            &[&["dedup", "--filter", "f", "-o", "out", "--append"], options, &[file]].concat(),
        )
    };
    folder.file("one", "a\nb\n");
    folder.file("two", "b\nc\n");
    dedup(&[], "one").good();
    dedup(&[], "two").good();
    dedup(&[], "two").good();
    assert_eq!(folder.read("out"), b"a\nb\nc\n");
    folder.file("two", "b\nc\nd\n");
    dedup(&["--resume"], "two").good();
    folder.file("two", "b\nc\nd\ne\n");
    dedup(&["--resume"], "two").good();
    assert_eq!(folder.read("out"), b"a\nb\nc\nd\ne\n");
}
