#!/bin/sh
# Under a tool that wants to see every allocation nothing is retained, and the report says why; at
# exit the driver is left alone.
# Usage: preload_inspected.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# rounds [COMMAND...]: a program of ten rounds with one wait each, its report in `report`, the driver's
# calls in `calls`.
rounds() {
    rm -f "$expect_work/calls" "$expect_work/report"
    env LD_LIBRARY_PATH="$build/simcuda" LD_PRELOAD="$build/libtidemark.so" SIMCUDA_MEM=2GiB \
        SIMCUDA_LOG="$expect_work/calls" TIDEMARK_REPORT="$expect_work/report" "$@" \
        "$build/bench/retained" staging 10 >"$expect_work/out"
}

state() {
    sed -n 's/^device retention *//p' "$expect_work/report"
}

asked() {
    sed -n 's/.*: [0-9]* asked, \([0-9]*\) alloc.*/\1/p' "$expect_work/out"
}

all=$(rounds env TIDEMARK_PINNED_RETAIN=off && asked)
rounds env TIDEMARK_VERBOSE=off
expect_same "retention is on" on "$(state)"
expect_same "and the driver is asked less" yes "$([ "$(asked)" -lt "$all" ] && echo yes)"
expect_same "what is idle at exit is left to the driver" 0 \
    "$(sed -n '/^cuMemHostAlloc/h; /^cuMemFreeHost/H; $ { x; p; }' "$expect_work/calls" |
        grep -c '^cuMemFreeHost' || true)"

# off WHY [COMMAND...]
off() {
    why=$1
    shift
    rounds "$@"
    expect_same "$why: said" "off: $why" "$(state)"
    expect_same "$why: every request reaches the driver" "$all" "$(asked)"
}
off "compute-sanitizer (NV_SANITIZER)" env NV_SANITIZER_INJECTION_PORT_BASE=1
off "a tool of CUDA_INJECTION64_PATH" env CUDA_INJECTION64_PATH=/nowhere.so
off "TIDEMARK_DEVICE_RETAIN and TIDEMARK_PINNED_RETAIN are off" \
    env TIDEMARK_DEVICE_RETAIN=off TIDEMARK_PINNED_RETAIN=off
# A list that names valgrind's own objects; that they are not found changes nothing.
off "valgrind" env LD_PRELOAD="$build/libtidemark.so:/nowhere/vgpreload_core-amd64-linux.so" 2>/dev/null

# gdb under the other's name: the tracer is known by that.
if command -v gdb >/dev/null; then
    ln -s "$(command -v gdb)" "$expect_work/cuda-gdb"
    rm -f "$expect_work/report"
    env LD_LIBRARY_PATH="$build/simcuda" "$expect_work/cuda-gdb" -q -batch -nx -ex 'set startup-with-shell off' \
        -ex "set environment LD_PRELOAD $build/libtidemark.so" \
        -ex "set environment TIDEMARK_REPORT $expect_work/report" \
        -ex run --args "$build/bench/retained" staging 10 >"$expect_work/out" 2>&1 || true
    if grep -q '^staging: ' "$expect_work/out"; then
        expect_same "cuda-gdb: said" "off: cuda-gdb" "$(state)"
        expect_same "cuda-gdb: every request reaches the driver" "$all" "$(asked)"
    else
        echo "skip cuda-gdb: gdb cannot run a program here"
    fi
else
    echo "skip cuda-gdb: gdb is not installed"
fi
expect_end
