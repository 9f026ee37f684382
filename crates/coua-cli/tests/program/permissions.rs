//! What a user without rights may not do is told, also where the tests are run by the superuser.

use crate::support::{Folder, powerless, run, run_as_is, run_with};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

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

/// Where it ends is noted with its last bytes, so a filter file asks for the right to read it.
#[test]
fn an_output_that_cannot_be_read_stays() {
    let folder = Folder::new();
    let (input, output) = (folder.file("input", "a\n"), folder.file("output", "old"));
    let (repeats, filter) = (folder.file("repeats", "old too"), folder.join("seen"));
    let set_modes = |mode| [&output, &repeats].into_iter().for_each(|name| set_mode(name, mode));
    let run = |more: &[&str]| {
        let mut command = powerless(&folder);
        set_mode(&folder.join(""), 0o777);
        set_modes(0o222);
        let run = run_as_is(command.args(["dedup", "-o", &output, &input]).args(more));
        set_modes(0o666);
        run
    };
    let message = format!(
        "coua: {output}: cannot be read, as is needed where a filter file remembers what is in it: \
         Permission denied\n"
    );
    for more in [&["--filter", &filter][..], &["--filter", &filter, "--tee-dups", &repeats]] {
        run(more).failed(2, &message);
        assert_eq!(
            (folder.read("output"), folder.read("repeats")),
            (b"old".into(), b"old too".into())
        );
    }
    run(&[]).good();
    assert_eq!(folder.read("output"), b"a\n");
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
    let message = format!("coua: {}.lock: Permission denied\n", path.display());
    run_as_is(command().args(["dedup", "--filter", &filter, &input])).failed(2, &message);
    run_as_is(command().args(["remove", &filter, &input])).failed(2, &message);
    assert!(folder.read("locked/seen.coua") == before);
    assert_eq!(fs::read_dir(folder.join("locked")).unwrap().count(), 1);
    // So that the folder can go away.
    set_mode(&folder.join("locked"), 0o755);
    run(["verify", &filter]).text();
}
