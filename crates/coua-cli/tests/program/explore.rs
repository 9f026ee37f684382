//! `coua explore`: where the page goes. The tests of the page are in `web/tests`.

use crate::support::{Folder, Run, coua, run, run_as_is, until};
use std::fs;
use std::io::{Write, stdout};
use std::os::unix::fs::PermissionsExt;

/// Whether the program has the page; without, it says how to make it.
fn has_page(run: &Run) -> bool {
    let is_missing = run.stderr.contains("was built without the page");
    if is_missing {
        assert!(
            run.code == Some(2) && run.stderr.contains("run: scripts/build-web"),
            "{}",
            run.stderr
        );
        stdout().write_all(b"\nskipped: the program was built without the page\n").unwrap();
    }
    !is_missing
}

#[test]
fn a_named_page_is_only_written() {
    let folder = Folder::new();
    let (lines, filter) = (folder.file("lines", "a\nb\n"), folder.join("f.coua"));
    run(["add", &filter, &lines]).good();
    let page = folder.join("page.html");
    let alone = run(["explore", "-o", &page]);
    if !has_page(&alone) {
        return;
    }
    alone.good();
    let whole = fs::read_to_string(&page).unwrap();
    assert!(whole.contains(r#"id="excerpt">null<"#));
    let text = run(["explore", &filter, "--key", "a", "--key", "</script>", "-o", &page]).text();
    assert_eq!(text, "");
    let with_filter = fs::read_to_string(&page).unwrap();
    let (begin, end) = whole.split_once("null<").unwrap();
    let excerpt = with_filter.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end)).unwrap();
    let answers = r#""answers":[["a",1],["\u003c/script>",0]]}<"#;
    assert!(excerpt.starts_with(r#"{"name":"f.coua","#) && excerpt.ends_with(answers), "{excerpt}");
}

#[test]
fn a_page_without_a_name_is_private_and_opened() {
    let folder = Folder::new();
    let shown = run_as_is(coua(["explore"]).env("TMPDIR", folder.path()).env("PATH", ""));
    if !has_page(&shown) {
        return;
    }
    let path = String::from_utf8(shown.stdout).unwrap();
    let path = path.strip_suffix('\n').unwrap();
    assert_eq!(shown.stderr, format!("coua: could not open a browser; open {path} in one\n"));
    assert_eq!(shown.code, Some(0));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(path).unwrap().starts_with("<!doctype html>"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_gets_the_page() {
    let folder = Folder::new();
    let opener = folder
        .file("xdg-open", "#!/bin/sh\necho $1 > $TMPDIR/part\nmv $TMPDIR/part $TMPDIR/opened\n");
    fs::set_permissions(opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/bin:/usr/bin", folder.path().display());
    let shown = run_as_is(coua(["explore"]).env("TMPDIR", folder.path()).env("PATH", path));
    if has_page(&shown) {
        until(|| folder.has("opened"));
        assert_eq!(folder.read("opened"), shown.good());
    }
}
