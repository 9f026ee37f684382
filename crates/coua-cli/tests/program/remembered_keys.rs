//! A filter remembers how its keys are made: its normalizers apply to every later command, and its selectors are
//! mentioned if they may have been forgotten.

use crate::support::{Folder, run_in, run_with};
use serde_json::json;

fn with(folder: &Folder, text: &str, args: &[&str]) -> crate::support::Run {
    let args: Vec<_> = args
        .iter()
        .map(|arg| if *arg == "f" { folder.join("f") } else { (*arg).to_owned() })
        .collect();
    run_with(text.as_bytes(), &args)
}

#[test]
fn normalizers_hold_for_every_command() {
    for (options, stored, asked) in [
        (&["-i"][..], "Anna\n", "ANNA\n"),
        (&["--trim"], " a\n", "a \n"),
        (&["--url"], "http://a.example\n", "HTTP://A.example:80/#top\n"),
        (&["--trim", "-i"], "B\n", "\tb\n"),
        (&["--url=no-www,drop=utm_*"], "http://a.b/?utm_x\n", "http://www.a.b/\n"),
        (&["--unicode", "-i"], "A\u{30a} Stra\u{df}e\n", "\u{e5} STRASSE\n"),
    ] {
        let folder = Folder::new();
        with(&folder, stored, &[&["add", "f"], options].concat()).good();
        for options in [&[][..], options] {
            let ask = |args: &[&str]| with(&folder, asked, &[args, options].concat());
            assert_eq!(ask(&["check", "f"]).text(), asked, "{options:?}");
            assert_eq!(ask(&["count", "f"]).text(), format!("1\t{asked}"));
            assert_eq!(ask(&["dedup", "--filter", "f"]).text(), "");
            assert_eq!(ask(&["remove", "f"]).text(), "");
            assert_eq!(ask(&["dedup", "--filter", "f"]).text(), asked);
        }
    }
}

#[test]
fn other_normalizers_are_refused() {
    let folder = Folder::new();
    with(&folder, "a\n", &["add", "f", "-i"]).good();
    let f = folder.join("f");
    let before = folder.read("f");
    for args in [
        &["check", "f", "--trim"][..],
        &["add", "f", "-i", "--url"],
        &["dedup", "--trim", "--filter", "f"],
        &["count", "f", "-i", "--unicode"],
        &["check", "f", "--url=no-www,sort-query"],
    ] {
        let words = format!(
            "coua: {f}: its keys were made with --ignore-case, not with {}; use the same options, or \
             another filter\n",
            match args[0] {
                "add" => "--ignore-case --url",
                "count" => "--ignore-case --unicode",
                "check" if args[2] != "--trim" => "--url=no-www,sort-query",
                _ => "--trim",
            }
        );
        with(&folder, "b\n", args).failed(2, &words);
    }
    assert!(folder.read("f") == before);
    let folder = Folder::new();
    with(&folder, "a\n", &["add", "f"]).good();
    let words = format!(
        "coua: {}: its keys were made with no option, not with --ignore-case; use the same options, \
         or another filter\n",
        folder.join("f")
    );
    with(&folder, "A\n", &["check", "-i", "f"]).failed(2, &words);
}

/// A filter that never had keys has no normalizers; one that has lost all its keys keeps them unless others are given.
#[test]
fn a_filter_without_items_takes_other_normalizers() {
    let folder = Folder::new();
    with(&folder, "", &["add", "f"]).good();
    with(&folder, "Anna\n", &["add", "f", "-i"]).good();
    assert_eq!(with(&folder, "ANNA\n", &["check", "f"]).text(), "ANNA\n");
    with(&folder, "ANNA\n", &["remove", "f"]).good();
    with(&folder, "Bob\n", &["add", "f"]).good();
    assert_eq!(with(&folder, "BOB\n", &["check", "f"]).text(), "BOB\n");
}

#[test]
fn info_tells_both() {
    let folder = Folder::new();
    with(&folder, "a;b\n", &["add", "f", "-k2", "-t", ";", "-i"]).good();
    let keys = json!({"find": {"fields": ["2"], "separator": [";"]}, "normalize": ["ignore-case"]});
    assert_eq!(run_in(&folder, &["info", "--json", "f"]).json()["key_options"], keys);
    let text = run_in(&folder, &["info", "f"]).text();
    assert!(text.contains("--fields 2 --separator ';', --ignore-case\n"), "{text}");
    with(&folder, "a\n", &["add", &folder.join("g")]).good();
    assert!(run_in(&folder, &["info", "g"]).text().contains(" whole records\n"));
}

#[test]
fn a_finder_that_was_forgotten_is_named() {
    let folder = Folder::new();
    with(&folder, "{\"id\":1}\n", &["add", "f", "--json", "/id"]).good();
    let f = folder.join("f");
    let hint = "none of 1 record: its keys were selected with --json /id; add that, unless each \
                record is a key\n";
    for args in [
        &["check", "f"][..],
        &["check", "-c", "f"],
        &["check", "-v", "f"],
        &["remove", "f"],
        &["count", "f"],
    ] {
        let run = with(&folder, "{\"id\":1}\n", args);
        assert_eq!(run.stderr, format!("coua: {f}: contains {hint}"), "{args:?}");
    }
    let run = with(&folder, "{\"id\":2}\n", &["dedup", "--filter", "f"]);
    assert_eq!((run.code, run.stderr), (Some(0), format!("coua: {f}: contained {hint}")));
    for (text, args) in [
        ("1\n", &["check", "f"][..]),
        ("{\"id\":3}\n", &["check", "-v", "--json", "/id", "f"]),
        ("x,1\n", &["check", "--csv", "2", "f"]),
    ] {
        let run = with(&folder, text, args);
        assert_eq!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn another_finder_is_told_when_records_are_added() {
    let folder = Folder::new();
    let text = "id,n\n1,2\n2,3\n";
    with(&folder, text, &["add", "f", "--csv", "id"]).good();
    let of = |ours: &str| {
        let theirs = "its keys were selected with --csv id, and those of this run";
        format!("coua: {}: {theirs} {ours}\n", folder.join("f"))
    };
    let note = of("were selected with --csv n");
    let run = with(&folder, text, &["dedup", "--filter", "f", "--csv", "n"]);
    assert_eq!((run.stdout, run.stderr), (b"id,n\n2,3\n".to_vec(), note.clone()));
    assert_eq!(with(&folder, text, &["add", "f", "--csv", "n"]).stderr, note);
    let forgotten = of("are whole records");
    assert_eq!(with(&folder, "9\n", &["add", "f"]).stderr, forgotten);
    assert_eq!(with(&folder, "1\n8,x\n", &["dedup", "--filter", "f"]).stderr, forgotten);
    for args in [&["check", "f", "--csv", "n"][..], &["dedup", "--filter", "f", "--csv", "id"]] {
        assert_eq!(with(&folder, text, args).stderr, "", "{args:?}");
    }
}

#[test]
fn a_finder_of_a_known_filter_that_was_forgotten_is_named() {
    let folder = Folder::new();
    with(&folder, "id,n\n1,x\n", &["add", "f", "--csv", "id"]).good();
    let hint = format!(
        "coua: {}: contained no record: its keys were selected with --csv id; add that, unless each \
         record is a key\n",
        folder.join("f")
    );
    for (text, options, said) in [
        ("id,n\n1,x\n1,x\n", &[][..], &*hint),
        ("id,n\n1,x\n", &["-c"], &hint),
        ("id,n\n1,x\n2,x\n", &["--csv", "id"], ""),
        ("1\n2\n", &[], ""),
        ("1\n2\n", &["-c"], ""),
        ("", &[], ""),
    ] {
        let run = with(&folder, text, &[&["dedup", "--known", "f"], options].concat());
        assert_eq!((run.code, &*run.stderr), (Some(0), said), "{text:?} {options:?}");
    }
}

/// Keys of two parts never equal keys of one.
#[test]
fn a_filter_knows_how_many_parts_its_keys_have() {
    let folder = Folder::new();
    with(&folder, "a,b\n", &["add", "f", "--csv", "1,2", "-i"]).good();
    let (f, before) = (folder.join("f"), folder.read("f"));
    let words = format!(
        "coua: {f}: its keys have 2 parts (--csv 1,2, --ignore-case), not 1 part, so none would be \
         equal; select as many, or use another filter\n"
    );
    for args in [
        &["check", "f"][..],
        &["add", "f", "-k2"],
        &["dedup", "--filter", "f", "--csv", "2"],
        &["dedup", "--known", "f", "-i", "--json", "/a"],
        &["count", "f", "--regex", "(.)"],
    ] {
        with(&folder, "a\n", args).failed(2, &words);
    }
    assert!(folder.read("f") == before);
    for args in [&["-k", "1,2", "-t", ","][..], &["--regex", "(.),(.)"], &["-k", "1-", "-t", ","]] {
        assert_eq!(with(&folder, "A,B\n", &[&["check", "f"], args].concat()).text(), "A,B\n");
    }
    // Without items it takes others.
    with(&folder, "a,b\n", &["remove", "f", "--csv", "1,2"]).good();
    with(&folder, "a\n", &["add", "f"]).good();
    assert_eq!(with(&folder, "A\n", &["check", "f"]).text(), "A\n");
}

/// Records that were read in another way may be lines this time, so the user says so.
#[test]
fn a_filter_knows_how_its_records_were_read() {
    for (options, text, shown) in
        [(&["-0"][..], "a\0", "--null"), (&["--delimiter", "--"], "a--", "--delimiter --")]
    {
        let folder = Folder::new();
        with(&folder, text, &[&["add", "f"], options].concat()).good();
        let f = folder.join("f");
        let words = format!(
            "coua: {f}: its records were read with {shown}; add that, or --delimiter '\\n' for lines\n"
        );
        with(&folder, text, &["dedup", "--filter", "f"]).failed(2, &words);
        with(&folder, text, &["add", "f"]).failed(2, &words);
        assert_eq!(
            with(&folder, text, &[&["dedup", "--filter", "f"], options].concat()).text(),
            ""
        );
        for args in
            [&["check", "f"][..], &["count", "f"], &["remove", "f"], &["dedup", "--known", "f"]]
        {
            with(&folder, text, args).failed(2, &words);
            assert_eq!(with(&folder, text, &[args, options].concat()).code, Some(0), "{args:?}");
        }
        with(&folder, text, &[&["add", "f"], options].concat()).good();
        let lines = ["dedup", "--filter", "f", "--delimiter", "\\n"];
        assert_eq!(with(&folder, "a\nb\n", &lines).text(), "b\n");
    }
    let folder = Folder::new();
    with(&folder, "a\0", &["add", "f", "-0"]).good();
    let csv = with(&folder, "a\nb\n", &["dedup", "--filter", "f", "--csv", "1"]);
    assert_eq!(csv.text(), "b\n", "columns say how records end");
}

/// Commands on whole filters keep the note; filters whose keys are made differently are not merged.
#[test]
fn whole_files() {
    let folder = Folder::new();
    with(&folder, "{\"id\":\"A\"}\n", &["add", "f", "--json", "/id", "-i"]).good();
    with(&folder, "x B\n", &["add", &folder.join("g"), "-k1,2", "-i"]).good();
    with(&folder, "c\n", &["add", &folder.join("h")]).good();
    run_in(&folder, &["compact", "-q", "f"]).good();
    run_in(&folder, &["convert", "f", "-o", "small", "--rate", "1e-6"]).good();
    let keys =
        |name: &str| run_in(&folder, &["info", "--json", name]).json()["key_options"].clone();
    assert_eq!(keys("small"), json!({"find": {"json": ["/id"]}, "normalize": ["ignore-case"]}));
    run_in(&folder, &["merge", "-q", "-o", "both", "f", "g"]).failed(
        2,
        "coua: g: its keys were made in another way (--fields 1,2, --ignore-case) than those of f (--json /id, \
         --ignore-case); add the records of one to the other filter, with `coua add`\n",
    );
    assert!(!folder.has("both"));
    with(&folder, "x,B\n", &["add", &folder.join("i"), "--csv", "2", "-i"]).good();
    let merged = run_in(&folder, &["merge", "-o", "both", "f", "i"]);
    let words = "coua: i: its keys were selected otherwise (--csv 2, --ignore-case) than those of f (--json /id, \
                 --ignore-case)\n";
    assert_eq!((merged.code, &*merged.stderr), (Some(0), words));
    assert_eq!(keys("both"), keys("small"));
    assert_eq!(with(&folder, "a\nb\nc\n", &["check", &folder.join("both")]).text(), "a\nb\n");
    run_in(&folder, &["merge", "-o", "all", "f", "h"]).failed(
        2,
        "coua: h: its keys were made with no option, not with --ignore-case; use the same options, \
         or another filter\n",
    );
    assert!(!folder.has("all"));
}

/// A note of how keys are made does not make an interrupted run a different one.
#[test]
fn a_run_is_resumed() {
    let folder = Folder::new();
    folder.file("in", "a\nA\n");
    let command = ["dedup", "--filter", "f", "-o", "out", "--resume", "in", "-i"];
    run_in(&folder, &command).good();
    folder.file("in", "a\nA\nb\nB\n");
    run_in(&folder, &command).good();
    assert_eq!(folder.read("out"), b"a\nb\n");
}

/// A run that fails before it has added anything leaves no note.
#[test]
fn a_run_that_fails_says_nothing_of_keys() {
    let folder = Folder::new();
    with(&folder, "", &["add", "f"]).good();
    let run = with(
        &folder,
        "x\n",
        &["dedup", "--filter", "f", "-o", &folder.join("out"), "-i", "-k2", "--missing=error"],
    );
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    with(&folder, "Anna\n", &["add", "f"]).good();
    assert_eq!(with(&folder, "ANNA\nAnna\n", &["check", "f"]).text(), "Anna\n");
}

/// Which filter is named first does not matter.
#[test]
fn a_merged_filter_remembers_how_keys_were_selected() {
    let folder = Folder::new();
    with(&folder, "other\n", &["add", &folder.join("plain")]).good();
    with(&folder, "id,n\n1,a\n", &["add", &folder.join("rows"), "--csv", "id"]).good();
    for (order, to) in [(["plain", "rows"], "p"), (["rows", "plain"], "r")] {
        let merged = run_in(&folder, &[&["merge", "-o", to][..], &order].concat());
        let is_told = merged.stderr.contains("its keys were selected otherwise (");
        assert!(merged.code == Some(0) && is_told, "{}", merged.stderr);
        let told = with(&folder, "1,a\n", &["check", &folder.join(to)]).stderr;
        assert!(told.contains("its keys were selected with --csv id; add that"), "{told}");
    }
}
