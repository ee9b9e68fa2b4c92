#!/bin/sh
# What a report says of what was observed, for every hook there is: an error that stays is recorded
# by whichever call returns it, and one that does not stay by none.
# Usage: preload_observed.sh BUILD_FOLDER DRIVER_HOOKS
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# call SYMBOL RESULT: what the hook returned, and what the report has of NAME.
call() {
    returned=$(LD_PRELOAD="$build/libtidemark.so" TIDEMARK_REPORT="$expect_work/report" \
        TIDEMARK_REPORT_FORMAT=json "$build/tests/call_hook" \
        "$build/tests/echo/libcuda.so.1" "$1" "$2" || echo "exit $?")
    echo "$returned, sticky $(sed -n 's/.*"sticky_errors": \([0-9]*\).*/\1/p' "$expect_work/report")"
}

hooks=$(sed -n 's/^HOOK(\([A-Za-z0-9_]*\),.*/\1/p' "$2")
for hook in $hooks; do
    expect_same "$hook hands its result through shim_observe_result" "700, sticky 1" \
        "$(call "$hook" 700)"
done
expect_same "an error of the call alone is not recorded" "1, sticky 0" "$(call cuMemFree_v2 1)"
expect_same "an error of the program is not recorded" "709, sticky 0" "$(call cuMemFree_v2 709)"
expect_end
