//! Inputs in formats other than lines of UTF-8: read, or refused with a remedy.

use crate::packed::lz4;
use crate::support::{Folder, run, run_in, shell};
use std::io::Write;

#[test]
fn lz4_frames_are_read_one_after_the_other() {
    let folder = Folder::new();
    let long: Vec<u8> = (0..300_000).flat_map(|n| format!("{}\n", n % 7).into_bytes()).collect();
    let file = folder.file("in.lz4", [lz4(b"a\nb\na\n"), lz4(&long), lz4(b"b\nc")].concat());
    assert_eq!(run(["dedup", &file]).good(), b"a\nb\n0\n1\n2\n3\n4\n5\n6\nc\n");
    let broken = folder.file("broken.lz4", &lz4(&long)[..200]);
    let run = run(["dedup", &broken]);
    let message = format!("coua: {broken}: broken lz4 data: ");
    assert!(run.code == Some(2) && run.stderr.starts_with(&message), "{}", run.stderr);
}

/// `zstd --long=31` makes such files.
#[test]
fn zstd_files_may_have_a_window_of_2_gib() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(if usize::BITS < 64 { 30 } else { 31 }).unwrap();
    encoder.write_all(b"a\nb\na\n").unwrap();
    let folder = Folder::new();
    let file = folder.file("in.zst", encoder.finish().unwrap());
    assert_eq!(run(["dedup", &file]).good(), b"a\nb\n");
}

#[test]
fn formats_that_are_not_read_are_named() {
    let folder = Folder::new();
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (bytes, what) in [
        (
            utf_16("\u{feff}id,x\n1,2\n"),
            "is UTF-16 text; pipe in the output of `iconv -f UTF-16 -t UTF-8`",
        ),
        (
            b"\xfe\xff\0a\0\n".to_vec(),
            "is UTF-16 text; pipe in the output of `iconv -f UTF-16 -t UTF-8`",
        ),
        (b"PK\x03\x04\x14\0".to_vec(), "is a zip archive; pipe in the output of `unzip -p`"),
        (b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "is a 7z archive; pipe in the output of `7z e -so`"),
        (
            b"\x5d\0\0\x80\0".to_vec(),
            "is an lzma file; pipe in the output of `xz -dc --format=lzma`",
        ),
        (b"\x1f\x9d\x90a".to_vec(), "is a `compress` file; pipe in the output of `gzip -dc`"),
    ] {
        let file = folder.file("in", &bytes);
        for options in [&["dedup"][..], &["dedup", "--csv", "id"]] {
            let run = run([options, &[&file]].concat());
            let message = format!("coua: {file}: {what}");
            assert!(run.code == Some(2) && run.stderr.starts_with(&message), "{}", run.stderr);
            assert_eq!(run.stdout, b"");
        }
    }
}

#[test]
fn what_follows_gzip_data() {
    let folder = Folder::new();
    let member = shell(folder.path(), "printf 'a\\nb\\n' | gzip").good();
    let other = folder.file("other.gz", [&member[..], b"garbage"].concat());
    let warning =
        format!("coua: {other}: other bytes follow the end of the gzip data, and are ignored\n");
    for options in [&["-j1"][..], &["-j3"], &["--keep", "last"], &["-c"]] {
        let with = |more: &[&str]| run([&["dedup", &other], options, more].concat());
        let told = with(&[]);
        assert_eq!((told.code, told.stderr), (Some(0), warning.clone()), "{options:?}");
        assert!(told.stdout.ends_with(b"b\n"));
        assert_eq!(with(&["-q"]).good(), told.stdout);
    }
    // What is appended would not be read.
    let append = shell(folder.path(), "echo c | $COUA dedup --append -o other.gz");
    assert_eq!(append.code, Some(2), "{}", append.stderr);
    assert!(folder.read("other.gz").ends_with(b"garbage"));
    for good in [[&member[..], &member].concat(), [&member[..], &[0; 512]].concat()] {
        let good = folder.file("good.gz", good);
        assert_eq!(run(["dedup", &good]).text(), "a\nb\n");
    }
    let cut = folder.file("cut.gz", [&member[..], &member[..20]].concat());
    assert!(run(["dedup", &cut]).stderr.contains("broken gzip data"));
}

/// The first byte of a file that is still being copied looks like text; the rest shows that it is compressed.
#[test]
fn a_text_that_was_the_beginning_of_compressed_data() {
    let folder = Folder::new();
    let dedup = ["dedup", "--filter", "f", "-o", "out", "--resume", "in"];
    folder.file("in", b"\x1f");
    run_in(&folder, &dedup).good();
    folder.file("in", shell(folder.path(), "seq 5 | gzip").good());
    let refused = run_in(&folder, &dedup);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("/in: --resume: no longer begins with what was processed"),
        "{}",
        refused.stderr
    );
    assert_eq!(folder.read("out"), b"\x1f\n");
}

/// A writer was killed, or a disk was full: behind any byte.
#[test]
fn an_lz4_file_that_is_cut_off_is_broken() {
    let text: Vec<u8> = (0..40_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    std::io::Write::write_all(&mut encoder, &text).unwrap();
    let whole = encoder.finish().unwrap();
    let mut ends = vec![7];
    while let [a, b, c, d, ..] = whole[ends[ends.len() - 1]..] {
        let block = u32::from_le_bytes([a, b, c, d & 0x7f]) as usize;
        ends.push(ends[ends.len() - 1] + 4 + block);
    }
    assert!(ends.len() > 4 && ends.pop() == Some(whole.len()));
    let folder = Folder::new();
    for end in ends {
        for more in 0..4 {
            folder.file("cut.lz4", &whole[..end + more]);
            let run = run_in(&folder, &["dedup", "cut.lz4"]);
            let words = "cut.lz4: broken lz4 data: ";
            assert!(run.code == Some(2) && run.stderr.contains(words), "{end} {}", run.stderr);
        }
    }
    folder.file("whole.lz4", &whole);
    assert!(run_in(&folder, &["dedup", "whole.lz4"]).good() == text);
}
