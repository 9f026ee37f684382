//! Missing permissions are reported, even if the superuser runs the tests.

use crate::support::{Folder, Repeats, lines, powerless, run, run_as_is, run_with};
use coua_dev::instruction_sets::skipped;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

fn set_mode(path: &str, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_without_permission() {
    let folder = Folder::new();
    let file = folder.file("secret", "a\n");
    set_mode(&file, 0o000);
    let message = format!("coua: {file}: Permission denied\n");
    for args in [["dedup", &file], ["check", &file], ["info", &file]] {
        run_as_is(powerless(&folder).args(args)).failed(2, &message);
    }
}

#[test]
fn an_output_without_permission_stays() {
    let folder = Folder::new();
    let (input, output) = (folder.file("input", "a\n"), folder.file("output", "old"));
    set_mode(&output, 0o444);
    let message = format!("coua: {output}: Permission denied\n");
    run_as_is(powerless(&folder).args(["dedup", "-o", &output, &input])).failed(2, &message);
    assert_eq!(folder.read("output"), b"old");
}

/// The end of the output is recorded with its last bytes, so a run with a filter file must be able to read the output.
#[test]
fn an_output_that_cannot_be_read_stays() {
    let folder = Folder::new();
    let (input, output) = (folder.file("input", "a\n"), folder.file("output", "old"));
    let filter = folder.join("seen");
    let run = |more: &[&str]| {
        let mut command = powerless(&folder);
        set_mode(&folder.join(""), 0o777);
        set_mode(&output, 0o222);
        let run = run_as_is(command.args(["dedup", "-o", &output, &input]).args(more));
        set_mode(&output, 0o666);
        run
    };
    let message = format!(
        "coua: {output}: is not readable, but the filter file must remember its content: \
         Permission denied\n"
    );
    run(&["--filter", &filter]).failed(2, &message);
    assert_eq!(folder.read("output"), b"old");
    run(&[]).good();
    assert_eq!(folder.read("output"), b"a\n");
}

/// New names in it could not be synced.
#[test]
fn a_folder_that_cannot_be_read_is_refused_before_any_work() {
    let folder = Folder::new();
    let input = folder.file("input", "a\nb\n");
    for name in ["drop", "open"] {
        fs::create_dir(folder.join(name)).unwrap();
        set_mode(&folder.join(name), 0o777);
    }
    let (filter, output) = (folder.join("drop/seen"), folder.join("drop/out"));
    let (elsewhere, fine) = (folder.join("open/seen"), folder.join("open/out"));
    let run = |args: &[&str]| {
        let mut command = powerless(&folder);
        set_mode(&folder.join("drop"), 0o333);
        let run = run_as_is(command.args(args));
        set_mode(&folder.join("drop"), 0o777);
        run
    };
    let words = "its folder cannot be opened, which is needed to sync its name: Permission denied";
    for _ in 0..2 {
        for args in [&["dedup", "--filter", &filter, &input][..], &["add", &filter, &input]] {
            run(args).failed(2, &format!("coua: {filter}: {words}\n"));
        }
        let args = ["dedup", "--filter", &elsewhere, "-o", &output, &input];
        run(&args).failed(2, &format!("coua: {output}: {words}\n"));
    }
    assert_eq!(fs::read_dir(folder.join("drop")).unwrap().count(), 0);
    assert!(!folder.has("open/seen"));
    // Without a filter nothing needs to survive a power failure; and an existing name is already durable.
    run(&["dedup", "-o", &output, &input]).good();
    run(&["dedup", "--filter", &elsewhere, "-o", &output, &input]).good();
    assert_eq!(folder.read("drop/out"), b"a\nb\n");
    run(&["dedup", "--filter", &elsewhere, "-o", &fine, &input]).good();
    assert_eq!(folder.read("open/out"), b"");
}

#[test]
fn a_filter_in_a_folder_without_permission_is_read_but_not_written() {
    let folder = Folder::new();
    let input = folder.file("input", "a\nb\n");
    let filter = folder.join("locked/seen.coua");
    fs::create_dir(folder.join("locked")).unwrap();
    run_with(b"a\n", ["add", &filter]).good();
    set_mode(&filter, 0o444);
    set_mode(&folder.join("locked"), 0o555);
    let before = folder.read("locked/seen.coua");
    let command = || powerless(&folder);
    let found = run_as_is(command().args(["check", &filter, &input]));
    assert_eq!(found.good(), b"a\n");
    let path = fs::canonicalize(&filter).unwrap();
    let message = format!("coua: {}: Permission denied\n", path.display());
    run_as_is(command().args(["dedup", "--filter", &filter, &input])).failed(2, &message);
    run_as_is(command().args(["remove", &filter, &input])).failed(2, &message);
    assert!(folder.read("locked/seen.coua") == before);
    assert_eq!(fs::read_dir(folder.join("locked")).unwrap().count(), 1);
    // So that the folder can be deleted.
    set_mode(&folder.join("locked"), 0o755);
    run(["verify", &filter]).text();
}

/// A new snapshot keeps the owner and the permissions of the old one, whoever writes it.
#[test]
fn the_superuser_leaves_a_filter_to_its_owner() {
    if !rustix::process::geteuid().is_root() {
        let why = b"\nskipped: only the superuser can give files away\n";
        std::io::Write::write_all(&mut std::io::stdout(), why).unwrap();
        return;
    }
    let folder = Folder::new();
    let filter = folder.join("seen");
    run_with(b"a\n", ["add", &filter]).good();
    set_mode(&filter, 0o600);
    std::os::unix::fs::chown(&filter, Some(65_534), Some(65_534)).unwrap();
    let mut command = powerless(&folder);
    set_mode(&folder.join(""), 0o777);
    for args in [
        &["add", &*filter, &folder.file("input", "b\n")][..],
        &["compact", "-q", &filter],
        &["merge", "-o", &filter, &filter],
        &["add", &filter, &folder.join("input"), "--resume"],
    ] {
        run(args).good();
        let found = fs::metadata(&filter).unwrap();
        assert_eq!(
            (found.uid(), found.gid(), found.mode() & 0o777),
            (65_534, 65_534, 0o600),
            "{args:?}"
        );
    }
    run_as_is(command.args(["check", "-c", &filter, &folder.join("input")])).good();
}

/// Even in a folder that is writable by all, a user who may not write the file cannot replace it.
#[test]
fn a_filter_that_may_not_be_written_is_not_replaced() {
    let folder = Folder::new();
    let (input, filter) = (folder.file("input", "a\nb\n"), folder.join("seen"));
    run_with(b"a\n", ["add", &filter]).good();
    set_mode(&filter, 0o444);
    let before = folder.read("seen");
    for args in
        [&["add", &*filter, &input][..], &["merge", "-o", &filter, &filter], &["compact", &filter]]
    {
        let mut command = powerless(&folder);
        set_mode(&folder.join(""), 0o777);
        let refused = run_as_is(command.args(args));
        assert!(
            refused.code == Some(2) && refused.stderr.ends_with("Permission denied\n"),
            "{}",
            refused.stderr
        );
        assert!(folder.read("seen") == before);
    }
}

/// The owner of a filter may not give it to any group: those who lose the file's group gain no other right to it.
#[test]
fn a_filter_whose_group_is_lost_gives_fewer_rights() {
    const NOBODY: u32 = 65534;
    let folder = Folder::new();
    let (few, many) = (folder.file("few", "a\n"), folder.file("many", lines(2_000, Repeats::Few)));
    let filter = folder.join("seen");
    let add = |input: &str| {
        let mut command = powerless(&folder);
        set_mode(&folder.join(""), 0o777);
        run_as_is(command.args(["add", "-q", &filter, input])).good();
    };
    for (mode, wanted) in [(0o640, 0o600), (0o664, 0o644), (0o604, 0o600)] {
        add(&few);
        if chown(&filter, Some(NOBODY), Some(12_345)).is_err() {
            skipped("the right to give files away");
            return;
        }
        set_mode(&filter, mode);
        add(&many);
        let found = fs::metadata(&filter).unwrap();
        assert_ne!(found.gid(), 12_345);
        assert_eq!(found.mode() & 0o777, wanted, "{mode:o}");
        fs::remove_file(&filter).unwrap();
    }
}

/// As with `cp`, the umask decides about the other rights.
#[test]
fn copies_of_private_filters_are_private() {
    let folder = Folder::new();
    let names = ["one", "other", "copy"].map(|name| folder.join(name));
    let [one, other, copy] = &names;
    let input = folder.file("input", "a\n");
    for name in [one, other] {
        run(&["add", "-q", name, &input]).good();
    }
    set_mode(other, 0o600);
    for args in [
        &["convert", "-q", "--rate", "0.001", "-o", copy, other][..],
        &["merge", "-q", "-o", copy, one, other],
    ] {
        run(args).good();
        assert_eq!(fs::metadata(copy).unwrap().mode() & 0o777, 0o600, "{args:?}");
        fs::remove_file(copy).unwrap();
    }
}
