#!/bin/sh
# A malformed value is one clear line and the default, never "no limit"; a bare preload never
# stops the program and, at default settings, says nothing.
# Usage: preload_options.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# under [NAME=VALUE...] -- PROGRAM...: runs it with the preload.
bare() {
    env LD_PRELOAD="$build/libtidemark.so" "$@" /bin/echo fine 2>"$expect_work/err" ||
        echo "exit $?"
}

expect_same "the default says nothing" "fine" "$(bare A=1)"
expect_lines "the default says nothing on stderr" 0 "$(cat "$expect_work/err")"

# complains NAME VALUE PATTERN
complains() {
    expect_same "$1='$2': the program runs" "fine" "$(bare "$1=$2")"
    expect_lines "$1='$2'" 1 "$(cat "$expect_work/err")"
    expect_match "$1='$2': says so" "$3" "$(cat "$expect_work/err")"
}

for value in 100x -1 '' 0 101% 0% 1.5 '1 GiB' 18446744073709551616 none,none; do
    complains TIDEMARK_DEVICE_MEM "$value" \
        "^tidemark: TIDEMARK_DEVICE_MEM=$value: must be .*; the default device is in force\$"
done
complains TIDEMARK_DEVICE_MEM 0=1GiB,0=2GiB \
    '^tidemark: TIDEMARK_DEVICE_MEM=0=1GiB,0=2GiB: 0=2GiB names a device for the second time; the default device is in force$'
complains TIDEMARK_DEVICE_MEM 0=1GiB,2=2GiB ': a device below the last one is not named, and there is no \*; the default'
complains TIDEMARK_DEVICE_MEM 0=1GiB, ': an entry of the list is empty; the default'
complains TIDEMARK_DEVICE_MEM 0=1GiB,1=2XiB ': 1=2XiB is neither device, none, '
for value in 1 -0.1 1.0 nan '' 15% abc; do
    complains TIDEMARK_HEADROOM "$value" \
        "^tidemark: TIDEMARK_HEADROOM=$value: must be .*; the default 0\.15 is in force\$"
done
for option in TIDEMARK_PINNED_MEM TIDEMARK_HEAP_MEM; do
    for value in device 100x -1 '' 0 101% 1.5; do
        complains $option "$value" \
            "^tidemark: $option=$value: must be .*; the default none is in force\$"
    done
done
complains TIDEMARK_STAGING_MIN 0 '^tidemark: TIDEMARK_STAGING_MIN=0: must be .*64KiB'
complains TIDEMARK maybe '^tidemark: TIDEMARK=maybe: must be on or off; the default on is in force$'
complains TIDEMARK_REPORT '' '^tidemark: TIDEMARK_REPORT=: must be '
complains TIDEMARK_DEVICE_MEN 1GiB \
    '^tidemark: TIDEMARK_DEVICE_MEN is not an option; did you mean TIDEMARK_DEVICE_MEM\?$'

expect_same "a device limit that is malformed is the default ceiling, not none" \
    "granted 1 refused 0 first_error 0 total 912680550 free 912680038" \
    "$(LD_LIBRARY_PATH=$build/simcuda TIDEMARK_DEVICE_MEM=100x LD_PRELOAD=$build/libtidemark.so \
        "$build/tests/alloc_steps" dlsym 512 1 2>/dev/null)"

expect_same "verbose goes to stderr" "fine" "$(bare TIDEMARK_VERBOSE=1 TIDEMARK_HEADROOM=0.1)"
expect_match "verbose: version" '^tidemark: version [0-9]' "$(cat "$expect_work/err")"
expect_match "verbose: a value and its origin" '^tidemark: TIDEMARK_HEADROOM=0\.1 \(environment\)$' \
    "$(cat "$expect_work/err")"
expect_match "verbose: a default" '^tidemark: TIDEMARK_DEVICE_MEM=device \(default\)$' \
    "$(cat "$expect_work/err")"
bare TIDEMARK_VERBOSE=1 TIDEMARK_PINNED_MEM=3MiB TIDEMARK_HEAP_MEM=100% >"$expect_work/out"
expect_match "verbose: a ceiling of page-locked memory" \
    '^tidemark: page-locked memory: ceiling 3145728 B \(3\.00 MiB\), request$' "$(cat "$expect_work/err")"
expect_match "verbose: a ceiling on a share of usable memory" \
    '^tidemark: heap memory: ceiling [0-9]+ B \([0-9.]+ GiB\), request$' "$(cat "$expect_work/err")"
expect_match "verbose: what run set" '^tidemark: TIDEMARK_DEVICE_MEM=1GiB \(tidemark run\)$' \
    "$("$build/tidemark" run --device-mem 1GiB -- env TIDEMARK_VERBOSE=1 /bin/true 2>&1)"

# Descriptor 2 may be a file of the program's by the time that we have something to say.
expect_same "nothing is written into a file that took stderr's place" "" \
    "$(LD_PRELOAD=$build/libtidemark.so TIDEMARK_REPORT=stderr sh -c 'exec 2>&-; : >"$0"' \
        "$expect_work/taken"; cat "$expect_work/taken")"

expect_end
