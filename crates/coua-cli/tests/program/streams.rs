//! Standard streams that were closed when the program was started, or cannot be written.

use crate::support::{Folder, Repeats, expected, lines, run_with, shell};

#[test]
fn a_closed_standard_output_is_told() {
    let folder = Folder::new();
    let text = lines(100, Repeats::Many);
    folder.file("lines", &text);
    run_with(&text, ["add", &folder.join("f")]).good();
    for command in [
        "dedup lines",
        "dedup --filter new lines",
        "check f lines",
        "check -c f lines",
        "count f lines",
        "info f",
        "verify f",
        "plan --items 1e6",
        "generate completions bash",
        "--help",
        "help dedup",
        "--version",
    ] {
        let run = shell(folder.path(), &format!("$COUA {command} >&-"));
        assert_eq!(run.code, Some(2), "{command}");
        assert_eq!(run.stderr, "coua: standard output: is closed\n", "{command}");
    }
    assert!(!folder.has("new"), "what was not delivered is not recorded");
}

#[test]
fn a_closed_standard_output_does_not_matter_to_whom_does_not_write_there() {
    let folder = Folder::new();
    let text = lines(100, Repeats::Many);
    folder.file("lines", &text);
    shell(folder.path(), "$COUA dedup -o unique lines >&-").good();
    assert!(folder.read("unique") == expected(&text));
    shell(folder.path(), "$COUA add f lines >&- && $COUA compact -q f >&-").good();
    // A file that the program opens must not take the place of a closed stream.
    shell(folder.path(), "$COUA dedup --filter seen -o all lines <&- >&- 2>&-").good();
    assert!(folder.read("all") == expected(&text));
    shell(folder.path(), "$COUA verify seen").text();
}

#[test]
fn a_closed_standard_input_is_told() {
    let folder = Folder::new();
    folder.file("lines", "a\n");
    let message = "coua: standard input: is closed\n";
    shell(folder.path(), "$COUA dedup <&-").failed(2, message);
    shell(folder.path(), "$COUA dedup lines - <&-").failed(2, message);
    shell(folder.path(), "$COUA dedup -c <&-").failed(2, message);
    assert_eq!(shell(folder.path(), "$COUA dedup lines <&-").good(), b"a\n");
}

#[test]
fn figures_that_cannot_be_printed_are_an_error() {
    let folder = Folder::new();
    folder.file("lines", "a\n");
    let quiet = shell(folder.path(), "$COUA dedup lines 2>&-");
    assert_eq!(quiet.good(), b"a\n", "it has nothing to say");
    for option in ["--stats", "--stats=json"] {
        for to in ["2>&-", "2>/dev/full"] {
            let run = shell(folder.path(), &format!("$COUA dedup {option} lines {to}"));
            assert_eq!(run.code, Some(2), "{option} {to}");
        }
    }
    assert_eq!(shell(folder.path(), "$COUA dedupe 2>&-").code, Some(2));
    // Exit code 2 would say that the filter is unchanged.
    for command in ["dedup --filter f lines", "add g lines", "remove g lines"] {
        let run = shell(folder.path(), &format!("$COUA {command} --stats 2>/dev/full"));
        assert_eq!(run.code, Some(0), "{command}");
    }
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let folder = Folder::new();
    let message = "coua: standard output: No space left on device\n";
    for command in ["--help", "help dedup", "dedup -h", "--version"] {
        shell(folder.path(), &format!("$COUA {command} > /dev/full")).failed(2, message);
    }
    shell(folder.path(), "$COUA help dedup | true").good();
}
