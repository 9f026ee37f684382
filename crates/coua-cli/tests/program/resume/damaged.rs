//! Inputs that were damaged, cut off, or are others now: no line is lost.

use crate::packed::COMPRESSIONS;
use crate::support::{Folder, Repeats, expected, lines, run_in, shell};
use coua_dev::cases::{few_usual_or_all, sample};
use std::fs;

/// Decoders return wrong bytes before they find the damage. A good file is not mistaken for the continuation of these
/// bytes; `coua remove` takes them back.
#[test]
fn a_damaged_input_is_not_resumed_with_a_good_one() {
    let text = lines(200_000, Repeats::Few);
    let mut refused = 0;
    for (name, pack) in sample(COMPRESSIONS, [2, 1]) {
        let whole = pack(&text);
        for part in sample([2, 3, 5, 7], [4, 3]) {
            let mut broken = whole.clone();
            let at = broken.len() * part / 8;
            broken[at] ^= 0x10;
            let folder = Folder::new();
            folder.file("in", &broken);
            let run = |options: &[&str]| {
                let dedup =
                    ["dedup", "--filter", "f", "-o", "out", "--checkpoint-every", "0", "in"];
                run_in(&folder, &[&dedup, options].concat())
            };
            // Wrong bytes that were printed after the last checkpoint are cut off only by the user.
            let insist = |options: &[&str]| {
                let run_once = run(options);
                let Some((_, way)) = run_once.stderr.split_once(" may not all be what ") else {
                    return run_once;
                };
                let end = way.split_once("truncate -s ").unwrap().1.split(' ').next().unwrap();
                let out = fs::File::options().write(true).open(folder.join("out")).unwrap();
                out.set_len(end.parse().unwrap()).unwrap();
                run(options)
            };
            let first = run(&["--resume"]);
            assert_eq!(first.code, Some(2), "{name} {part}");
            folder.file("in", &whole);
            let second = insist(&["--resume"]);
            if second.code != Some(0) {
                let reason = "no longer begins with what was processed";
                assert!(second.stderr.contains(reason), "{name} {part}: {}", second.stderr);
                refused += 1;
                let again =
                    "$COUA remove -q f out && rm out && $COUA dedup -q --filter f -o out in";
                shell(folder.path(), again).good();
            }
            assert!(folder.read("out") == expected(&text), "{name} {part}");
            assert!(run_in(&folder, &["check", "-v", "-c", "f", "in"]).stdout == b"0\n");
        }
    }
    assert!(refused >= few_usual_or_all([1, 4, 8]), "{refused}");
}

/// With the new input the same command is another job, which must not empty the output.
#[test]
fn the_same_names_with_other_records_are_another_job() {
    let folder = Folder::new();
    let daily = ["dedup", "--filter", "f", "-o", "new", "today"];
    folder.file("today", "a\nb\n");
    run_in(&folder, &daily).good();
    folder.file("today", "b\nc\n");
    let refused = run_in(&folder, &daily);
    let words = "; append with --append, or move the file away\n";
    assert!(refused.code == Some(2) && refused.stderr.ends_with(words), "{}", refused.stderr);
    assert_eq!(folder.read("new"), b"a\nb\n");
    run_in(&folder, &[&daily[..], &["--append"]].concat()).good();
    assert_eq!(folder.read("new"), b"a\nb\nc\n");
    // Whoever takes the output away gets a new one.
    fs::rename(folder.join("new"), folder.join("taken")).unwrap();
    folder.file("today", "b\nc\nd\n");
    run_in(&folder, &daily).good();
    assert_eq!(folder.read("new"), b"d\n");
}

/// The first byte of a compressed file looks like text.
#[test]
fn a_compressed_input_that_has_only_begun_is_not_resumed() {
    let text = lines(1_000, Repeats::Few);
    for (name, pack) in COMPRESSIONS {
        let (folder, whole) = (Folder::new(), pack(&text));
        for begun in 1..8 {
            let dedup = ["dedup", "--filter", "f", "-o", "out", "--resume", "in"];
            folder.file("in", &whole[..begun]);
            let first = run_in(&folder, &dedup);
            folder.file("in", &whole);
            let second = run_in(&folder, &dedup);
            let is_right = second.code == Some(0) && folder.read("out") == expected(&text);
            let is_refused = second.code == Some(2) && second.stderr.contains("leave out --resume");
            assert!(is_right || is_refused, "{name} {begun}: {} {}", first.stderr, second.stderr);
            std::fs::remove_file(folder.join("f")).unwrap();
            std::fs::remove_file(folder.join("out")).unwrap();
        }
    }
}
