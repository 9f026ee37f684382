# Sourced by ./test: runs checks, and counts their results.
#
# Convention: a test that runs an outside program has `needs_PROGRAM` in its name; a test that finds out
# only at run time that something is missing prints a line that begins with `skipped: `.
# shellcheck shell=bash disable=SC2034

passed=0 failed=0 skipped=0 failures=()
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# has NAME: whether this program, or the standard library of this Rust target, is installed.
has() { command -v "$1" >/dev/null 2>&1 || [[ $1 == *-*-* && -d $(rustc --print target-libdir --target "$1" 2>/dev/null) ]]; }

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1 ($2)"
}

# check NAME COMMAND...: counts the tests that cargo reports, or if there are none, one check that passes or fails. Lines
# that begin with `skipped: ` count too.
check() {
    local name=$1 status ok bad ignored filtered given_up
    shift
    printf '\n== %s (after %d s)\n' "$name" "$SECONDS"
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    read -r ok bad ignored filtered < <(awk '/^test result: / { ok += $4; bad += $6; ignored += $8; filtered += $12 }
        END { print ok + 0, bad + 0, ignored + 0, filtered + 0 }' "$log")
    given_up=$(grep -c '^skipped: ' "$log")
    # Other filters choose what to run.
    [[ " $* " == *' --skip '* ]] || filtered=0
    skipped=$((skipped + given_up + ignored + filtered))
    passed=$((passed + (ok > given_up ? ok - given_up : 0)))
    failed=$((failed + bad))
    if [ "$bad" -gt 0 ]; then
        failures+=("$name: $bad tests")
    elif [ "$status" -ne 0 ]; then
        failed=$((failed + 1))
        failures+=("$name")
        echo "FAILED: $name"
    elif [ "$ok" -eq 0 ]; then
        passed=$((passed + 1))
    fi
}

# check_if NAME NEEDS COMMAND...: the same if these programs and Rust targets are installed.
check_if() {
    local need
    for need in $2; do
        if ! has "$need"; then
            skip "$1" "$need is missing"
            return
        fi
    done
    check "$1" "${@:3}"
}

# Prints the sum. Succeeds if all passed.
total() {
    [ ${#failures[@]} -eq 0 ] || printf '%s\n' '' '== Failures' "${failures[@]}"
    printf '\n%d passed, %d failed, %d skipped in %d s\n' "$passed" "$failed" "$skipped" "$SECONDS"
    [ "$failed" -eq 0 ]
}
