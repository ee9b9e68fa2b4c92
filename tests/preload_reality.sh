#!/bin/sh
# A report has what is charged beside what the driver itself was last seen to say: external
# residency is the difference, and never a guess. Nothing is asked when the program ends.
# Usage: preload_reality.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

MIB=1048576
text=$expect_work/text

# report FORMAT DRIVER_FOLDER COMMAND...
report() {
    format=$1 folder=$2
    shift 2
    LD_LIBRARY_PATH=$build/$folder LD_PRELOAD=$build/libtidemark.so \
        TIDEMARK_REPORT=$expect_work/$format TIDEMARK_REPORT_FORMAT=$format \
        TIDEMARK_DEVICE_MEM=512MiB TIDEMARK_PINNED_MEM=64MiB TIDEMARK_HEADROOM=0 \
        SIMCUDA_CONTEXT_MEM=300MiB SIMCUDA_LOG=$expect_work/log \
        "$@" >/dev/null 2>&1 || true
}

# While it holds 50 MiB it asks what is free; a context takes 300 MiB that nobody charges.
steps="$build/tests/alloc_steps dlsym $((10 * MIB)) 5"
# shellcheck disable=SC2086
report text simcuda $steps
expect_match "a question of the program's is noted" \
    '^  in use on device    367001600 B \(350\.00 MiB\)$' "$(cat "$text")"
expect_match "what was not charged is external" \
    '^  external residency  314572800 B \(300\.00 MiB\)$' "$(cat "$text")"
expect_match "the charge is that of the end" '^  charged             0 B$' "$(cat "$text")"
# shellcheck disable=SC2086
report json simcuda $steps
expect_match "JSON has the same" \
    '"managed_bytes": 0, "observed_bytes": 367001600, "external_bytes": 314572800' \
    "$(cat "$expect_work/json")"
expect_same "nothing is asked when the program ends" "cuCtxDestroy_v2" \
    "$(tail -n 1 "$expect_work/log" | grep -o 'cu[A-Za-z0-9_]*')"

report text simcuda "$build/tests/call_steps" dlsym $((512 * MIB)) $((64 * MIB)) $((256 * MIB)) 4096
expect_match "a refusal is a moment to ask" \
    '^  external residency  314572800 B \(300\.00 MiB\)$' "$(cat "$text")"
expect_match "managed memory has a line of its own" \
    '^  charged as managed  4096 B \(4\.00 KiB\)$' "$(cat "$text")"
expect_match "and is part of what is charged" '^  charged             4096 B' "$(cat "$text")"

report text bench/null_driver "$build/bench/pairs" --rounds 5 --pairs 5 0
expect_match "what was never seen is not observed" '^  in use on device    not observed$' \
    "$(cat "$text")"
expect_match "nor is a difference made up" '^  external residency  not observed$' "$(cat "$text")"
report json bench/null_driver "$build/bench/pairs" --rounds 5 --pairs 5 0
expect_match "and null in JSON" '"observed_bytes": null, "external_bytes": null' \
    "$(cat "$expect_work/json")"
expect_end
