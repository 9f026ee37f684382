# Sourced by ./test: runs checks, and counts their results.
#
# Convention: a test that runs an outside program has `needs_PROGRAM` in its name; a test that finds out
# only at run time that something is missing prints a line that begins with `skipped: `.
# shellcheck shell=bash disable=SC2034,SC2030,SC2031

passed=0
failed=0
skipped=0
failures=()
papers=$(mktemp -d) || exit 2
log=$papers/log
trap 'rm -rf "$papers"' EXIT

# A shell ignores interrupts in background programs, but some tests send them.
heeding=(env)
if env --default-signal=INT true 2>/dev/null; then heeding=(env --default-signal=INT); fi

has() { command -v "$1" >/dev/null 2>&1; }

has_target() { [ -d "$(rustc --print target-libdir --target "$1")" ]; }

say() { printf '\n== %s (after %d s)\n' "$1" "$SECONDS"; }

pass() {
    passed=$((passed + 1))
    echo "passed: $1"
}

fail() {
    failed=$((failed + 1))
    failures+=("$1")
    echo "FAILED: $1"
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1 ($2)"
}

# check NAME COMMAND...: a check that passes or fails. Lines that it prints as skipped are counted.
check() {
    local name=$1
    shift
    say "$name"
    "$@" 2>&1 | tee "$log"
    if [ "${PIPESTATUS[0]}" -eq 0 ]; then pass "$name"; else fail "$name"; fi
    skipped=$((skipped + $(grep -c '^skipped: ' "$log")))
}

# check_if NAME PROGRAMS COMMAND...: the same if these programs are installed.
check_if() {
    local name=$1 program
    for program in $2; do
        if ! has "$program"; then
            skip "$name" "$program is missing"
            return
        fi
    done
    shift 2
    check "$name" "$@"
}

# check_target NAME TARGET COMMAND...: the same if the target's standard library is installed.
check_target() {
    local name=$1 target=$2
    shift 2
    if has_target "$target"; then
        check "$name" "$@" --target "$target"
    else
        skip "$name" "the standard library of $target is not installed"
    fi
}

# run_tests NAME IGNORED COMMAND...: a `cargo test` command. IGNORED says whether ignored tests
# count as `skipped`, or run `later`.
run_tests() {
    local name=$1 counted=$2 status ok bad ignored filtered given_up
    shift 2
    say "$name"
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r ok bad ignored filtered < <(awk '
        /^test result: / {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) == "passed;") ok += $i
                if ($(i + 1) == "failed;") bad += $i
                if ($(i + 1) == "ignored;") ignored += $i
                if ($(i + 1) == "filtered") filtered += $i
            }
        }
        END { print ok + 0, bad + 0, ignored + 0, filtered + 0 }' "$log")
    given_up=$(grep -c '^skipped: ' "$log")
    passed=$((passed + ok - given_up))
    failed=$((failed + bad))
    skipped=$((skipped + given_up))
    if [ "$counted" = skipped ]; then skipped=$((skipped + ignored + filtered)); fi
    if [ "$bad" -gt 0 ]; then
        failures+=("$name: $bad tests")
    elif [ "$status" -ne 0 ]; then
        fail "$name (the build failed, or a test program died)"
    fi
}

# The processes of the functions in the background.
declare -A started=()

# meanwhile FUNCTION...: runs each function's checks in the background.
meanwhile() {
    local function
    for function; do
        (
            trap - EXIT
            log=$papers/$function.log passed=0 failed=0 skipped=0 failures=()
            "$function"
            printf '%s\n' "$passed" "$failed" "$skipped" "${failures[@]}" >"$papers/$function.results"
        ) >"$papers/$function.output" 2>&1 &
        started[$function]=$!
    done
}

# join_meanwhile FUNCTION...: waits for them, prints their output, and adds their results.
join_meanwhile() {
    local function
    local -a results
    for function; do
        wait "${started[$function]}"
        results=(0 1 0 "the checks of $function: they did not end")
        cat "$papers/$function.output"
        [ ! -e "$papers/$function.results" ] || mapfile -t results <"$papers/$function.results"
        passed=$((passed + results[0]))
        failed=$((failed + results[1]))
        skipped=$((skipped + results[2]))
        failures+=("${results[@]:3}")
    done
}

# Prints the sum. Succeeds if all passed.
total() {
    if [ ${#failures[@]} -gt 0 ]; then
        say 'Failures'
        printf '%s\n' "${failures[@]}"
    fi
    printf '\n%d passed, %d failed, %d skipped in %d s\n' "$passed" "$failed" "$skipped" "$SECONDS"
    [ "$failed" -eq 0 ]
}
