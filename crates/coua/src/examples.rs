//! Runs the programs in `examples/` and the README as documentation tests.

macro_rules! run {
    ($($name:ident: $path:literal),*) => {$(
        #[doc = concat!("```\n", include_str!($path), "\n```")]
        struct $name;
    )*};
}

run!(
    File: "../examples/file.rs",
    Set: "../examples/set.rs",
    Threads: "../examples/threads.rs",
    Window: "../examples/window.rs"
);

#[doc = include_str!("../../../README.md")]
struct Readme;
