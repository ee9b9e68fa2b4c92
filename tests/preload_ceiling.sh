#!/bin/sh
# The ceiling holds at exactly the same step on every road to the driver, is refused with
# CUDA_ERROR_OUT_OF_MEMORY and one line that can be checked by hand, and queries agree with it.
# Usage: preload_ceiling.sh BUILD_FOLDER DRIVER_HOOKS
set -eu
build=$1
hooks=$(grep -c '^HOOK(' "$2")
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

LD_LIBRARY_PATH=$build/simcuda
export LD_LIBRARY_PATH
MIB=1048576

# steps ROUTE STEP COUNT [NAME=VALUE...]: stdout of the client; stderr in $expect_work/err.
steps() {
    route=$1 step=$2 count=$3
    shift 3
    client=$build/tests/alloc_steps
    [ "$route" = plt ] && client=$build/tests/alloc_steps_plt
    env LD_PRELOAD="$build/libtidemark.so" "$@" "$client" "$route" "$step" "$count" \
        2>"$expect_work/err" || echo "exit $?"
}

for route in plt dlsym gpa gpa2; do
    out=$(steps $route $((10 * MIB)) 40 TIDEMARK_DEVICE_MEM=100MiB TIDEMARK_HEADROOM=0)
    expect_same "$route: 100 MiB holds ten steps of 10 MiB" \
        "granted 10 refused 30 first_error 2 total 104857600 free 0" "$out"
    expect_match "$route: the first refusal is told in full" \
        '^tidemark: cuMemAlloc_v2 refused on device 0, over the ceiling: asked 10485760 B \(10\.00 MiB\), would reserve 10485760 B \(10\.00 MiB\), held 104857600 B \(100\.00 MiB\), ceiling 104857600 B \(100\.00 MiB\) from TIDEMARK_DEVICE_MEM=100MiB, request .*short by 10485760 B \(10\.00 MiB\)$' \
        "$(head -n 1 "$expect_work/err")"
    # Told: 1 to 8, 16 of 30.
    expect_lines "$route: repeated refusals are told at powers of two" 9 \
        "$(cat "$expect_work/err")"

    out=$(steps $route $((10 * MIB)) 10 TIDEMARK_DEVICE_MEM=$((100 * MIB)) TIDEMARK_HEADROOM=0)
    expect_same "$route: exactly the ceiling fits" \
        "granted 10 refused 0 first_error 0 total 104857600 free 0" "$out"
    out=$(steps $route $((100 * MIB + 1)) 1 TIDEMARK_DEVICE_MEM=100MiB TIDEMARK_HEADROOM=0)
    expect_same "$route: one byte more than the ceiling does not" \
        "granted 0 refused 1 first_error 2 total 104857600 free 104857600" "$out"
    expect_match "$route: and is short by one byte" ', short by 1 B$' "$(cat "$expect_work/err")"

    out=$(steps $route 512 1 TIDEMARK_HEADROOM=0.15 SIMCUDA_MEM=1GiB)
    expect_same "$route: with nothing requested, headroom alone decides" \
        "granted 1 refused 0 first_error 0 total 912680550 free 912680038" "$out"
    out=$(steps $route 512 1 TIDEMARK_DEVICE_MEM=none SIMCUDA_MEM=1GiB)
    expect_same "$route: none limits nothing" \
        "granted 1 refused 0 first_error 0 total 1073741824 free 1073741312" "$out"
    out=$(steps $route 512 1 TIDEMARK=off TIDEMARK_DEVICE_MEM=1MiB SIMCUDA_MEM=1GiB)
    expect_same "$route: off limits nothing" \
        "granted 1 refused 0 first_error 0 total 1073741824 free 1073741312" "$out"
    out=$(steps $route $((10 * MIB)) 100 TIDEMARK_DEVICE_MEM=50% TIDEMARK_HEADROOM=0.5 SIMCUDA_MEM=400MiB)
    expect_same "$route: a share is of what headroom leaves" \
        "granted 10 refused 90 first_error 2 total 104857600 free 0" "$out"
    out=$(steps $route $((10 * MIB)) 100 TIDEMARK_DEVICE_MEM=1GiB TIDEMARK_HEADROOM=0.5 SIMCUDA_MEM=200MiB)
    expect_same "$route: a request above the cap is cut to it" \
        "granted 10 refused 90 first_error 2 total 104857600 free 0" "$out"
    expect_match "$route: and the line says that headroom did it" \
        'request capped by headroom' "$(head -n 1 "$expect_work/err")"
done

out=$(steps dlsym $((10 * MIB)) 100 TIDEMARK_DEVICE_MEM=none SIMCUDA_MEM=100MiB)
expect_same "the driver's own refusal is passed on" \
    "granted 10 refused 90 first_error 2 total 104857600 free 0" "$out"
expect_match "and told with every number that is known, as what it is" \
    '^tidemark: cuMemAlloc_v2 on device 0 refused by the driver: fragmentation or use we cannot see: asked 10485760 B \(10\.00 MiB\), charged 104857600 B \(100\.00 MiB\), idle 0 B, trimmed 0 B, largest idle block 0 B, free by the driver.s count 0 B of 104857600 B \(100\.00 MiB\)$' \
    "$(head -n 1 "$expect_work/err")"
expect_same "never as a ceiling" "" "$(grep -i ceiling "$expect_work/err" || true)"
expect_lines "at powers of two, too" 11 "$(cat "$expect_work/err")"
expect_match "with a count of them" '; refusals so far 64$' "$(tail -n 1 "$expect_work/err")"

# Below its ceiling, on a device of which the context takes 40 MiB of 100.
out=$(steps dlsym $((10 * MIB)) 10 TIDEMARK_DEVICE_MEM=90MiB TIDEMARK_HEADROOM=0 SIMCUDA_MEM=100MiB \
    SIMCUDA_CONTEXT_MEM=40MiB TIDEMARK_REPORT="$expect_work/report")
expect_match "the driver refuses below the ceiling" '^granted 6 refused 4 first_error 2 ' "$out"
expect_match "and the line shows what is missing" \
    'asked 10485760 B \(10\.00 MiB\), charged 62914560 B \(60\.00 MiB\), .* free by the driver.s count 0 B of 104857600 B' \
    "$(head -n 1 "$expect_work/err")"
expect_match "the report counts what the driver refused" '^  refused             4$' "$(cat "$expect_work/report")"
expect_match "apart from what we refused" '^  refusals            0$' "$(cat "$expect_work/report")"

# What lay idle went back first, and was not enough.
out=$(env LD_PRELOAD="$build/libtidemark.so" SIMCUDA_MEM=100MiB TIDEMARK_DEVICE_MEM=none TIDEMARK_DEVICE_RETAIN=100% \
    "$build/tests/shortage" 2>"$expect_work/err")
expect_same "with idle memory: the driver's answer stands" "answer 2" "$out"
expect_match "with idle memory: the line has it" \
    ': asked 83886080 B .*, charged 52428800 B \(50\.00 MiB\), idle 31457280 B \(30\.00 MiB\), trimmed 31457280 B \(30\.00 MiB\), largest idle block 20971520 B \(20\.00 MiB\), free by the driver.s count 52428800 B \(50\.00 MiB\) of 104857600 B' \
    "$(cat "$expect_work/err")"

# Each device has its own. on DEVICE LIST: what a step of 10 MiB gets there.
on() {
    env LD_PRELOAD="$build/libtidemark.so" SIMCUDA_DEVICES=4 SIMCUDA_MEM=200MiB TIDEMARK_HEADROOM=0 \
        TIDEMARK_DEVICE_MEM="$2" "$build/tests/alloc_steps" gpa2 $((10 * MIB)) 30 "$1" 2>"$expect_work/err"
}
list='0=30MiB,*=none,2=25%'
expect_same "a list: device 0" "granted 3 refused 27 first_error 2 total 31457280 free 0" "$(on 0 "$list")"
expect_match "and the line has the list" \
    ' refused on device 0, .*, ceiling 31457280 B .* from TIDEMARK_DEVICE_MEM=0=30MiB,\*=none,2=25%, request ' \
    "$(head -n 1 "$expect_work/err")"
expect_same "a list: a device by *" "granted 20 refused 10 first_error 2 total 209715200 free 0" "$(on 1 "$list")"
expect_same "a list: a share of device 2" "granted 5 refused 25 first_error 2 total 52428800 free 0" "$(on 2 "$list")"
expect_same "a list: devices that are not named have the default" \
    "granted 20 refused 10 first_error 2 total 209715200 free 0" "$(on 3 0=30MiB)"
expect_match "which is the device's limit" ' from TIDEMARK_DEVICE_MEM=0=30MiB, device less headroom ' \
    "$(head -n 1 "$expect_work/err")"

steps dlsym $((10 * MIB)) 12 TIDEMARK_DEVICE_MEM=100MiB TIDEMARK_HEADROOM=0 \
    TIDEMARK_REPORT="$expect_work/report" TIDEMARK_REPORT_FORMAT=json >"$expect_work/out"
expect_match "the report has the device" \
    '"ordinal": 0, "ceiling_bytes": 104857600, "ceiling_source": "request", "device_limit_bytes": 1073741824, "charged_bytes": 0, "peak_charged_bytes": 104857600, "refusals": 2' \
    "$(cat "$expect_work/report")"
expect_match "and the calls that reached the driver" '"driver_calls": \{"alloc": 10, "free": 10,' \
    "$(cat "$expect_work/report")"

steps gpa2 512 1 TIDEMARK_VERBOSE=1 >"$expect_work/out"
expect_match "verbose names the driver and the hooks" \
    '^tidemark: driver: .*/simcuda/libcuda\.so\.1, hooks live '"$hooks of $hooks"'$' "$(cat "$expect_work/err")"
expect_match "verbose names the ceiling" \
    '^tidemark: device 0 of driver version 13000: ceiling 912680550 B \(870\.40 MiB\), device less headroom$' \
    "$(cat "$expect_work/err")"

expect_end
