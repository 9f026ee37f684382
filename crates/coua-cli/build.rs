//! Takes in the page of `coua explore`, if `scripts/build-web` has made it.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    // The folder, for cargo takes a file that is missing for one that has changed.
    println!("cargo::rerun-if-changed=page");
    let page = fs::read("page/explore.html").unwrap_or_default();
    let is_package = !Path::new("../../web").exists();
    assert!(
        !(page.is_empty() && is_package),
        "page/explore.html is missing: `scripts/build-web` makes it, before the package is packed"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("explore.html"), page).expect("the folder of the build can be written");
}
