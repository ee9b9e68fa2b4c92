#!/bin/sh
# bench/sequence draws both series, and says what is missing. Usage: bench_sequence.sh BUILD_FOLDER
set -eu
build=$1
sequence=$(dirname "$0")/../bench/sequence
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
command -v gnuplot >/dev/null || { echo "skip bench/sequence: gnuplot is not installed"; exit 77; }

BUILD=$build "$sequence" --binds 5 bind "$expect_work/plot.svg"
expect_match "the plot is one" '<svg ' "$(cat "$expect_work/plot.svg")"
for name in glibc Tidemark; do
    expect_match "of $name" ">$name<" "$(cat "$expect_work/plot.svg")"
done
expect_same "a workload that there is not" 1 "$(BUILD=$build "$sequence" nothing "$expect_work/none.svg" >/dev/null 2>&1 && echo 0 || echo 1)"
expect_same "leaves no plot" "" "$(ls "$expect_work/none.svg" 2>/dev/null || true)"
expect_same "no workload" 2 "$("$sequence" 2>/dev/null || echo $?)"
expect_end
