//! A large filter with a window is used from the mapped file.

use super::{dedup, hours, made};
use crate::support::{Folder, Repeats, lines, run_in, run_with};

#[test]
fn a_few_records_leave_most_of_a_large_file_alone() {
    let folder = Folder::new();
    let filter = folder.join("f.coua");
    made(&folder, hours(2, 2));
    let text = lines(800_000, Repeats::Few);
    let half = text.len() / 2;
    let half = half + text[half..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for (now, part) in [("0", &text[..half]), ("3600", &text[half..])] {
        let options = ["--window", "2h", "COUA_NOW", now];
        run_with(part, [&["add", &filter], &options[..]].concat()).good();
    }
    // Some bits of the old generation, which no key below touches.
    let mut bytes = folder.read("f.coua");
    assert!(bytes.len() > 4 << 20, "{} bytes are read whole", bytes.len());
    let quarter = bytes.len() / 4;
    bytes[quarter] ^= 0x55;
    folder.file("f.coua", &bytes);
    assert_eq!(dedup(&folder, "x\ny\nx\n", &["COUA_NOW", "7200"]).text(), "x\ny\n");
    assert_eq!(dedup(&folder, "y\nz\n", &["COUA_NOW", "7201"]).text(), "z\n");
    let after = folder.read("f.coua");
    assert!(after.starts_with(&bytes), "what changed is in the log");
    assert!(after.len() - bytes.len() < 3_000);
    let checked = run_with(b"w\nx\ny\n", ["check", &filter, "COUA_NOW", "7202"]);
    assert_eq!(checked.stdout, b"x\ny\n");
    let verified = run_in(&folder, &["verify", "f.coua"]);
    assert_eq!(verified.code, Some(2));
    assert!(verified.stderr.contains("f.coua: filter is damaged"), "{}", verified.stderr);
}
