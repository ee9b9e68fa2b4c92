#!/bin/sh
# The report: written by the process it was asked of, where it was asked for, and true.
# Usage: preload_report.sh BUILD_FOLDER
set -eu
build=$1
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
cd "$expect_work"

preload() {
    env LD_PRELOAD="$build/libtidemark.so" "$@"
}

# 100 blocks of 1 MiB, one after the other: one is born, the others are the same one again.
loop="$build/bench/faults --workload video1080 --binds 4"

# shellcheck disable=SC2086
preload TIDEMARK_REPORT=plain.txt $loop >/dev/null
expect_match "text: who" '^tidemark [0-9.]+ report for process [0-9]+, .*faults$' "$(cat plain.txt)"
expect_match "text: claims" '^  claims +[1-9]' "$(cat plain.txt)"

# shellcheck disable=SC2086
preload TIDEMARK_REPORT=%p.json TIDEMARK_REPORT_FORMAT=json $loop >/dev/null
expect_same "%p makes one file for one process" 1 "$(find . -name '[0-9]*.json' | grep -c .)"
expect_same "JSON: schema" '"schema": "tidemark.report/1"' \
    "$(grep -o '"schema": "[^"]*"' ./[0-9]*.json)"
if command -v python3 >/dev/null; then
    expect_same "JSON: parses, and adds up" "true true true" "$(python3 -c '
import json, glob
report = json.load(open(glob.glob("[0-9]*.json")[0]))
heap = report["heap"]
print(str(heap["claims"] == heap["reused"] + heap["born"]).lower(),
      str(heap["claims"] > 0 and heap["spilled"] == 0).lower(),
      str(report["faults"]["minor"] > 0 and report["devices"] == []).lower())')"
else
    echo "skip: python3 is not installed: the JSON is not parsed"
fi

# Without %p, children of what run started do not write over it.
"$build/tidemark" run --report tree.txt -- sh -c '/bin/true; exec /bin/ls /' >/dev/null
expect_match "only the process that run started writes" ', (/bin/)?ls$' "$(head -n 1 tree.txt)"

preload TIDEMARK_REPORT=relative.txt bash -c 'cd /'
expect_same "a relative path is meant for the folder at the start" 1 \
    "$(find . -name relative.txt | grep -c . || true)"

expect_match "a program that ends by _exit reports too" ', sort$' \
    "$(preload TIDEMARK_REPORT=exit.txt sort /dev/null; head -n 1 exit.txt)"
preload TIDEMARK_REPORT=%p.end sh -c '(exit 3); (exit 4); :' || true
expect_same "each process of a tree reports once" 3 "$(find . -name '*.end' | grep -c .)"

expect_match "a report that cannot be written is one line" \
    '^tidemark: cannot write the report to /nowhere/at/all: error 2 \(ENOENT\)$' \
    "$(preload TIDEMARK_REPORT=/nowhere/at/all /bin/true 2>&1)"
expect_same "and the program's status is its own" "7" \
    "$(preload TIDEMARK_REPORT=/nowhere/at/all sh -c 'exit 7' 2>/dev/null || echo $?)"
expect_match "stderr" '^heap$' "$(preload TIDEMARK_REPORT=stderr /bin/true 2>&1 >/dev/null)"
expect_same "a full disk is one line, and no reason to fail" \
    "tidemark: cannot write the report to /dev/full: error 28 (ENOSPC) 0" \
    "$(preload TIDEMARK_REPORT=/dev/full /bin/true 2>err; echo "$(cat err) $?")"

expect_end
