#!/bin/sh
# What is installed works from where it was installed: a real program started with it is served by
# retained blocks, and the simulated driver is found. Usage: installed.sh BUILD_FOLDER DRIVER_HOOKS HOST_HOOKS
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
prefix=$expect_work/prefix

cmake --install "$build" --prefix "$prefix" >"$expect_work/log"
library=$(find "$prefix" -name libtidemark.so)
expect_match "the library lies in a library folder" '/lib(/x86_64-linux-gnu)?/libtidemark\.so$' "$library"
expect_match "its exports are those intended" 'all intended' \
    "$("$(dirname "$0")/check_exports.sh" "$library" "$2" "$3")"

seq 300000 | "$prefix/bin/tidemark" run --strict --report "$expect_work/report" \
    --report-format json -- awk \
    '{ lines[NR] = $0 } END { print NR, lines[NR] }' >"$expect_work/out"
expect_same "a program it did not build runs under it" "300000 300000" "$(cat "$expect_work/out")"
expect_match "and is served by retained blocks" '"heap": \{"claims": [1-9]' "$(cat "$expect_work/report")"

if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip the simulated driver: there is a GPU here"
else
    expect_same "the simulated driver is found" \
        "granted 3 refused 2 first_error 2 total 3145728 free 0" \
        "$("$prefix/bin/tidemark" run --sim --device-mem 3MiB --headroom 0 -- \
            "$build/tests/alloc_steps" gpa2 1048576 5 2>/dev/null)"
fi
expect_end
