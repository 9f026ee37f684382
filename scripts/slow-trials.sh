# Sourced by ./test --all: slow tests. ./test sets $all, $heeding and $without.
# shellcheck shell=bash disable=SC2154

check 'slow tests, optimized' "${heeding[@]}" COUA_MODULE="$PWD/target/release/libcoua_valkey.so" \
    cargo test "${all[@]}" --release --no-fail-fast -- --ignored "${without[@]}"
# Other runs only sample these lists of cases.
check 'all cases of the library, also with fewer instructions' env COUA_TEST_CASES=all cargo test -p coua --no-fail-fast --test '*'
check 'all places where a disk fails' env COUA_TEST_CASES=all cargo test -p coua-store --lib faults
check 'all cases of the program' "${heeding[@]}" COUA_TEST_CASES=all cargo test -p coua-cli --test program -- "${without[@]}"

# Other processors, emulated: Arm, and a big-endian one.
for processor in aarch64 s390x; do
    target=$processor-unknown-linux-gnu
    settings=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")
    needs="qemu-$processor $processor-linux-gnu-gcc $target"
    emulated=(env "${settings}_LINKER=$processor-linux-gnu-gcc" "${settings}_RUNNER=qemu-$processor -L /usr/$processor-linux-gnu"
        cargo test -p coua --target "$target" --no-fail-fast)
    check_if "the library on $processor" "$needs" "${emulated[@]}" --lib --test snapshot -- \
        --skip damage:: --skip files:: --skip forged:: --skip mapped::
    check_if "its files on $processor" "$needs" "${emulated[@]}" --test library -- format:: inspect::
done
check_if 'Redis 8 and Valkey 8.1' debootstrap scripts/install-servers trixie
check_if 'the module in Redis 8 and Valkey 8.1' target/servers/trixie/bin/redis-server "${heeding[@]}" \
    PATH="$PWD/target/servers/trixie/bin:$PATH" cargo test -p coua-valkey --test server --no-fail-fast -- --skip needs_valgrind \
    "${without[@]}"
# A separate folder, because other flags would make the next build compile everything again.
check 'orders of threads' env RUSTFLAGS='--cfg loom' cargo test --release -p coua --lib --target-dir target/loom orders

check "the README's first command, as written" scripts/first-command
check 'Python: engines for many machines' scripts/test-python --all
check_if 'the Go module: linter, fuzzing, the comparison' go scripts/test-go --all
check_if 'what bundlers make of the package for npm' 'node npm chromium' scripts/test-web bundles
check_if 'the package for Java' mvn scripts/test-java
check 'packages are built' scripts/dist
check 'packages are installed and tried' scripts/try-dist

if cargo +nightly fuzz --version >/dev/null 2>&1 || cargo +nightly install --locked --quiet cargo-fuzz; then
    for target in fuzz/fuzz_targets/*.rs; do
        target=$(basename "$target" .rs)
        check "fuzz $target" cargo +nightly fuzz run "$target" -- -max_total_time=60 -verbosity=0
    done
    rustup +nightly component add miri rust-src >/dev/null 2>&1
    # Miri would vary the results of exp2 and similar functions from call to call, as no system does, and warn of
    # addresses that are stored as numbers, as in vectors.
    check Miri env MIRIFLAGS='-Zmiri-deterministic-floats -Zmiri-permissive-provenance' \
        cargo +nightly miri test -p coua --lib
else
    skip 'fuzz targets and Miri' 'no nightly toolchain'
fi
