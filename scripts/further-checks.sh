# Sourced by ./test --full: checks for other systems, and other tools. Hosted CI has jobs on those systems
# (.github/workflows/test.yml).
# shellcheck shell=bash

check 'cargo clippy' cargo clippy --quiet --workspace --features coua/serde --all-targets -- -D warnings
check 'cargo doc' env RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps
# Nothing is linked: an empty archive stands in for libFuzzer, whose C++ takes longer to compile than all the rest.
printf '!<arch>\n' >target/libnothing.a
check 'fuzz targets compile' env CUSTOM_LIBFUZZER_PATH="$PWD/target/libnothing.a" \
    cargo check --locked --quiet --manifest-path fuzz/Cargo.toml
# compiles TARGET PACKAGES...: without linking, so that the C sources of dependencies need no compiler for that system.
compiles() {
    check_if "$1 compiles" "$1" env "CC_${1//-/_}=true" "AR_${1//-/_}=true" SDKROOT=/ cargo check --quiet --target "$@"
}
compiles wasm32-unknown-unknown -p coua --no-default-features
compiles aarch64-unknown-linux-gnu -p coua -p coua-store
compiles x86_64-pc-windows-gnu -p coua -p coua-store -p coua-cli
compiles aarch64-apple-darwin -p coua -p coua-store -p coua-cli --all-targets
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/coua/Cargo.toml)
if rustup toolchain install "$oldest" --profile minimal >/dev/null 2>&1; then
    check "library and store with Rust $oldest" cargo "+$oldest" check --quiet --locked -p coua -p coua-store \
        --all-targets --all-features
else
    skip 'library and store with the oldest Rust' 'rustup cannot install it here'
fi
# Counts instructions instead of time, which a busy machine does not change. bench/guard.txt has the record.
check_if "instructions of the filter's calls" valgrind bench/guard
mapfile -t shell < <(grep -d skip -lE '^#!.*bash|shellcheck shell=bash' .ci/run bench/* scripts/*)
check_if shellcheck shellcheck shellcheck test "${shell[@]}"
check_if 'the workflows of hosted CI' go go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.8
