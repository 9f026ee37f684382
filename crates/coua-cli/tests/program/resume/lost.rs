//! Files that others change during a run, after its interruption, or after its end.

use super::refused::interrupted;
use super::rounds;
use crate::compressed::unpacked;
use crate::support::{
    Folder, Repeats, Run, coua, expected, lines, messages, powerless, run_in, shell, try_send,
    until, wait,
};
use rustix::process::Signal;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

const DEDUP: [&str; 6] = ["dedup", "--filter", "seen.coua", "-o", "out", "many"];
const RESUME: [&str; 7] = ["dedup", "--filter", "seen.coua", "-o", "out", "many", "--resume"];

/// A run that has written something, with frequent checkpoints.
fn at_work(folder: &Folder, command: &[&str], written: u64) -> Child {
    at_work_as(&mut coua(command), folder, written)
}

fn at_work_as(command: &mut Command, folder: &Folder, written: u64) -> Child {
    let command = command.args(["--checkpoint-every", "0"]).current_dir(folder.path());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let output = folder.join("out");
    until(|| {
        let has_written = fs::metadata(&output).is_ok_and(|output| output.len() > written);
        has_written || child.try_wait().unwrap().is_some()
    });
    child
}

/// Another file has the input's name: the run must not continue in it at the old position.
#[test]
fn a_run_whose_input_was_replaced_is_not_resumed() {
    let caught = rounds().any(|count| {
        let text = lines(count, Repeats::Few);
        let longer = [&b"another first line\n"[..], &text, b"its last line\n"].concat();
        let folder = Folder::new();
        folder.file("many", &text);
        folder.file("new", &longer);
        let mut child = at_work(&folder, &DEDUP, 100_000);
        fs::rename(folder.join("new"), folder.join("many")).unwrap();
        try_send(&child, Signal::TERM);
        if wait(&mut child).success() {
            return false;
        }
        assert_eq!(messages(&mut child), "");
        let refused = run_in(&folder, &RESUME);
        assert!(
            refused.stderr.contains("/many: --resume: no longer begins with what was processed"),
            "{}",
            refused.stderr
        );
        let refused = run_in(&folder, &DEDUP);
        assert!(refused.stderr.contains("/out: holds the output of"), "{}", refused.stderr);
        // A new run prints everything that is not in the first one's output.
        run_in(&folder, &["dedup", "--filter", "seen.coua", "-o", "rest", "many"]).good();
        let both = [folder.read("out"), folder.read("rest")].concat();
        assert_eq!(sorted(&both), sorted(&expected(&longer)), "nothing is lost");
        true
    });
    assert!(caught, "no run was caught at work");
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut all: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    all.sort_unstable();
    all
}

/// It is the same file: an input that cannot be checked now is checked the next time.
#[test]
fn a_run_whose_input_cannot_be_looked_at_for_a_while_is_resumed() {
    let caught = rounds().any(|count| {
        let text = lines(count, Repeats::Few);
        let folder = Folder::new();
        folder.file("many", &text);
        let mode = |name: &str, mode| {
            fs::set_permissions(folder.join(name), Permissions::from_mode(mode)).unwrap();
        };
        let mut command = powerless(&folder);
        mode("", 0o777);
        let mut child = at_work_as(command.args(RESUME), &folder, 100_000);
        mode("many", 0);
        let is_stopped = count % 200_000 == 0 && try_send(&child, Signal::TERM);
        let status = wait(&mut child);
        assert_eq!(messages(&mut child), "");
        assert!(status.success() || is_stopped);
        let is_whole = folder.read("out") == expected(&text);
        mode("many", 0o644);
        run_in(&folder, &RESUME).good();
        assert!(folder.read("out") == expected(&text));
        is_stopped && !is_whole
    });
    assert!(caught, "no run was caught at work");
}

/// Like a log that is rotated while it is read.
#[test]
fn an_input_without_a_name_is_read_to_its_end() {
    let text = lines(200_000, Repeats::Few);
    for command in [&DEDUP[..], &RESUME] {
        let folder = Folder::new();
        folder.file("many", &text);
        let mut child = at_work(&folder, command, 100_000);
        fs::remove_file(folder.join("many")).unwrap();
        let status = wait(&mut child);
        assert_eq!(status.code(), Some(0), "{}", messages(&mut child));
        assert_eq!(folder.read("out"), expected(&text));
        folder.file("many", &text);
        let again = run_in(&folder, &["dedup", "--filter", "seen.coua", "many"]);
        assert_eq!(again.good(), b"", "all is remembered");
    }
}

/// The run has ended: data after its output belongs to others.
#[test]
fn what_others_append_to_an_output_is_not_cut_off() {
    let folder = Folder::new();
    let text = lines(20_000, Repeats::Few);
    folder.file("many", &text);
    run_in(&folder, &RESUME).good();
    run_in(&folder, &RESUME).good();
    let append = |name: &str, text: &[u8]| {
        let mut file = fs::File::options().append(true).open(folder.join(name)).unwrap();
        file.write_all(text).unwrap();
    };
    append("out", b"mine\n");
    let before = folder.read("out");
    let refused = run_in(&folder, &RESUME);
    let reason = "/out: --resume: has 5 bytes more than the finished run wrote; restore it, or leave \
                  out --resume\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(reason), "{}", refused.stderr);
    assert_eq!(folder.read("out"), before);
    // Without that data the appended input is processed, even if that run is interrupted.
    let end = before.len() - 5;
    fs::write(folder.join("out"), &before[..end]).unwrap();
    let more: Vec<u8> = (0..200_000).flat_map(|n| format!("more {n}\n").into_bytes()).collect();
    append("many", &more);
    let mut child = at_work(&folder, &RESUME, end as u64);
    child.kill().ok();
    wait(&mut child);
    run_in(&folder, &RESUME).good();
    assert_eq!(folder.read("out"), [expected(&text), more].concat());
}

/// A merged or converted filter with the records of an interrupted run also remembers the run.
#[test]
fn an_interrupted_run_outlives_merging_and_converting() {
    let commands =
        ["merge -o seen.coua seen.coua other", "convert -o seen.coua --rate 1e-9 seen.coua"];
    for command in commands {
        let trial = interrupted();
        let folder = &trial.folder;
        folder.file("one", "a line of its own\n");
        run_in(folder, &["add", "other", "one"]).good();
        shell(folder.path(), &format!("$COUA {command}")).good();
        let again = run_in(folder, &DEDUP);
        let refused = "/out: holds the output of an interrupted `coua dedup` of ";
        assert!(again.stderr.contains(refused), "{command}: {}", again.stderr);
        run_in(folder, &RESUME).good();
        assert!(folder.read("out") == expected(&folder.read("many")), "{command}");
    }
}

/// What stands behind the last checkpoint is cut off only if the run wrote it.
#[test]
fn what_others_append_to_an_interrupted_output_is_kept() {
    let text = lines(100_000, Repeats::Few);
    for (name, pack) in [("out", "cat"), ("out.gz", "gzip"), ("out.zst", "zstd -q")] {
        let folder = Folder::new();
        folder.file("in", &text);
        folder.file("other", "x\ny\n");
        let dedup = format!("$COUA dedup -j1 --filter f -o {name} --checkpoint-every 0.02");
        let whole = shell(folder.path(), &format!("{dedup} in; wc -c < {name}; rm f {name}"));
        let blocks = whole.text().trim().parse::<u64>().unwrap() / 512 * 3 / 4;
        let killed = format!("ulimit -c 0; ulimit -f {blocks}; exec {dedup} in");
        assert_eq!(shell(folder.path(), &killed).code, None, "killed");
        let torn = folder.read(name);
        // Whole records that the filter knows, as of another run that appends.
        shell(folder.path(), &format!("$COUA dedup --filter f other | {pack} >> {name}")).good();
        let before = folder.read(name);
        let refused = shell(folder.path(), &format!("{dedup} in --resume"));
        let words = " at its end may not all be what an interrupted `coua dedup` of ";
        let is_told = refused.code == Some(2) && refused.stderr.contains(words);
        assert!(is_told, "{name}: {:?} {}", refused.code, refused.stderr);
        assert!(folder.read(name) == before);
        folder.file(name, &torn);
        shell(folder.path(), &format!("{dedup} in --resume")).good();
        assert!(unpacked(&folder.read(name)) == expected(&text), "{name}");
    }
}

/// Zeros would take the place of what was cut off.
#[test]
fn an_output_that_others_shorten_is_noticed() {
    let text = lines(200_000, Repeats::Few);
    for command in
        [&["dedup", "-o", "out", "-"][..], &["dedup", "--filter", "f", "-o", "out.zst", "-"]]
    {
        let folder = Folder::new();
        let mut child = coua(command)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let output = folder.join(command[command.len() - 2]);
        input.write_all(&text[..text.len() / 2]).unwrap();
        until(|| fs::metadata(&output).is_ok_and(|output| output.len() > 10_000));
        fs::File::options().write(true).open(&output).unwrap().set_len(10).unwrap();
        // It may have ended by then.
        input.write_all(&text[text.len() / 2..]).ok();
        drop(input);
        assert_eq!(wait(&mut child).code(), Some(2));
        let said = messages(&mut child);
        assert!(said.contains(" was shortened while it was written: "), "{said}");
        // The write that was going on meanwhile may follow, of one buffer at most.
        assert!(fs::metadata(&output).unwrap().len() <= 10 + (256 << 10));
    }
}

/// Not overwritten, as what stands at a place in the file would be.
#[test]
fn what_others_append_while_an_output_is_written_stays() {
    let folder = Folder::new();
    let script = "(seq 9; sleep 0.5; seq 10 19) | $COUA dedup --filter f -o out & sleep 0.2; echo other >> out; wait";
    shell(folder.path(), script).good();
    let mut lines: Vec<_> =
        folder.read("out").split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 19 + 1 + 1, "{lines:?}");
}

/// Like a log that is rotated: what is appended goes to the present end.
#[test]
fn an_output_that_is_appended_to_may_be_shortened() {
    let folder = Folder::new();
    let script = "(seq 9; sleep 0.5; seq 10 19) | $COUA dedup >> out & sleep 0.2; : > out; wait";
    shell(folder.path(), script).good();
    let out = folder.read("out");
    assert!(out.ends_with(b"\n18\n19\n") && !out.contains(&0), "{out:?}");
}

/// `--resume` cuts off no record that another run has printed, even if it is also one of its own inputs.
#[test]
fn what_other_runs_append_to_an_interrupted_output_is_kept() {
    let comments = "--comment '#'";
    let windowed = "--comment '#' --window 7d";
    // The last line is a comment, which no filter remembers.
    let others =
        |options| format!("printf '2\\n# z\\n' | $COUA dedup --filter f {options} | cat >> out");
    let shard = "$COUA dedup --filter g --shard 2/2 -o out --append in.gz".to_owned();
    for (options, appends) in
        [(comments, others(comments)), (windowed, others(windowed)), ("--shard 1/2", shard)]
    {
        let folder = Folder::new();
        let script = |text: &str| shell(folder.path(), text);
        let dedup = format!("$COUA dedup --filter f -o out --append --resume {options} in.gz");
        script(CUT_OFF).good();
        assert_eq!(script(&dedup).code, Some(2), "the input is cut off");
        script(&format!("cp whole in.gz; {appends}")).good();
        let before = folder.read("out");
        assert!(!before.is_empty());
        assert_kept(&script(&dedup));
        assert_eq!(folder.read("out"), before, "{options}");
    }
}

/// Prepares a compressed input that is cut off.
const CUT_OFF: &str =
    "seq 1 20 | sed '1s/^/# a\\n/;$s/$/\\n# z/' | gzip > whole; head -c 11 whole > in.gz";

fn assert_kept(run: &Run) {
    let words = " at its end may not all be what an interrupted `coua dedup` of ";
    assert!(run.code == Some(2) && run.stderr.contains(words), "{}", run.stderr);
}

/// Jobs with other options that write to the same output go on one after the other: each behind what the others have
/// committed.
#[test]
fn jobs_with_other_options_go_on_with_a_shared_output() {
    let folder = Folder::new();
    let script = |text: &str| shell(folder.path(), text);
    let dedup = |rest| format!("$COUA dedup --filter f -o out -d --append --resume {rest}");
    let (first, other) = (dedup("in.gz"), dedup("--comment '#' more"));
    script(CUT_OFF).good();
    script(&format!("echo 2 > more; {other}")).good();
    assert_eq!(script(&first).code, Some(2), "the input is cut off");
    script(&format!("echo 2 >> more; cp whole in.gz; {other}")).good();
    assert_eq!(folder.read("out"), b"2\n");
    script(&format!("{first}; {other}; echo 3 >> more; {other}; {first}; {other}")).good();
    assert_eq!(folder.read("out"), b"2\n2\n3\n");
}

/// What other jobs have printed to outputs of their own, or added without printing it, is not in this one's.
#[test]
fn records_of_other_jobs_do_not_keep_a_run_from_going_on() {
    let folder = Folder::new();
    let script = |text: &str| shell(folder.path(), text);
    let dedup = "$COUA dedup --filter f -o out --resume in.gz";
    script(CUT_OFF).good();
    assert_eq!(script(dedup).code, Some(2), "the input is cut off");
    // As if the run had been killed after that.
    script("cp whole in.gz; printf '# a\\n1\\n2\\n3\\n' > out").good();
    script("echo 3 | $COUA dedup --filter f -o other; echo 5 | $COUA add f").good();
    script(dedup).good();
    let expected = (1..=20).filter(|number| ![3, 5].contains(number));
    let expected: Vec<_> = expected.map(|number| number.to_string()).collect();
    let printed = String::from_utf8(folder.read("out")).unwrap();
    assert_eq!(printed, format!("# a\n{}\n# z\n", expected.join("\n")));
}

/// What is behind the last checkpoint would be cut off.
#[test]
fn the_shell_cannot_append_to_an_interrupted_output() {
    for (options, appends) in [("", ">> out"), ("", "-o /dev/stdout >> out"), ("-d", ">> out")] {
        let folder = Folder::new();
        let script = |text: &str| shell(folder.path(), text);
        let dedup = format!("$COUA dedup --filter f {options}");
        let resume = format!("{dedup} -o out --append --resume in.gz");
        script(&format!("echo other > out; {CUT_OFF}")).good();
        assert_eq!(script(&resume).code, Some(2), "the input is cut off");
        let append = format!("printf '2\\n2\\n' | {dedup} {appends}");
        let refused = script(&append);
        let words = "coua: /dev/stdout: holds the output of an interrupted `coua dedup` of ";
        assert!(refused.code == Some(2) && refused.stderr.starts_with(words), "{}", refused.stderr);
        assert_eq!(folder.read("out"), b"other\n");
        script(&format!("cp whole in.gz; {resume}; {append}")).good();
    }
}
