# Shell tests source this: each expectation says what it is, what came instead, and counts.
# shellcheck shell=sh
expect_failures=0
expect_count=0
expect_work=$(mktemp -d)
trap 'rm -rf "$expect_work"' EXIT

# expect_same WHAT WANTED GOT
expect_same() {
    expect_count=$((expect_count + 1))
    [ "$2" = "$3" ] && return 0
    printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
    expect_failures=$((expect_failures + 1))
}

# expect_match WHAT PATTERN GOT: the extended regular expression matches a line.
expect_match() {
    expect_count=$((expect_count + 1))
    printf '%s\n' "$3" | grep -qE -- "$2" && return 0
    printf 'FAILED: %s\n  wanted a line like: %s\n  got: %s\n' "$1" "$2" "$3"
    expect_failures=$((expect_failures + 1))
}

# expect_lines WHAT COUNT GOT
expect_lines() {
    expect_same "$1 (lines)" "$2" "$(printf '%s' "$3" | grep -c '' || true)"
}

expect_end() {
    if [ "$expect_failures" -gt 0 ]; then
        echo "$expect_failures of $expect_count expectations failed"
        exit 1
    fi
    echo "$expect_count expectations held"
}
