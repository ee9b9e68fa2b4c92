#!/bin/sh
# bench/lookups measures the library and not the driver twice.
# Usage: bench_lookups.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# lookups [NAME=VALUE...]
lookups() {
    env LD_LIBRARY_PATH="$build/simcuda" "$@" "$build/bench/lookups" --rounds 5 --lookups 50 2>&1 ||
        echo "exit $?"
}

results=$(lookups "LD_PRELOAD=$build/libtidemark.so")
expect_same "each way has its line" 7 "$(echo "$results" | grep -c ' added ')"
expect_match "with its figures" \
    '^dlsym, hooked: past [0-9]+ \[[0-9]+-[0-9]+\] through [0-9]+ \[[0-9]+-[0-9]+\] added .* ns, .*: (within|over) 1000 ns$' \
    "$results"
expect_match "and so have the first" \
    '^first dlsym [0-9]+\.[0-9] us, first cuGetProcAddress [0-9]+\.[0-9] us$' "$results"
expect_match "without the library there is nothing to compare" '^exit 2$' "$(lookups LD_PRELOAD=)"
expect_match "nor where it is off" '^exit 2$' \
    "$(lookups "LD_PRELOAD=$build/libtidemark.so" TIDEMARK=off)"
expect_end
