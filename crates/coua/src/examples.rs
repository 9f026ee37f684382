//! Runs the programs in `examples/` and the README as documentation tests.

macro_rules! run {
    ($($name:ident: $path:literal),*) => {$(
        #[doc = concat!("```\n", include_str!($path), "\n```")]
        struct $name;
    )*};
}

run!(
    Batches: "../examples/batches.rs",
    File: "../examples/file.rs",
    Integers: "../examples/integers.rs",
    Set: "../examples/set.rs",
    Stream: "../examples/stream.rs",
    Threads: "../examples/threads.rs",
    Window: "../examples/window.rs"
);

#[doc = include_str!("../../../README.md")]
struct Readme;
