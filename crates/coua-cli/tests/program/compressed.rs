//! Compressed outputs: any decompressor reads the same text as without compression.

use crate::packed::{gzip, zstd};
use crate::support::{Folder, Repeats, coua, lines, run, run_in, until};
use std::io::{Read, Write};
use std::process::Stdio;

/// The text of a file, whether it is compressed or not.
pub(crate) fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let read = match bytes.first() {
        Some(0x1f) => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text),
        Some(0x28) => zstd::Decoder::new(bytes).unwrap().read_to_end(&mut text),
        _ => return bytes.to_vec(),
    };
    read.unwrap();
    text
}

#[test]
fn decompressed_outputs_are_the_plain_ones() {
    let folder = Folder::new();
    folder.file("in", lines(300_000, Repeats::Many));
    run_in(&folder, &["dedup", "in", "-o", "plain"]).good();
    for (out, options) in [
        ("a.zst", &[][..]),
        ("a.gz", &["-j1"]),
        ("a.zst", &["-j", "5"]),
        ("b.gz", &["-j", "5"]),
        ("a", &["--compress", "zst:1", "-j2"]),
    ] {
        run_in(&folder, &[&["dedup", "in", "-o", out], options].concat()).good();
        assert!(folder.read(out).len() < folder.read("plain").len());
        assert!(unpacked(&folder.read(out)) == folder.read("plain"), "{out} {options:?}");
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
        "coua: text.gz: is not compressed, so other data cannot be appended; choose another output, \
         or use another --compress\n",
    );
    assert_eq!(folder.read("text.gz"), b"plain\n");
    for (name, options, message) in [
        ("out.gz", &["--compress", "none"][..], "is compressed with gzip, so other data"),
        ("out.gz", &["--compress", "zst"], "is compressed with gzip, so other data"),
        ("out.zst", &["--compress", "gz"], "is compressed with zstd, so other data"),
    ] {
        let before = folder.read(name);
        let run = run_in(&folder, &[&["dedup", "a", "--append", "-o", name], options].concat());
        let remedy = "choose another output, or use another --compress";
        let expected = format!("coua: {name}: {message} cannot be appended; {remedy}\n");
        run.failed(2, &expected);
        assert!(folder.read(name) == before);
    }
}

/// What is appended behind other bytes could not be read, not even behind zeros, which pad tapes and blocks.
#[test]
fn nothing_is_appended_behind_other_bytes() {
    let text = lines(5_000, Repeats::Few);
    let (gzip, zstd) = (gzip(&text), zstd(&text));
    for (name, whole) in [("all.gz", &gzip), ("all.zst", &zstd)] {
        let torn = whole[..whole.len() - 5].to_vec();
        let padded = |rest: &[u8]| [whole, rest].concat();
        for before in [torn, padded(&[0; 512]), padded(b"\0"), padded(b"other"), padded(b"\n")] {
            let folder = Folder::new();
            folder.file("in", "a\na\n");
            folder.file(name, &before);
            for filter in [&[][..], &["--filter", "f"]] {
                let dedup = [&["dedup", "--append", "in", "-o", name], filter].concat();
                let refused = run_in(&folder, &dedup);
                let words = format!("coua: {name}: cannot be appended to: ");
                assert_eq!(refused.code, Some(2), "{name} {}", before.len());
                assert!(refused.stderr.starts_with(&words), "{}", refused.stderr);
                assert!(folder.read(name) == before);
                assert!(!folder.has("f"), "{}", refused.stderr);
            }
        }
    }
}

/// A name never promises what is not in the file.
#[test]
fn names_of_other_compressions_are_refused() {
    let folder = Folder::new();
    folder.file("in", "a\nb\na\n");
    run_in(&folder, &["add", "f", "in", "in"]).good();
    let endings = ["bz2", "xz", "lz4", "tgz", "BZ2", "txt.Xz", "7z", "txz", "tzst", "tbz2", "gzip"];
    let rare = ["bz", "lz", "sz", "snappy", "zz", "rar"];
    for name in endings.iter().chain(&rare).map(|ending| format!("out.{ending}")) {
        let name = name.as_str();
        let ending = name.rsplit('.').next().unwrap().to_lowercase();
        for command in [
            &["dedup", "-o", name][..],
            &["dedup", "--append", "-o", name],
            &["dedup", "--keep", "last", "-o", name],
            &["dedup", "--filter", "new", "-o", name],
        ] {
            let refused = run_in(&folder, &[command, &["in"]].concat());
            let words = format!("coua: {name}: ends in .{ending}, but coua does not write ");
            assert!(refused.code == Some(2) && refused.stderr.starts_with(&words), "{command:?}");
            assert!(!folder.has(name) && !folder.has("new"));
        }
        run_in(&folder, &["dedup", "-o", name, "--compress", "zst", "in"]).good();
        assert_eq!(unpacked(&folder.read(name)), b"a\nb\n");
    }
    for name in ["out.GZ", "out.gz", "out.Zst", "out.zstd", "out.ZSTD"] {
        run_in(&folder, &["dedup", "-o", name, "in"]).good();
        let text = b"a\nb\n";
        assert_eq!((&*unpacked(&folder.read(name)), folder.read(name) == text), (&text[..], false));
    }
}

/// A long output is read once before it is appended to.
#[cfg(target_os = "linux")]
#[test]
fn an_output_is_read_once_before_it_is_appended_to() {
    let folder = Folder::new();
    for (name, packed) in [
        ("all.gz", gzip(&lines(300_000, Repeats::Few))),
        ("all.zst", zstd(&lines(300_000, Repeats::Few))),
    ] {
        folder.file(name, &packed);
        let mut command = coua(["dedup", "--append", "-o", name]);
        let mut child = command.current_dir(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"a\na\n").unwrap();
        // The records come behind the output, as one more frame.
        until(|| folder.read(name).len() > packed.len());
        let figures = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
        let read = figures.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        let (read, once) = (read.parse::<usize>().unwrap(), packed.len());
        assert!(once > 1_000_000 && (once..once + 900_000).contains(&read), "{read} of {once}");
        drop(input);
        assert!(child.wait().unwrap().success());
    }
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
