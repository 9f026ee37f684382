//! A filter remembers several runs: none is forgotten or blocked because of another.

use crate::support::{Folder, Run, coua, run_as_is, run_in, shell};
use serde_json::Value;
use std::fs;
use std::io::Write;

const FULL: &[&str] = &["dedup", "--filter", "seen", "-o", "out", "in"];

fn numbers(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect::<Vec<_>>().concat()
}

/// A folder with a filter of 40 old lines, and a run over 100 other lines that found it full.
fn full() -> Folder {
    let folder = Folder::new();
    folder.file("in", numbers(0..100));
    folder.file("old", numbers(1_000..1_040));
    let limits = ["--rate", "0.0001", "--capacity", "60", "--when-full", "stop"];
    run_in(&folder, &[&["add", "seen", "old"], &limits[..]].concat()).good();
    assert_eq!(run_in(&folder, FULL).code, Some(3));
    assert_eq!(folder.read("out"), numbers(0..20).as_bytes());
    folder
}

fn items(folder: &Folder, filter: &str) -> u64 {
    run_in(folder, &["info", "--json", filter]).json()["items"].as_u64().unwrap()
}

fn runs(folder: &Folder, filter: &str) -> Vec<Value> {
    run_in(folder, &["info", "--json", filter]).json()["runs"].as_array().unwrap().clone()
}

#[track_caller]
fn refused(run: &Run, words: &str) {
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn an_output_is_not_emptied_because_another_run_made_room() {
    for make_room in [
        &["remove", "-q", "seen", "old"][..],
        &["remove", "-q", "seen", "old", "--resume"],
        &["compact", "-q", "seen"],
        &["dedup", "--filter", "seen", "-o", "elsewhere", "old"],
    ] {
        let folder = full();
        run_in(&folder, make_room).good();
        refused(
            &run_in(&folder, FULL),
            "/out: holds the output of an interrupted `coua dedup` of ",
        );
        assert_eq!(folder.read("out"), numbers(0..20).as_bytes());
        run_in(&folder, &["remove", "-q", "seen", "old"]).good();
        assert_eq!(run_in(&folder, &[FULL, &["--resume"]].concat()).code, Some(3));
        assert_eq!(folder.read("out"), numbers(0..60).as_bytes());
    }
}

#[test]
fn a_full_run_is_resumed_in_a_larger_filter() {
    let folder = full();
    run_in(&folder, &["add", "larger", "old"]).good();
    let merged = run_in(&folder, &["convert", "-o", "seen", "--rate", "0.001", "larger"]);
    assert_eq!(
        (merged.code, runs(&folder, "seen").len()),
        (Some(0), 0),
        "that has replaced the filter"
    );

    let folder = full();
    fs::copy(folder.join("seen"), folder.join("copy")).unwrap();
    run_in(&folder, &["remove", "copy", "old"]).good();
    fs::rename(folder.join("copy"), folder.join("seen")).unwrap();
    assert_eq!(run_in(&folder, &[FULL, &["--resume"]].concat()).code, Some(3));
    assert_eq!(folder.read("out"), numbers(0..60).as_bytes());
}

#[test]
fn an_output_is_known_by_its_links_too() {
    let folder = full();
    fs::hard_link(folder.join("out"), folder.join("hard")).unwrap();
    std::os::unix::fs::symlink("out", folder.join("symbolic")).unwrap();
    for name in ["hard", "symbolic", "./out"] {
        let other = ["dedup", "--filter", "seen", "-o", name, "old"];
        refused(&run_in(&folder, &other), "holds the output of an interrupted `coua dedup` of ");
        assert_eq!(folder.read("out"), numbers(0..20).as_bytes());
    }
    // The finished part is not lost if it is moved: another output gets the rest.
    fs::rename(folder.join("out"), folder.join("moved")).unwrap();
    run_in(&folder, &["remove", "-q", "seen", "old"]).good();
    assert_eq!(run_in(&folder, FULL).code, Some(3));
    assert_eq!(folder.read("out"), numbers(20..60).as_bytes());
}

/// Other runs must not affect an ended run that is remembered.
#[test]
fn an_ended_run_outlives_all_others() {
    let folder = Folder::new();
    folder.file("u", "a\nb\nc\n");
    folder.file("other", "x\n");
    folder.file("bad", "{}\n");
    folder.file("broken", b"\x1f\x8b\x08\0broken");
    let again = || run_in(&folder, &["add", "seen", "u", "--resume"]).good();
    again();
    let before = folder.read("seen");
    for script in [
        "$COUA add seen </dev/null",
        "! $COUA add seen bad --json /a --missing error 2>/dev/null",
        "! $COUA add seen broken 2>/dev/null",
        "! $COUA add seen missing 2>/dev/null",
        "! $COUA remove seen broken 2>/dev/null",
        "! $COUA add seen other --stats 2>&-",
        "$COUA remove -q seen bad >/dev/null",
    ] {
        shell(folder.path(), script).good();
        again();
        assert!(folder.read("seen") == before, "{script}");
    }
    for script in [
        "$COUA add seen other; $COUA remove seen other",
        "$COUA add seen other --resume; $COUA remove seen other --resume",
        "$COUA dedup --filter seen other >/dev/null; $COUA remove seen other",
        "$COUA compact -q seen",
        "$COUA merge -o seen seen",
        "$COUA convert -o seen --rate 1e-9 seen",
    ] {
        shell(folder.path(), script).good();
        again();
        assert_eq!(items(&folder, "seen"), 3, "{script}");
    }
}

#[test]
fn copies_remember_the_runs_of_their_one_source() {
    let folder = Folder::new();
    folder.file("u", "a\nb\nc\n");
    folder.file("v", "d\n");
    run_in(&folder, &["add", "x", "u", "--resume"]).good();
    run_in(&folder, &["add", "y", "v", "--resume"]).good();
    for command in ["merge -o copy x", "convert -o copy --rate 1e-9 x", "merge -o x x"] {
        shell(folder.path(), &format!("$COUA {command}")).good();
        let copy = if command.contains("copy") { "copy" } else { "x" };
        run_in(&folder, &["add", copy, "u", "--resume"]).good();
        assert_eq!(items(&folder, copy), 3, "{command}");
    }
    run_in(&folder, &["merge", "-o", "both", "x", "y"]).good();
    assert!(runs(&folder, "both").is_empty());
    run_in(&folder, &["merge", "-o", "y", "x", "y"]).good();
    assert_eq!((runs(&folder, "y").len(), items(&folder, "y")), (1, 4));
}

#[test]
fn files_are_known_by_their_content() {
    let folder = Folder::new();
    let text = numbers(0..5_000);
    folder.file("u", &text);
    let resume = |name: &str| run_in(&folder, &["add", "x", name, "--resume"]);
    resume("u").good();
    let count = |number| assert_eq!(items(&folder, "x"), number);
    // Replaced by an equal file, as by rsync, editors and restored backups.
    for script in ["cp u v; mv v u", "sort -n -o u u", "cp -p u v; rm u; cat v > u; rm v"] {
        shell(folder.path(), script).good();
        resume("u").good();
        count(5_000);
    }
    // A file of another name is another one.
    shell(folder.path(), "mv u v").good();
    resume("v").good();
    count(10_000);
    // The same name with other content is refused, with or without a message, and nothing changes.
    let before = folder.read("x");
    for (script, words) in [
        ("sort -r -o v v", "/v: --resume: no longer begins with what was processed; restore"),
        ("echo short >v", "/v: --resume: is 6 bytes long, but "),
        (
            "seq 0 4998 >v; echo else >>v",
            "/v: --resume: no longer begins with what was processed; restore",
        ),
    ] {
        shell(folder.path(), script).good();
        for quiet in [&[][..], &["--quiet"]] {
            let run = run_in(&folder, &[&["add", "x", "v", "--resume"], quiet].concat());
            refused(&run, words);
            let way = "or leave out --resume\n";
            assert!(run.stderr.ends_with(way), "{}", run.stderr);
        }
        assert!(folder.read("x") == before);
    }
    run_in(&folder, &["add", "x", "v"]).good();
    resume("v").good();
    count(15_000);
}

#[test]
fn an_output_that_was_changed_is_refused() {
    let folder = Folder::new();
    folder.file("u", numbers(0..1_000));
    let dedup = ["dedup", "--filter", "x", "-o", "out", "u", "--resume"];
    run_in(&folder, &dedup).good();
    let out = folder.read("out");
    for (script, words) in [
        ("echo short >out", "/out: --resume: is 6 bytes long, but "),
        ("sort -r -o out out", "/out: --resume: no longer begins with what was processed"),
        ("rm out", "/out: --resume: is 0 bytes long, but "),
    ] {
        shell(folder.path(), script).good();
        refused(&run_in(&folder, &dedup), words);
        folder.file("out", &out);
    }
    run_in(&folder, &dedup).good();
    let mut input = fs::File::options().append(true).open(folder.join("u")).unwrap();
    input.write_all(b"more\n").unwrap();
    run_in(&folder, &dedup).good();
    assert_eq!(folder.read("out"), [&out[..], b"more\n"].concat());
}

/// The message about the last 64.
#[test]
fn the_oldest_of_many_ended_runs_is_forgotten_and_told() {
    let folder = Folder::new();
    let add = |number: u32, more: &[&str]| {
        let name = format!("in{number}");
        folder.file(&name, format!("{number}\n"));
        run_in(&folder, &[&["add", "x", &name, "--resume"], more].concat())
    };
    for number in 0..64 {
        add(number, &[]).good();
    }
    // The resumed run becomes the newest, if it has something to do.
    folder.file("in0", "0\nmore\n");
    run_in(&folder, &["add", "x", "in0", "--resume"]).good();
    let told = add(64, &[]);
    let words = format!(
        "forgot the oldest; do not repeat it, because its records would count twice: `coua add` of {}\n",
        folder.join("in1")
    );
    assert!(told.code == Some(0) && told.stderr.ends_with(&words), "{}", told.stderr);
    assert_eq!(add(65, &["-q"]).good(), b"");
    assert_eq!(runs(&folder, "x").len(), 64);
    let text = run_in(&folder, &["info", "x"]).text();
    assert!(text.contains("64, remembered for --resume (--json lists them)"), "{text}");
    // Only runs with the option are remembered, so the others make none be forgotten.
    run_in(&folder, &["add", "x", "in1"]).good();
    run_in(&folder, &["add", "x", "in0", "--resume"]).good();
    assert_eq!((runs(&folder, "x").len(), items(&folder, "x")), (64, 68));
}

/// The names of the inputs need more than the log of a small filter may hold.
#[test]
fn a_checkpoint_of_many_inputs_costs_what_has_moved() {
    let folder = Folder::new();
    let deep = folder.deep(3_700);
    let names: Vec<String> = (0..300).map(|number| format!("in{number}")).collect();
    for name in &names {
        fs::write(deep.join(name), format!("{name}\n")).unwrap();
    }
    fs::write(deep.join("broken"), b"\x1f\x8b\x08\0broken").unwrap();
    let filter = folder.join("x");
    let mut add = coua(["add", &filter, "--checkpoint-every", "0"]);
    let run = run_as_is(add.args(&names).arg("broken").current_dir(&deep));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let info = run_in(&folder, &["info", "--json", "x"]).json();
    let number = |name: &str| info[name].as_u64().unwrap();
    assert!(number("transactions") > 250, "{info}");
    assert!(number("log_bytes") < 1_300_000 + number("transactions") * 1_100, "{info}");
}

/// A small change of a large filter is appended, whatever runs it remembers.
#[test]
fn an_interrupted_run_makes_others_no_slower() {
    let folder = Folder::new();
    folder.file("many", numbers(0..400_000));
    folder.file("broken", b"\x1f\x8b\x08\0broken");
    let add = ["add", "x", "many", "broken", "--checkpoint-every", "0"];
    assert_eq!(run_in(&folder, &add).code, Some(2));
    let before = folder.read("x");
    assert!(before.len() > 2 << 20);
    let (input, output) = (folder.file("few", "a\nb\n"), folder.join("out"));
    for args in [&["add", "x", &input][..], &["dedup", "--filter", "x", "-o", &output, &input]] {
        run_in(&folder, args).good();
        let after = folder.read("x");
        let info = run_in(&folder, &["info", "--json", "x"]).json();
        let snapshot = info["snapshot_bytes"].as_u64().unwrap() as usize;
        assert!(after[..snapshot] == before[..snapshot], "{args:?}");
    }
    assert_eq!(runs(&folder, "x").len(), 2);
}
