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
