//! The crates that have no layer test of their own: their files form no circles.

use std::fs;

use coua_dev::Layers;

/// Crates whose own tests look.
const OWN: [&str; 4] = ["coua", "coua-cli", "coua-store", "coua-valkey"];

#[test]
fn files_of_the_other_crates_form_no_circles() {
    for entry in fs::read_dir("..").expect("the crates") {
        let path = entry.expect("a crate").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if !OWN.contains(&&*name) {
            Layers { rows: &[], known: &[] }.check(path.join("src").to_str().expect("a name"));
        }
    }
}
