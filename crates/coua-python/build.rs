//! Python itself has the symbols that an extension lacks; only with these arguments does macOS's linker accept that.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    pyo3_build_config::add_extension_module_link_args();
}
