#!/bin/sh
# What a report says of what was observed: an error that stays, by whichever hook returns it, and
# not one that does not stay; and a form of a hooked function that is not known.
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

# look_up LAUNCHER... [NAME=VALUE]...: two look-ups of a form that came later, and one of a known one.
look_up() {
    env "$@" "$build/tests/look_up" "$build/tests/echo/libcuda.so.1" \
        cuMemAlloc 13010 cuMemAlloc 13000 cuMemAlloc 13020 2>&1 || echo "exit $?"
}
preload=LD_PRELOAD=$build/libtidemark.so
line='tidemark: cuMemAlloc of version 13010: the driver has a form of it that is not known here, and what the program does by it is not seen'
expect_same "an unknown form is handed on in silence" "" "$(look_up "$preload")"
look_up "$preload" TIDEMARK_REPORT="$expect_work/report" TIDEMARK_REPORT_FORMAT=json
expect_match "and counted in the report" '"unknown_lookups": 2\b' "$(cat "$expect_work/report")"
expect_match "and in its text" '^  unknown_lookups +2$' \
    "$(look_up "$preload" TIDEMARK_REPORT=stderr)"
expect_same "verbose says so once" "$line" \
    "$(look_up "$preload" TIDEMARK_VERBOSE=1 | grep 'cuMemAlloc')"
expect_same "run --strict, too" "$line" \
    "$("$build/tidemark" run --strict -- "$build/tests/look_up" \
        "$build/tests/echo/libcuda.so.1" cuMemAlloc 13010 cuMemAlloc 13020 2>&1)"
expect_same "run without it does not" "" \
    "$("$build/tidemark" run -- "$build/tests/look_up" \
        "$build/tests/echo/libcuda.so.1" cuMemAlloc 13010 cuMemAlloc 13020 2>&1)"
expect_end
