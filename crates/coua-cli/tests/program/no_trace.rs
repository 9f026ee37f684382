//! A run that is refused before its work leaves every file as it was, and makes none.

use crate::support::{Folder, shell};
use std::collections::BTreeMap;
use std::fs;

/// All files of a folder, with what is in them.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap());
    names.map(|name| (name.clone(), folder.read(&name))).collect()
}

#[test]
fn nothing_is_made_or_changed_by_a_run_that_is_refused() {
    let folder = Folder::new();
    folder.file("in", "id,url\n1,a\n");
    folder.file("out", "kept\n");
    shell(folder.path(), "seq 10 | $COUA add there").good();
    let before = files(&folder);
    for command in [
        "dedup --filter new -o out",
        "dedup --filter new -o made --tee-dups out",
        "dedup --filter there -o made",
        "dedup -o made",
        "dedup --filter new",
        "add new",
        "add there",
        "add --unique new",
        "remove there",
        "remove there --report found -o made",
        "remove there --report found",
        "check there",
        "check -v there",
        "count there",
    ] {
        for trouble in [
            "in missing",
            "in .",
            "--csv typo in",
            "--csv typo <in",
            "-k 0 in",
            "--json id in",
            "--regex '(' in",
            "--stats in 2>&-",
            "<&-",
            "in >&- # where it is written to",
        ] {
            if trouble.contains(">&- #") && (command.contains("-o") || command.starts_with("add")) {
                continue;
            }
            if trouble.contains(">&- #") && command == "remove there" {
                continue;
            }
            let run = shell(folder.path(), &format!("$COUA {command} {trouble}"));
            assert_eq!(run.code, Some(2), "{command} {trouble}: {}", run.stderr);
            assert_eq!(run.stdout, b"", "{command} {trouble}");
            assert!(files(&folder) == before, "{command} {trouble}: {:?}", files(&folder).keys());
        }
    }
}

/// An output that cannot be made is found before a filter is.
#[test]
fn no_filter_is_made_for_an_output_that_cannot_be() {
    let folder = Folder::new();
    folder.file("in", "a\n");
    for output in ["no/such/out", ".", "in"] {
        let run = shell(folder.path(), &format!("$COUA dedup --filter new -o {output} in"));
        assert_eq!(run.code, Some(2), "{output}: {}", run.stderr);
        assert_eq!(files(&folder).into_keys().collect::<Vec<_>>(), ["in"], "{output}");
    }
}
