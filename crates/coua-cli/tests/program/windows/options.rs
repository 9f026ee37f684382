//! Windows that are invalid or differ from the filter's; and the help text about them.

use super::dedup;
use crate::support::{Folder, run, run_with};

#[test]
fn windows_that_cannot_be() {
    for (options, message) in [
        (&["--window", "0s"][..], "expected a duration such as 7d"),
        (&["--window", "1 month"], "expected a duration"),
        (
            &["--window", "5ms"],
            "--window: a window of length 5 cannot be divided into 8 generations",
        ),
        (&["--window", "5-items"], "--window: a window of length 5 cannot be divided"),
        (&["--window", "1x-items"], "for a number of items, expected a whole number below 2^64"),
        (&["--window=-items"], "for a number of items, expected"),
        (&["--window", "1M"], "or a number of items such as 1M-items"),
        (&["--time-field", "1"], "--time-field: needs --window"),
        (&["--window-by", "last"], "--window-by: needs --window"),
        (&["--window", "1h", "--window-by", "newest"], "[possible values: first, last]"),
        (&["--window", "9-items", "--time-field", "1"], "cannot be used with a --window of items"),
        (&["--window", "1h", "--time-field", "x"], "--time-field x: expected a list of fields"),
        (&["--window", "1h", "--time-field", "0"], "--time-field 0: expected a list of fields"),
        (&["--window", "1h", "--time-field", "1", "--time-format", "iso"], "expected rfc3339"),
        (&["--window", "1h", "--time-format", "seconds"], "required"),
        (&["--window", "1h", "COUA_NOW", "today"], "COUA_NOW: expected a time such as"),
        (&["--window", "1h", "--rate", "0.1"], "--rate: needs a number of items"),
    ] {
        let run = run_with(b"a\n", [&["dedup"], options].concat());
        assert_eq!((run.code, run.stdout.as_slice()), (Some(2), &b""[..]), "{options:?}");
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
    }
}

#[test]
fn options_must_agree_with_the_filter() {
    let folder = Folder::new();
    dedup(&folder, "a\n", &["--window", "1h", "COUA_NOW", "0"]).good();
    let refused = |options: &[&str]| {
        let run = dedup(&folder, "a\n", &[options, &["COUA_NOW", "0"]].concat());
        assert_eq!(run.code, Some(2), "{options:?}");
        run.stderr
    };
    for length in ["2h", "3600000-items"] {
        let message = refused(&["--window", length]);
        assert!(
            message.contains("the existing filter has the window 1h in 8 generations, not that of"),
            "{message}"
        );
    }
    assert!(refused(&["--time-field", "1"]).contains("drop --time-field"));
    dedup(&folder, "a\n", &["--window", "60m", "COUA_NOW", "0"]).good();
    run_with(
        b"1767250000 a\n",
        ["add", &folder.join("t.coua"), "--window", "1h", "--time-field", "1", "-k2"],
    )
    .good();
    let message = run_with(b"a\n", ["add", &folder.join("t.coua")]).stderr;
    assert!(message.contains("add --time-field"), "{message}");
    run_with(b"a\n", ["add", &folder.join("p.coua")]).good();
    let message = run_with(b"a\n", ["add", &folder.join("p.coua"), "--window", "1h"]).stderr;
    assert!(message.contains("has no window"), "{message}");
}

#[test]
fn a_secret_key_hides_in_every_generation() {
    let folder = Folder::new();
    folder.file("key", [7; 16]);
    folder.file("other", [8; 16]);
    let (key, other) = (folder.join("key"), folder.join("other"));
    dedup(&folder, "a\n", &["--window", "1h", "COUA_NOW", "0", "--secret", &key]).good();
    assert_eq!(dedup(&folder, "a\n", &["COUA_NOW", "1", "--secret", &key]).text(), "");
    assert!(
        dedup(&folder, "a\n", &["COUA_NOW", "1", "--secret", &other])
            .stderr
            .contains("wrong secret hash key")
    );
    assert!(dedup(&folder, "a\n", &["COUA_NOW", "1"]).stderr.contains("--secret"));
}

#[test]
fn the_help_states_how_exact_it_is() {
    let help = run(["help", "dedup"]).text();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("and for at most an eighth, a generation, more"), "{help}");
}

#[test]
fn a_window_that_is_too_short_is_told_with_its_unit() {
    let run = run_with(b"", ["dedup", "--window", "1ms"]);
    let words = "coua: --window: a window of length 1 cannot be divided into 8 generations; its length must be at \
                 least the number of generations, and below 2^62 (milliseconds or items)\n";
    run.failed(2, words);
}

/// A window is as many whole generations as the option asks for.
#[test]
fn the_same_window_agrees_with_itself() {
    for window in ["300-items", "1001-items", "304-items", "1001s"] {
        let folder = Folder::new();
        for text in ["a\n", "b\n"] {
            dedup(&folder, text, &["--window", window]).good();
        }
    }
}
