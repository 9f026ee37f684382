//! Outputs: files, pipes that close, full devices.

use crate::support::{
    Folder, Repeats, coua, expected, json, lines, messages, other, run, run_with, shell, until,
    wait,
};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;

#[test]
fn a_full_device_is_told() {
    let folder = Folder::new();
    let file = folder.file("lines", lines(100_000, Repeats::Few));
    let small = folder.file("small", "a\n");
    let message = "coua: /dev/full: No space left on device\n";
    for threads in ["1", "2", "3"] {
        for file in [&file, &small] {
            let full = run(["dedup", "-j", threads, "-o", "/dev/full", file]);
            full.failed(2, message);
        }
    }
    let message = "coua: standard output: No space left on device\n";
    for command in ["dedup", "plan --items 5", "generate completions bash", "count f", "check -v f"]
    {
        folder.file("f", "");
        std::fs::remove_file(folder.join("f")).unwrap();
        run(["add", &folder.join("f"), &small]).good();
        let script = format!("$COUA {command} < lines > /dev/full");
        shell(folder.path(), &script).failed(2, message);
    }
}

#[test]
fn nothing_is_recorded_when_the_output_fails() {
    let folder = Folder::new();
    let file = folder.file("lines", lines(100_000, Repeats::Few));
    let filter = folder.join("seen.coua");
    let full = run(["dedup", "--filter", &filter, "-o", "/dev/full", &file]);
    full.failed(2, "coua: /dev/full: No space left on device\n");
    assert!(!folder.has("seen.coua"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new();
    let text = lines(200_000, Repeats::Few);
    let file = folder.file("lines", &text);
    let filter = folder.join("seen.coua");
    for threads in ["1", "2", "3", "5"] {
        let mut child = coua(["dedup", "-j", threads, "--filter", &filter, &file]).spawn().unwrap();
        let mut first = Vec::new();
        let mut output = BufReader::with_capacity(10, child.stdout.take().unwrap());
        output.read_until(b'\n', &mut first).unwrap();
        drop(output);
        assert_eq!(wait(&mut child).code(), Some(0));
        assert_eq!(messages(&mut child), "");
        assert!(text.starts_with(&first));
        assert!(!folder.has("seen.coua"), "what was not delivered is not recorded");
    }
    let head = shell(folder.path(), "$COUA dedup lines | head -1").good();
    assert!(text.starts_with(&head));
    let head = shell(folder.path(), "$COUA plan --items 1e6 | true").good();
    assert_eq!(head, b"");
}

#[test]
fn a_reader_that_goes_away_while_input_is_awaited() {
    let (reader, writer) = io::pipe().unwrap();
    let output = writer.try_clone().unwrap();
    let mut child = coua(["dedup"]).stdin(Stdio::piped()).stdout(output).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(reader);
    // Until they execute their programs, child processes of other tests hold all files that this process had open.
    until(|| {
        let mut pipe = [PollFd::new(&writer, PollFlags::OUT)];
        poll(&mut pipe, None).is_ok() && pipe[0].revents().contains(PollFlags::ERR)
    });
    stdin.write_all(b"a\n").unwrap();
    // The writing thread wakes the waiting one: the input need not continue or end.
    assert_eq!(wait(&mut child).code(), Some(0));
    drop(stdin);
}

#[test]
fn lines_are_shown_at_once() {
    for threads in ["1", "2", "3", "4", "6"] {
        let mut child = coua(["dedup", "-j", threads]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        for round in 0..20 {
            // A repeat, a new line, and the beginning of another line.
            let text =
                format!("{}a{round}\nsame\na{round}\nbegun", if round > 0 { "\n" } else { "" });
            stdin.write_all(text.as_bytes()).unwrap();
            let mut line = String::new();
            let wanted: &[String] = match round {
                0 => &["a0\n".to_owned(), "same\n".to_owned()],
                1 => &["begun\n".to_owned(), "a1\n".to_owned()],
                _ => &[format!("a{round}\n")],
            };
            for wanted in wanted {
                line.clear();
                stdout.read_line(&mut line).unwrap();
                assert_eq!(&line, wanted, "-j {threads}");
            }
        }
        drop(stdin);
        assert!(wait(&mut child).success());
    }
}

#[test]
fn lines_of_a_compressed_pipe_are_shown_when_they_are_there_needs_gzip() {
    let mut child = coua(["dedup"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for round in 0..5 {
        let line = format!("line {round}\n");
        stdin.write_all(&other("gzip", &["-c"], line.as_bytes())).unwrap();
        let mut shown = String::new();
        stdout.read_line(&mut shown).unwrap();
        assert_eq!(shown, line);
    }
    drop(stdin);
    assert!(wait(&mut child).success());
}

#[test]
fn earlier_files_are_shown_before_a_pipe_is_awaited() {
    let folder = Folder::new();
    let file = folder.file("file", "a\nb\n");
    for threads in ["1", "3", "4"] {
        let mut child =
            coua(["dedup", "-j", threads, &file, "-"]).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "a\n");
        drop(stdin);
        assert!(wait(&mut child).success());
    }
}

#[test]
fn repeats_instead_of_first_occurrences() {
    let text = b"a\nb\na\nc\na\nb";
    assert_eq!(run_with(text, ["dedup", "-d"]).good(), b"a\na\nb\n");
    assert_eq!(run_with(b"a\n", ["dedup", "--repeats"]).good(), b"");
}

#[test]
fn an_output_is_no_input() {
    let folder = Folder::new();
    let file = folder.file("lines", "a\na\n");
    let message = format!("coua: {file}: is also an input; choose another output\n");
    run(["dedup", &file, "-o", &file]).failed(2, &message);
    let message = "coua: standard output: is also an input; choose another output\n";
    shell(folder.path(), "$COUA dedup lines >> lines").failed(2, message);
    shell(folder.path(), "ln lines link; $COUA dedup < link >> lines").failed(2, message);
    assert_eq!(folder.read("lines"), b"a\na\n");
}

#[test]
fn an_output_is_no_filter() {
    let folder = Folder::new();
    folder.file("lines", "a\nb\na\n");
    let script = |script: &str| shell(folder.path(), script);
    script("$COUA dedup --filter f lines > /dev/null; ln -s f link; mkdir sub").good();
    let before = folder.read("f");
    let message = |name| format!("coua: {name}: is also the filter file; choose another output\n");
    for (output, name) in [
        ("-o f", "f"),
        ("-o ./f", "./f"),
        ("-o sub/../link", "sub/../link"),
        (">> f", "standard output"),
    ] {
        script(&format!("$COUA dedup --filter f lines {output}")).failed(2, &message(name));
        script(&format!("$COUA dedup --filter link lines {output}")).failed(2, &message(name));
    }
    for command in ["check f", "count f"] {
        let run = script(&format!("$COUA {command} lines >> f"));
        run.failed(2, &message("standard output"));
    }
    assert!(folder.read("f") == before);
    // A filter that would be new, too.
    script("$COUA dedup --filter new -o sub/../new lines").failed(2, &message("sub/../new"));
    assert!(!folder.has("new"));
}

/// The filter is not changed, under any of its names.
#[test]
fn the_filter_is_neither_input_nor_output() {
    let folder = Folder::new();
    folder.file("lines", "a\nb\na\n");
    let script = |script: &str| shell(folder.path(), script);
    script("$COUA add f lines && ln f hard && ln -s f soft && ln -s new dangling").good();
    let filter = folder.read("f");
    for name in ["f", "./f", "hard", "soft"] {
        for command in
            ["add f NAME", "add f < NAME", "remove f NAME", "dedup --filter f NAME -o out"]
        {
            let run = script(&format!("$COUA {}", command.replace("NAME", name)));
            let words = "is the filter file, which this run changes; choose another input\n";
            assert!(
                run.code == Some(2) && run.stderr.ends_with(words),
                "{command}: {}",
                run.stderr
            );
        }
        let run = script(&format!("$COUA dedup --filter f -o {name} lines"));
        run.failed(2, &format!("coua: {name}: is also the filter file; choose another output\n"));
        let message = "coua: standard output: is also the filter file; choose another output\n";
        for command in ["check f", "count f", "dedup --filter f"] {
            script(&format!("$COUA {command} lines >> {name}")).failed(2, message);
        }
        assert!(folder.read("f") == filter);
    }
    // A filter that would be new, too.
    script("$COUA dedup --filter dangling -o new lines")
        .failed(2, "coua: new: is also the filter file; choose another output\n");
    assert!(!folder.has("out") && !folder.has("new"));
}

#[test]
fn the_key_is_not_written_over() {
    let folder = Folder::new();
    folder.file("lines", "a\n");
    folder.file("k", "0123456789abcdef");
    let script = |script: &str| shell(folder.path(), script);
    script("$COUA add f --secret k lines; ln k link").good();
    for (command, name) in [
        ("dedup --filter f --secret k -o k lines", "k"),
        ("dedup --filter f --secret k -o ./link lines", "./link"),
        ("dedup --secret k -o k lines", "k"),
        ("check f --secret k lines >> k", "standard output"),
        ("merge -o k --secret k f", "k"),
        ("convert f -o k --secret k --rate 0.5", "k"),
    ] {
        let message = format!("coua: {name}: is also the secret key file; choose another output\n");
        script(&format!("$COUA {command}")).failed(2, &message);
    }
    assert_eq!(folder.read("k"), b"0123456789abcdef");
}

#[test]
fn an_output_that_cannot_be_made() {
    let folder = Folder::new();
    let file = folder.file("lines", "a\n");
    let output = folder.join("no/such/output");
    let message = format!("coua: {output}: No such file or directory\n");
    run(["dedup", &file, "-o", &output]).failed(2, &message);
    let folder_name = folder.path().to_str().unwrap();
    let message = format!("coua: {folder_name}: Is a directory\n");
    run(["dedup", &file, "-o", folder_name]).failed(2, &message);
}

#[test]
fn figures() {
    let run = run_with(b"a\nb\na\n", ["dedup", "--stats=json"]);
    assert_eq!((run.code, run.stdout.as_slice()), (Some(0), b"a\nb\n".as_slice()));
    let json = json(&run.stderr);
    for (name, value) in [
        ("records", 3.0),
        ("bytes", 6.0),
        ("unique", 2.0),
        ("repeats", 1.0),
        ("without_key", 0.0),
        ("items", 2.0),
        ("hash_bits", 64.0),
        ("expected_wrongly_dropped", 2.0 / 64_f64.exp2()),
    ] {
        assert_eq!(json[name].as_f64(), Some(value), "{name}");
    }
    for name in ["load", "bits_per_item", "memory_bytes", "false_positive_rate", "seconds"] {
        assert!(json[name].as_f64().unwrap() > 0.0, "{name}");
    }
    for option in ["--stats", "--stats=text"] {
        let run = run_with(b"a\nb\na\n", ["dedup", option]);
        assert!(run.stderr.starts_with("records "), "{}", run.stderr);
        assert_eq!(run.stdout, b"a\nb\n");
    }
    assert_eq!(run_with(b"", ["dedup", "--stats=xml"]).code, Some(2));
}

/// Pipes and devices have names too.
#[test]
fn named_outputs_that_are_no_files_are_recorded() {
    let folder = Folder::new();
    let text = lines(20_000, Repeats::Many);
    folder.file("lines", &text);
    let script = "mkfifo pipe && { cat pipe > got & } && $COUA dedup --filter seen -o pipe lines && wait \
                  && $COUA dedup --filter seen -o /dev/stdout lines | cat && $COUA count seen < lines > counts";
    assert_eq!(shell(folder.path(), script).good(), b"");
    assert_eq!(folder.read("got"), expected(&text));
    assert!(folder.read("counts").starts_with(b"1\t"), "it is remembered");
}

#[test]
fn outputs_of_refused_runs_keep_what_they_hold() {
    let folder = Folder::new();
    folder.file("lines", "a\na\n");
    folder.file("out", "precious\n");
    for rest in [
        "nowhere",
        "--known nowhere",
        "--filter no/such/folder/seen",
        "--stats 2>&-",
        "--stats --filter seen 2>&-",
    ] {
        let run = shell(folder.path(), &format!("$COUA dedup lines -o out {rest}"));
        assert_eq!(run.code, Some(2), "{rest}");
        assert_eq!(folder.read("out"), b"precious\n", "{rest}");
    }
    std::os::unix::fs::symlink("new", folder.join("link")).unwrap();
    for output in ["new", "link"] {
        let args = format!("$COUA dedup lines -o {output} --known nowhere");
        assert_eq!(shell(folder.path(), &args).code, Some(2), "{args}");
        assert!(!folder.has("new"), "{args}: an output is left behind");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new();
    folder.file("in", "a\nb\na\n");
    assert_eq!(shell(folder.path(), "$COUA dedup -o - in").good(), b"a\nb\n");
    shell(folder.path(), "$COUA dedup --filter f -o - --resume in").failed(
        2,
        "coua: --resume: every output must be a named file (-o), because it is truncated\n",
    );
    assert!(!folder.has("-"));
    // A file of this name has another name too.
    shell(folder.path(), "$COUA dedup -o ./- in").good();
    assert_eq!(folder.read("-"), b"a\nb\n");
}

/// A file opened by the shell keeps its content: it is neither truncated nor written from its start.
#[test]
fn open_files_are_appended_to() {
    let folder = Folder::new();
    for (name, redirection) in [
        ("/dev/stdout", ">> all"),
        ("/dev/fd/1", ">> all"),
        ("/dev/fd/3", "3>> all"),
        ("/dev/stderr", "2>> all"),
        ("link", ">> all"),
    ] {
        folder.file("all", "old\n");
        let script = format!(
            "ln -sf /dev/stdout link; printf 'a\\na\\n' | $COUA dedup -o {name} {redirection}; echo new >> all"
        );
        shell(folder.path(), &script).good();
        assert_eq!(folder.read("all"), b"old\na\nnew\n", "{name}");
    }
    let script = "(echo first; printf 'a\\na\\n' | $COUA dedup -o /dev/stdout; echo last) > all";
    shell(folder.path(), script).good();
    assert_eq!(folder.read("all"), b"first\na\nlast\n");
    let resumed =
        shell(folder.path(), "seq 3 > in; $COUA dedup --resume --filter f -o /dev/fd/3 in 3> all");
    resumed.failed(
        2,
        "coua: --resume: every output must be a named file (-o), because it is truncated\n",
    );
}

/// Blank lines and comments are no header.
#[test]
fn an_output_of_comments_only_gets_a_header() {
    let folder = Folder::new();
    folder.file("in", "id,n\n1,x\n");
    let comments = "# a comment\n".repeat(30_000);
    for (begin, is_begun) in
        [("# c\n\n", false), (&comments, false), ("# c\nid,n\n", true), ("id,n\n0,y\n", true)]
    {
        for to in ["out", "out.gz"] {
            let pack = if to == "out" { "cat" } else { "gzip" };
            folder.file("begin", begin);
            let script = format!(
                "{pack} < begin > {to}; $COUA dedup --csv id --comment '#' --append -o {to} in; zcat -f {to}"
            );
            let records = if is_begun { "1,x\n" } else { "id,n\n1,x\n" };
            assert_eq!(shell(folder.path(), &script).text(), format!("{begin}{records}"), "{to}");
        }
    }
}

/// A record would be glued to the torn one of a killed run, and is remembered.
#[test]
fn a_record_behind_a_torn_one_begins_a_line() {
    let folder = Folder::new();
    for (before, after) in [("torn", "torn\na\n"), ("whole\n", "whole\na\n"), ("", "a\n")] {
        for redirection in [">> all", "-o /dev/fd/3 3>> all"] {
            folder.file("all", before);
            shell(folder.path(), &format!("echo a | $COUA dedup {redirection}")).good();
            assert_eq!(folder.read("all"), after.as_bytes(), "{redirection}");
        }
    }
    let script = "seq 1000 | gzip | head -c 1000 > torn; echo a | $COUA dedup --filter f --compress gz >> torn";
    let refused = shell(folder.path(), script);
    assert!(refused.code == Some(2) && refused.stderr.contains("cannot be appended to: "));
}
