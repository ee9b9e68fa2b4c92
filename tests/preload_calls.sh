#!/bin/sh
# The ceiling holds at exactly the same step through every call that takes memory, on every road;
# each refusal is CUDA_ERROR_OUT_OF_MEMORY and leaves the outputs alone.
# Usage: preload_calls.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

MIB=1048576
LD_LIBRARY_PATH=$build/simcuda
export LD_LIBRARY_PATH

# steps ROUTE [NAME=VALUE...]: with 32 MiB of the device, which is what a pool grows by, and 24 MiB
# page-locked, in steps of 2 MiB.
steps() {
    route=$1
    shift
    client=$build/tests/call_steps
    [ "$route" = plt ] && client=${client}_plt
    env "$@" "$client" "$route" $((32 * MIB)) $((24 * MIB)) $((2 * MIB)) 2>"$expect_work/err" ||
        echo "exit $?"
}

calls_of_device='cuMemAlloc_v2|cuMemAllocPitch_v2|cuMemAllocPitch_v2 by real pitch|cuMemAllocManaged'
calls_of_pools='cuMemAllocAsync|cuMemAllocAsync_ptsz|cuMemAllocFromPoolAsync|cuMemAllocFromPoolAsync_ptsz'
calls_of_host='cuMemAllocHost|cuMemAllocHost_v2|cuMemHostAlloc|cuMemHostRegister|cuMemHostRegister_v2'

# expect_calls ROUTE CALLS STEPS OUTPUT
expect_calls() {
    echo "$2" | tr '|' '\n' >"$expect_work/calls"
    while read -r call; do
        line=$(echo "$4" | grep -F "$call: " || true)
        if [ "$line" = "$call: not supported" ]; then
            echo "skip $call by $1: the simulated driver does not have it"
            continue
        fi
        expect_same "$1: $call" \
            "$call: $3 steps, then 2; one back, 1 more; all at once 0; a byte more 2" "$line"
    done <"$expect_work/calls"
}

for route in plt dlsym gpa gpa2; do
    out=$(steps $route "LD_PRELOAD=$build/libtidemark.so" TIDEMARK_DEVICE_MEM=32MiB \
        TIDEMARK_PINNED_MEM=24MiB TIDEMARK_HEADROOM=0)
    expect_calls $route "$calls_of_device" 16 "$out"
    expect_calls $route "$calls_of_pools" 16 "$out"
    expect_calls $route "$calls_of_host" 12 "$out"
    expect_lines "$route: no call is left out" 13 "$out"
done

# The client sees what is there: without the library the device's own memory ends its steps.
out=$(steps dlsym SIMCUDA_MEM=32MiB)
expect_match "the driver alone refuses at the same step" \
    '^cuMemAlloc_v2: 16 steps, then 2; one back, 1 more; all at once 0; a byte more 2$' "$out"
expect_match "and does not limit what is page-locked" \
    '^cuMemHostAlloc: 256 steps, then 0; one back, 256 more; all at once 0; a byte more 0$' "$out"
expect_end
