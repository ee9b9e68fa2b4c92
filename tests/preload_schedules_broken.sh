#!/bin/sh
# What preload_schedules looks for is there to be found: without the rule of readiness results are
# wrong, with it they are not.
# Usage: preload_schedules_broken.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

schedules() { # LIBRARY
    LD_PRELOAD=$1 TIDEMARK_DEVICE_MEM=none TIDEMARK_DEVICE_RETAIN=100% TIDEMARK_PINNED_RETAIN=100% \
        SCHEDULES=300 SCHEDULES_SEED=7 "$build/tests/preload_schedules" 2>&1 || echo "exit $?"
}

broken=$(schedules "$build/tests/libtidemark-broken.so")
expect_match "without the rule results are wrong" ' results, [1-9][0-9]* wrong,' "$broken"
expect_match "and the test fails" '^exit 1$' "$broken"
whole=$(schedules "$build/libtidemark.so")
expect_match "with the rule none is" ' results, 0 wrong,' "$whole"
expect_end
