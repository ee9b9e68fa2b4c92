#!/bin/sh
# Drivers that lack functions, preloaded: older ones, and the newest without each function that the
# library hooks or calls, in turn. A program runs as it does there without the library, to the
# line, by every road.
# Usage: preload_lacking.sh BUILD_FOLDER DRIVER_HOOKS
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# tour DRIVER_FOLDER ROUTE [NAME=VALUE...]
tour() {
    folder=$1 route=$2
    shift 2
    env LD_LIBRARY_PATH="$folder" "$@" "$build/tests/tour" "$route" 2>&1 || echo "exit $?"
}

same() { # WHAT DRIVER_FOLDER
    for route in dlsym gpa; do
        plain=$(tour "$2" $route)
        expect_same "$1, $route" "$plain" \
            "$(tour "$2" $route LD_PRELOAD="$build/libtidemark.so" TIDEMARK_DEVICE_MEM=none \
                TIDEMARK_DEVICE_RETAIN=$retain)"
    done
}

retain=50%
for driver in simcuda simcuda-12.2 simcuda-11.4; do
    same "$driver" "$build/$driver"
    expect_match "$driver: the tour is long" '^cuMemFree_v2 0$' "$plain"
done
expect_match "the newest driver has what the tour wants" '^cuCtxSynchronize_v2 found$' \
    "$(tour "$build/simcuda" dlsym)"
expect_match "and the oldest has not" '^cuCtxSynchronize_v2 absent$' \
    "$(tour "$build/simcuda-11.4" dlsym)"

# A function that is hidden from dlsym alone goes past the library by the other road, and with it
# what the program says of memory that is retained.
retain=off
symbols=$(sed -n 's/^\(HOOK\|CALL\)(\([A-Za-z0-9_]*\),.*/\2/p' "$2")
for symbol in $symbols; do
    mkdir "$expect_work/$symbol"
    "$build/tests/hide_symbols" "$build/simcuda/libcuda.so.1" \
        "$expect_work/$symbol/libcuda.so.1" "$symbol"
    same "without $symbol" "$expect_work/$symbol"
    rm -r "${expect_work:?}/$symbol"
done
expect_end
