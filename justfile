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

# Time per key of the batch calls: ITEMS and ROUNDS as numbers
bench *numbers:
    cargo bench -p coua --bench batch -- {{numbers}}

# What a second thread brings: ITEMS, BATCH and ROUNDS as numbers
bench-shared *numbers:
    cargo bench -p coua --bench shared -- {{numbers}}

# Building a filter from all its keys at once: ITEMS and ROUNDS as numbers
bench-build *numbers:
    cargo bench -p coua --bench build -- {{numbers}}

# A filter in a file: grid, line or stall, then NUMBERS and FOLDER
bench-store *arguments:
    cargo bench -p coua-store --bench open -- {{arguments}}

# The module on real servers: throughput, latency or accuracy, then NUMBERS and SERVERS
bench-server *arguments:
    cargo bench -p coua-valkey --bench server -- {{arguments}}

# `coua dedup` on one server and on clusters of 1 and 3: LINES and SERVERS
bench-clusters *arguments:
    cargo bench -p coua-cli --bench servers -- {{arguments}}

# Coua beside its peers: all that docs/benchmarks.md says, in 20 minutes. `just measure --quick` shows that it runs
measure *arguments="--full":
    crates/coua-compare/measure {{arguments}}
    crates/coua-compare/report

# Have the filter's calls become dearer? Counts instructions; with `record` these are the new record
guard *arguments:
    cargo run --release -p coua-guard -- {{arguments}}

# Install the program from this folder
install:
    cargo install --locked --path crates/coua-cli
