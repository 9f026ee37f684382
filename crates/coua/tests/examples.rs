//! The programs in `examples/`, each run once.

macro_rules! run {
    ($($name:ident: $path:literal),*) => {$(
        mod $name {
            include!($path);

            #[test]
            fn runs() {
                main().unwrap();
            }
        }
    )*};
}

run!(
    batches: "../examples/batches.rs",
    bloom: "../examples/bloom.rs",
    file: "../examples/file.rs",
    integers: "../examples/integers.rs",
    set: "../examples/set.rs",
    stream: "../examples/stream.rs",
    threads: "../examples/threads.rs",
    window: "../examples/window.rs"
);

#[test]
fn all_are_run() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let run = include_str!("examples.rs");
    for file in folder {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(run.contains(&format!("/examples/{name}\"")), "{name} is not run");
    }
}
