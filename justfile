# The commands of this repository. `just` without a name lists them; each is one line to copy if
# `just` is not installed.

_list:
    @just --list --unsorted

# Check everything but the slow trials (see ./test)
test:
    ./test

# Check everything
test-all:
    ./test --all

# The main job on the example
demo:
    cargo run --release -- dedup --stats examples/homepages.txt.gz > /dev/null

# Bring the sources into their form
fmt:
    cargo fmt --all

# Hostile bytes for a while: a target of fuzz/fuzz_targets, for so many seconds (needs nightly and cargo-fuzz)
fuzz target seconds="60":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}} -verbosity=0

# What a compiler and clippy can find
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# The library's documentation, as a web page
doc:
    cargo doc --workspace --no-deps --open

# Times: batch, build, shared, line or stall, then numbers (see bench/src/main.rs)
bench *arguments="batch":
    cargo run --profile published -p coua-bench -- {{arguments}}

# The module on real servers: redisbloom, latency or dedup, then numbers (see bench/servers.py)
bench-servers *arguments:
    cargo build --profile published -p coua-valkey -p coua-cli -p coua-bench
    bench/servers.py {{arguments}}

# Coua beside its peers: all that docs/benchmarks.md says, in 35 minutes. `just measure --quick` shows that it runs
measure *arguments="--full":
    bench/measure {{arguments}}
    bench/report

# Have the filter's calls become more expensive? Counts instructions; with `record` these are the new record
guard *arguments:
    CARGO_INCREMENTAL=0 cargo run --profile published -p coua-bench --bin guard -- {{arguments}}

# Install the program from this folder
install:
    cargo install --locked --path crates/coua-cli
