//! Names the shared library for those that link it: `libcoua.so.0` stays while the interface is compatible.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcoua.so.0");
    }
}
