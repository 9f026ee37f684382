//! Files that are not filters where one is expected: refused under their given name, and left unchanged.

use crate::support::{Folder, run, run_in, run_with};
use std::fs;

/// Whatever their names are, even those of filters.
#[test]
fn files_of_others_are_left_alone() {
    let folder = Folder::new();
    let filter = folder.join("seen");
    let names = ["seen.next", "seen.lock", "seen.journal", ".seen.tmp", ".seen.notes.tmp"];
    for name in names {
        folder.file(name, "my diary\n");
    }
    run_with(b"x\n", ["add", &folder.join("seen.new")]).good();
    let other = folder.read("seen.new");
    for _ in 0..2 {
        run_with(b"a\n", ["add", &filter]).good();
        run_with(b"b\n", ["dedup", "--filter", &filter]).good();
        run(["compact", "-q", &filter]).good();
        assert!(names.iter().all(|name| folder.read(name) == b"my diary\n"));
        assert!(folder.read("seen.new") == other);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), names.len() + 2);
    }
}

/// A writer that is killed before its first commit leaves an empty file.
#[test]
fn an_empty_file_is_no_filter_yet() {
    let folder = Folder::new();
    let input = folder.file("input", "a\n");
    let filter = folder.file("seen", "");
    let message = format!(
        "coua: {filter}: is empty: the run that created it was interrupted, or has not committed \
         yet; run it again, or remove the file\n"
    );
    for args in [
        &["check", &*filter, &input][..],
        &["remove", &filter, &input],
        &["verify", &filter],
        &["compact", &filter],
    ] {
        run(args).failed(2, &message);
    }
    assert!(folder.read("seen").is_empty());
    run(["add", &filter, &input]).good();
    run(["check", "-c", &filter, &input]).good();
}

/// The bytes of a good filter file.
fn good(folder: &Folder) -> Vec<u8> {
    run_with(b"a\nb\nc\n", ["add", &folder.join("good.coua")]).good();
    folder.read("good.coua")
}

#[test]
fn what_is_no_filter_is_refused_and_left_alone() {
    let folder = Folder::new();
    let filter = good(&folder);
    let mut later = filter.clone();
    // The version follows the magic of eight bytes.
    later[8] = 99;
    let mut damaged = filter.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for (name, content, words) in [
        ("text", b"this is a text\n".repeat(100), "is not a filter"),
        ("later", later, "version 99"),
        ("damaged", damaged, "damaged"),
        ("cut", filter[..filter.len() / 2].to_vec(), "cut"),
    ] {
        let path = folder.file(name, &content);
        let input = folder.file("input", "a\n");
        let output = folder.join("output");
        for args in [
            vec!["dedup", "--filter", &path, "-o", &output, &input],
            vec!["add", &path, &input],
            vec!["remove", &path, &input],
            vec!["check", &path, &input],
            vec!["count", &path, &input],
            vec!["info", &path],
            vec!["verify", &path],
            vec!["compact", &path],
            vec!["merge", "-o", &output, &path],
            vec!["convert", &path, "-o", &output, "--rate", "0.1"],
        ] {
            let run = run(&args);
            assert_eq!((run.code, run.stdout.as_slice()), (Some(2), b"".as_slice()), "{args:?}");
            assert!(run.stderr.starts_with(&format!("coua: {path}: ")), "{}", run.stderr);
            assert!(run.stderr.contains(words), "{name}: {}", run.stderr);
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        }
        assert!(folder.read(name) == content, "{name} is untouched");
        assert!(!folder.has("output"));
    }
}

#[test]
fn what_cannot_hold_a_filter_is_refused() {
    let folder = Folder::new();
    let input = folder.file("input", "a\n");
    for device in ["/dev/full", "/dev/null", "/dev/zero"] {
        let message =
            format!("coua: {device}: is not a regular file, so it cannot hold a filter\n");
        run(["dedup", "--filter", device, &input]).failed(2, &message);
        run(["check", device, &input]).failed(2, &message);
        run(["info", device]).failed(2, &message);
    }
    let name = folder.path().to_str().unwrap();
    let message = format!("coua: {name}: is a directory, not a filter file\n");
    run(["info", name]).failed(2, &message);
    run(["dedup", "--filter", name, &input]).failed(2, &message);
    let missing = folder.join("missing");
    let message = format!("coua: {missing}: No such file or directory\n");
    for command in ["check", "count", "remove", "info", "verify", "compact"] {
        run([command, &missing]).failed(2, &message);
    }
    assert!(!folder.has("missing"));
}

/// The message shows the name as it was given.
#[test]
fn a_folder_that_does_not_exist() {
    let folder = Folder::new();
    folder.file("input", "a\n");
    run_in(&folder, &["add", "other", "input"]).good();
    std::os::unix::fs::symlink("nowhere/far", folder.join("link")).unwrap();
    for (name, told) in [("no/such/seen", "no/such/seen"), ("link", "./nowhere/far")] {
        for args in [
            &["dedup", "--filter", name, "input"][..],
            &["add", name, "input"],
            &["merge", "-o", name, "other"],
            &["convert", "--rate=0.01", "-o", name, "other"],
        ] {
            let message = format!("coua: {told}: its folder does not exist\n");
            run_in(&folder, args).failed(2, &message);
        }
        let message = format!("coua: {name}: No such file or directory\n");
        run_in(&folder, &["check", name, "input"]).failed(2, &message);
    }
    let message = "coua: input/seen: Not a directory\n";
    run_in(&folder, &["add", "input/seen", "input"]).failed(2, message);
}

#[test]
fn only_filters_and_empty_files_are_replaced() {
    let folder = Folder::new();
    folder.file("input", "a\n");
    run_in(&folder, &["add", "other", "input"]).good();
    let lost = "is not a filter; refusing to overwrite it (choose another output, or delete it)";
    let taken =
        "is not a filter file (add, check, count and remove take FILTER first, then input files)";
    for (content, name) in
        [(&b"a,b\n1,2\n"[..], "table"), (b"\x89PNG\r\n\x1a\n", "png"), (&[0; 600], "zeros")]
    {
        folder.file(name, content);
        for args in [
            &["merge", "-o", name, "other"][..],
            &["convert", "--rate=0.01", "-o", name, "other"],
            &["add", name, "input"],
        ] {
            let reason = if args[0] == "add" { taken } else { lost };
            run_in(&folder, args).failed(2, &format!("coua: {name}: {reason}\n"));
            assert!(folder.read(name) == content, "{args:?}");
        }
    }
    // Checked before the filters are read, which may take a while.
    let message = format!("coua: table: {lost}\n");
    run_in(&folder, &["merge", "-o", "table", "input"]).failed(2, &message);
    folder.file("empty", "");
    run_in(&folder, &["merge", "-o", "empty", "other"]).good();
    assert!(folder.read("empty") == folder.read("other"));
    // A truncated filter counts as a filter.
    let torn = folder.read("other")[..100].to_vec();
    folder.file("torn", torn);
    run_in(&folder, &["merge", "-o", "torn", "other"]).good();
    assert!(folder.read("torn") == folder.read("other"));
}

#[test]
fn filters_are_no_place_for_records() {
    let folder = Folder::new();
    folder.file("input", "a\nb\na\n");
    run_in(&folder, &["add", "other", "input"]).good();
    run_in(&folder, &["add", "base", "input"]).good();
    run_in(&folder, &["add", "forgets", "input", "--window", "1d"]).good();
    folder.file("torn", &folder.read("other")[..100]);
    for filter in ["other", "forgets", "torn"] {
        let before = folder.read(filter);
        let message = format!(
            "coua: {filter}: is a filter file; refusing to overwrite it (choose another output, or delete it)\n"
        );
        for args in [
            &["dedup", "--filter", "seen", "-o", filter, "input"][..],
            &["dedup", "-o", filter, "input"],
            &["dedup", "--filter", "seen", "--resume", "-o", filter, "input"],
            &["explore", "-o", filter],
        ] {
            run_in(&folder, args).failed(2, &message);
            assert!(folder.read(filter) == before, "{args:?}");
            assert!(!folder.has("seen") && !folder.has("output"), "{args:?}");
        }
    }
}
