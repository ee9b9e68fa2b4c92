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

# observed ROUTE WHAT COUNTS: the same comes back as without the library, and the report has this.
observed() {
    export LD_LIBRARY_PATH="$build/simcuda"
    plain=$("$build/tests/observed" "$1" "$2" 2>&1 || echo "exit $?")
    expect_same "$2 by $1: results are the driver's" "$plain" \
        "$(LD_PRELOAD="$build/libtidemark.so" TIDEMARK_REPORT="$expect_work/report" \
            TIDEMARK_REPORT_FORMAT=json "$build/tests/observed" "$1" "$2" 2>&1 || echo "exit $?")"
    expect_same "$2 by $1 is observed" "$3" \
        "$(sed -n 's/^ *"observed": {\(.*\)},*$/\1/p' "$expect_work/report")"
}
counts() { # SYNCS CAPTURES OPEN EXPORTS STICKY
    echo "\"context_syncs\": $1, \"captures\": $2, \"open_captures\": $3, \"exports\": $4, \"sticky_errors\": $5"
}
for route in dlsym gpa ptsz; do
    observed $route whole "$(counts 0 2 0 0 0)"
    observed $route open "$(counts 0 1 1 0 0)"
    observed $route refused "$(counts 0 1 0 0 0)"
    observed $route broken "$(counts 0 1 0 0 0)"
    # A thread's own stream is another one in another thread.
    observed $route elsewhere "$(counts 0 1 1 0 0)"
    observed $route destroyed "$(counts 0 1 0 0 0)"
    observed $route context-ended "$(counts 0 1 0 0 0)"
    observed $route waits "$(counts 2 1 1 0 0)"
    observed $route exports "$(counts 0 0 0 2 0)"
    # Four calls follow the allocation.
    export SIMCUDA_STICKY=cuMemAlloc_v2:1
    observed $route exports "$(counts 0 0 0 0 4)"
    unset SIMCUDA_STICKY
done
unset LD_LIBRARY_PATH

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
