//! Compressed outputs: any decompressor reads the same text as without compression.

use crate::support::{Folder, Repeats, coua, lines, run, run_in};
use std::io::{Read, Write};
use std::process::Stdio;

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let read = match packed.first() {
        Some(0x1f) => flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut text),
        _ => zstd::Decoder::new(packed).unwrap().read_to_end(&mut text),
    };
    read.unwrap();
    text
}

#[test]
fn decompressed_outputs_are_the_plain_ones() {
    let folder = Folder::new();
    folder.file("in", lines(300_000, Repeats::Many));
    let plain = ["dedup", "in", "-o", "plain", "--tee-dups", "repeats"];
    run_in(&folder, &plain).good();
    for (out, tee, options) in [
        ("a.zst", "b.zst", &[][..]),
        ("a.gz", "b.zst", &["-j1"]),
        ("a.zst", "b.gz", &["-j", "5"]),
        ("a", "b.gz", &["--compress", "zst:1", "-j2"]),
    ] {
        run_in(&folder, &[&["dedup", "in", "-o", out, "--tee-dups", tee], options].concat()).good();
        assert!(folder.read(out).len() < folder.read("plain").len());
        assert!(unpacked(&folder.read(out)) == folder.read("plain"), "{out} {options:?}");
        assert!(unpacked(&folder.read(tee)) == folder.read("repeats"), "{tee} {options:?}");
    }
    let piped = run_in(&folder, &["dedup", "in", "--compress", "gz:1"]);
    assert!(unpacked(&piped.stdout) == folder.read("plain"));
    run_in(&folder, &["dedup", "in", "-o", "plain.gz", "--compress", "none"]).good();
    assert!(folder.read("plain.gz") == folder.read("plain"));
    // The bytes do not depend on the number of threads.
    let packed =
        |threads| run_in(&folder, &["dedup", "in", "--compress", "zst", "-j", threads]).stdout;
    assert!(packed("1") == packed("4"));
}

#[test]
fn an_empty_output_is_a_frame_still() {
    let folder = Folder::new();
    folder.file("in", "");
    for name in ["out.zst", "out.gz"] {
        run_in(&folder, &["dedup", "in", "-o", name]).good();
        assert!(!folder.read(name).is_empty());
        assert_eq!(unpacked(&folder.read(name)), b"");
    }
}

#[test]
fn frames_are_appended() {
    let folder = Folder::new();
    folder.file("a", "id,n\n1,x");
    folder.file("b", "id,n\n1,y\n2,z\n");
    folder.file("empty", "");
    for name in ["out.zst", "out.gz"] {
        let append = |input| ["dedup", "--csv", "id", "--append", "-o", name, input];
        // The header is appended after an empty frame.
        run_in(&folder, &["dedup", "empty", "-o", name]).good();
        run_in(&folder, &append("a")).good();
        run_in(&folder, &append("b")).good();
        assert_eq!(unpacked(&folder.read(name)), b"id,n\n1,x\n1,y\n2,z\n", "{name}");
        let other = folder.file("other", "id,m\n1,y\n");
        let run = run_in(&folder, &append(&other));
        assert!(run.code == Some(2) && run.stderr.contains("its header differs"), "{}", run.stderr);
    }
    folder.file("text.gz", "plain\n");
    run_in(&folder, &["dedup", "a", "--append", "-o", "text.gz"]).failed(
        2,
        "coua: text.gz: is not compressed, so gz:6 data cannot be appended; choose another output, \
         or use --compress none\n",
    );
    assert_eq!(folder.read("text.gz"), b"plain\n");
    for (name, options, message) in [
        ("out.gz", &["--compress", "none"][..], "is compressed with gzip, so uncompressed data"),
        ("out.gz", &["--compress", "zst"], "is compressed with gzip, so zst:3 data"),
        ("out.zst", &["--compress", "gz"], "is compressed with zstd, so gz:6 data"),
    ] {
        let before = folder.read(name);
        let run = run_in(&folder, &[&["dedup", "a", "--append", "-o", name], options].concat());
        let format = &name["out.".len()..];
        let remedy = format!("choose another output, or use --compress {format}");
        let expected = format!("coua: {name}: {message} cannot be appended; {remedy}\n");
        run.failed(2, &expected);
        assert!(folder.read(name) == before);
    }
}

/// Printed records are removed from the filter again.
#[test]
fn a_run_with_a_compressed_output_starts_over() {
    let folder = Folder::new();
    folder.file("in", "a\nb\na\n");
    let command = ["dedup", "--filter", "f", "-o", "out.gz", "in"];
    run_in(&folder, &command).good();
    run_in(&folder, &[&command[..], &["--restart"]].concat()).good();
    assert_eq!(unpacked(&folder.read("out.gz")), b"a\nb\n");
}

#[test]
fn a_full_disk_and_a_closed_pipe_end_it() {
    let folder = Folder::new();
    let file = folder.file("in", lines(300_000, Repeats::Few));
    for threads in ["1", "3"] {
        let args = ["dedup", "-j", threads, "--compress", "zst", "-o", "/dev/full", &file];
        run(args).failed(2, "coua: /dev/full: No space left on device\n");
        let mut child = coua(["dedup", "-j", threads, "--compress", "gz:1", &file])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// Lines are available as soon as they are printed.
#[test]
fn a_stream_is_flushed_in_frames() {
    let mut child = coua(["dedup", "--compress", "zst"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for line in [b"a\n", b"b\n"] {
        input.write_all(line).unwrap();
        let mut bytes = [0; 100];
        let read = output.read(&mut bytes).unwrap();
        assert_eq!(unpacked(&bytes[..read]), line);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
